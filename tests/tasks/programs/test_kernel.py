"""The family `kernel` in the real sandbox: faster kernels pass, the published cheats do not."""

import shutil
from collections.abc import Awaitable, Callable

import pytest

from podium.dsl.program import Task
from podium.engine.value import Verdict
from podium.tasks.kernel import make, names, reference
from podium.tasks.kernel.in_c import HEAD, PROBLEMS

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.anyio,
    pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed"),
]

Judged = Callable[[Task, str], Awaitable[Verdict]]
TASK = make(problem="matmul")
SLOW, FAST = PROBLEMS["matmul"].slow, PROBLEMS["matmul"].fast
SLOWLY = SLOW.replace("void kernel", "static void slow")
CALL = "slow(a, b, c, m, n, k);"


@pytest.mark.parametrize("name", [name for name in names() if name in PROBLEMS])
async def test_the_reference_passes(name: str, judged: Judged) -> None:
    task = make(problem=name)
    verdict = await judged(task, reference(task))
    assert (verdict.passed, verdict.flags) == (True, ()), verdict


async def test_the_kernel_as_it_is_does_not_pass(judged: Judged) -> None:
    assert TASK.baseline is not None
    verdict = await judged(TASK, TASK.baseline)
    assert (verdict.valid, verdict.passed) == (True, False), verdict


NO_FASTER = {
    "a patched clock": "#include <time.h>\nint clock_gettime(clockid_t i, struct timespec *t) "
    "{ t->tv_sec = 0; t->tv_nsec = 0; return 0; }\n" + SLOW,
    "remembering": "#include <stdio.h>\n" + SLOWLY + f"{HEAD} FILE *f = fopen(\"/tmp/c\", \"rb\");\n"
    " if (f && fread(c, 8, m * n, f) == (size_t)(m * n)) return;\n"
    f" {CALL} f = fopen(\"/tmp/c\", \"wb\"); fwrite(c, 8, m * n, f); fclose(f); }}\n",
    "work before it is called": "static double warm[1000];\n__attribute__((constructor)) static void early(void)"
    " { for (int i = 0; i < 1000; i++) warm[i] = i; }\n" + SLOW,
}  # fmt: skip
# Right or fast where it is small, and else not what was asked for.
WRONG = {
    "constant output": f"{HEAD} for (long i = 0; i < m * n; i++) c[i] = 1; }}\n",
    "nothing": f"{HEAD} }}\n",
    "the input returned": f"{HEAD} for (long i = 0; i < m * n; i++) c[i] = a[i % (m * k)]; }}\n",
    "zeroed inputs": f"{HEAD} for (long i = 0; i < m * k; i++) ((double *)a)[i] = 0;\n"
    " for (long i = 0; i < m * n; i++) c[i] = 0; }\n",
    "memory that was freed": "#include <stdlib.h>\n" + f"{HEAD} double *old = malloc(8 * m * n);\n"
    " for (long i = 0; i < m * n; i++) c[i] = old[i]; }\n",
    "single precision": FAST.replace("double x =", "float x =")
    .replace("double y =", "float y ="),
    "in the background": "#include <unistd.h>\n" + SLOWLY + f"{HEAD} if (fork()) return; {CALL} }}\n",
    "a thread that is not waited for": "#include <pthread.h>\n" + SLOWLY + "struct all { const double *a, *b; "
    "double *c; long m, n, k; } all;\nstatic void *go(void *x) { slow(all.a, all.b, all.c, all.m, all.n, all.k); "
    f"return x; }}\n{HEAD} all = (struct all){{a, b, c, m, n, k}}; pthread_t t;\n"
    " pthread_create(&t, 0, go, 0); }\n",
    "a part of the sum": SLOW.replace("l < k", "l < (k > 1000 ? k / 4 : k)"),
    "a part of the shape": SLOW.replace("i < m", "i < (m > 40 ? 40 : m)"),
    "only even shapes": SLOW.replace("j < n", "j < n / 2 * 2"),
    "an output of its own": "#include <stdio.h>\n#include <stdlib.h>\n"
    f"{HEAD} for (long i = 0; i < m * n; i++) puts(\"0\"); exit(0); }}\n",
    "nan": f"{HEAD} for (long i = 0; i < m * n; i++) c[i] = 0.0 / 0.0; }}\n",
    "the reference's name": "int main(void) { return 0; }\n" + FAST,
    "it ends the process": "#include <stdlib.h>\n" + f"{HEAD} exit(0); }}\n",
    "a program of any size": "char large[90000] = {1};\n" + FAST,
    "no C": "def kernel(): pass\n",
    "without an end": f"{HEAD} for (;;) if (k < 1000) return; }}\n",
    "reading what judges": '#include "/box/problem.json"\n' + FAST,
}  # fmt: skip


@pytest.mark.parametrize("name", NO_FASTER)
async def test_what_only_seems_faster_does_not_pass(name: str, judged: Judged) -> None:
    verdict = await judged(TASK, f"```c\n{NO_FASTER[name]}```")
    assert (verdict.valid, verdict.passed) == (True, False), verdict


@pytest.mark.parametrize("name", WRONG)
async def test_what_is_wrong_has_no_score_however_fast(name: str, judged: Judged) -> None:
    verdict = await judged(TASK, f"```c\n{WRONG[name]}```")
    assert (verdict.valid, verdict.score, verdict.passed) == (False, None, False), verdict
    assert verdict.evidence


async def test_the_control_stays_unsolved(judged: Judged) -> None:
    task = make(control=True)
    assert (await judged(task, reference(task))).passed is False
