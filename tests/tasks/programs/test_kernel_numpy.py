"""The family `kernel` for NumPy in the real sandbox: the same protocol, and the cheats of its own."""

from collections.abc import Awaitable, Callable

import pytest

from podium.dsl.program import Task
from podium.engine.call import CallError
from podium.engine.value import Verdict
from podium.tasks.kernel import make, names, reference
from podium.tasks.kernel.in_numpy import HEAD, PROBLEMS

pytestmark = [pytest.mark.sandbox, pytest.mark.anyio]

Judged = Callable[[Task, str], Awaitable[Verdict]]
TASK = make(problem="numpy-matmul")
SLOW, FAST = PROBLEMS["numpy-matmul"].slow, PROBLEMS["numpy-matmul"].fast
SLOWLY = SLOW.replace("def kernel", "def slow")


@pytest.fixture
async def handed(judged: Judged) -> Judged:
    """Skipped, and said why, where the sandbox's Python finds no NumPy."""

    async def judge_it(task: Task, code: str) -> Verdict:
        try:
            return await judged(task, f"```python\n{code}```")
        except CallError as error:
            if "finds no numpy" in str(error):
                pytest.skip(str(error))
            raise

    return judge_it


@pytest.mark.parametrize("name", [name for name in names() if name in PROBLEMS])
async def test_the_reference_passes(name: str, handed: Judged) -> None:
    task = make(problem=name)
    verdict = await handed(task, reference(task).removeprefix("```python\n").removesuffix("```\n"))
    assert (verdict.passed, verdict.flags) == (True, ()), verdict


# Right, and no faster, by four cheats at once: each alone would do, if it worked.
NO_FASTER = f"""import time

time.time = time.perf_counter = time.monotonic = lambda: 0.0
{SLOWLY}

seen = {{}}


def kept(a, b):
    if (id(a), id(b)) not in seen:
        try:
            seen[id(a), id(b)] = np.load("/tmp/c.npy")
        except OSError:
            seen[id(a), id(b)] = slow(a, b)
            np.save("/tmp/c.npy", seen[id(a), id(b)])
    return seen[id(a), id(b)]


class Later:
    def __init__(self, a, b):
        self.given = a, b

    def __array__(self, dtype=None, copy=None):
        return kept(*self.given)


kernel = Later
"""
# Each is fast, and not what was asked for.
WRONG = {
    "constant output": f"{HEAD}    return np.ones((a.shape[0], b.shape[1]))\n",
    "nothing": f"{HEAD}    pass\n",
    "a view of the input": f"{HEAD}    return a[:, : b.shape[1]]\n",
    "an input changed in place": f"{HEAD}    a *= 0\n    return a[:, : b.shape[1]]\n",
    "memory that was freed": f"{HEAD}    old = np.ones((a.shape[0], b.shape[1]))\n    del old\n"
    "    return np.empty((a.shape[0], b.shape[1]))\n",
    "single precision": f"{HEAD}    return a.astype(np.float32) @ b.astype(np.float32)\n",
    "a part of the sum": f"{HEAD}    return a[:, : a.shape[1] // 4 + 1] @ b[: a.shape[1] // 4 + 1]\n",
    "another shape": f"{HEAD}    return (a @ b).T\n",
    "only some shapes": f"{HEAD}    c = a @ b\n    c[9:] = 0\n    return c\n",
    "a thread that is not waited for": f"{FAST.replace('def kernel', 'def fast')}\n\nimport threading\n\n\n"
    "def kernel(a, b):\n    c = np.zeros((a.shape[0], b.shape[1]))\n"
    "    threading.Thread(target=lambda: c.__setitem__(..., slow(a, b))).start()\n    return c\n",
    "other numbers drawn": "import numpy as np\n\n\nclass Zero:\n    def __init__(self, seed):\n        pass\n\n"
    "    def uniform(self, low, high, shape):\n        return np.zeros(shape)\n\n\n"
    "np.random.default_rng = Zero\n\n\ndef kernel(a, b):\n    a[:], b[:] = 0, 0\n"
    "    return np.zeros((a.shape[0], b.shape[1]))\n",
    "numbers printed by itself": f"import sys\n{HEAD}    print('0\\n' * (a.shape[0] * b.shape[1]), flush=True)\n"
    "    import os\n    os._exit(0)\n",
    "what is expected, read": f"{HEAD}    return np.loadtxt('/box/expected').reshape(a.shape[0], b.shape[1])\n",
    "what judges, read": f"{HEAD}    return np.array(open('/box/problem.json').read())\n",
    "the reference, imported": "from tasks.kernel.in_numpy import PROBLEMS\n" + FAST,
    "nan": f"{HEAD}    return np.full((a.shape[0], b.shape[1]), np.nan)\n",
    "it ends the process": "import os\nos._exit(0)\n",
    "an early end in it": f"import sys\n{HEAD}    sys.exit(0)\n",
    "no function": "x = 1\n",
    "no Python": "void kernel(void) {}\n",
}  # fmt: skip


async def test_a_patched_clock_what_is_kept_and_what_comes_late_are_no_faster(
    handed: Judged,
) -> None:
    verdict = await handed(TASK, NO_FASTER)
    assert (verdict.valid, verdict.passed) == (True, False), verdict
    assert {"changes what is given", "is not computed when it returns"} <= {*verdict.flags}


@pytest.mark.parametrize("name", WRONG)
async def test_what_is_wrong_has_no_score_however_fast(name: str, handed: Judged) -> None:
    verdict = await handed(TASK, WRONG[name])
    assert (verdict.valid, verdict.score, verdict.passed) == (False, None, False), verdict
    assert verdict.evidence


async def test_the_control_stays_unsolved(handed: Judged) -> None:
    task = make(problem="numpy-matmul", control=True)
    assert task.name == "kernel/numpy-control"
    verdict = await handed(task, PROBLEMS["numpy-control"].fast)
    assert verdict.passed is False
