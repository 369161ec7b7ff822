"""The family `speedup` in the real sandbox: faster functions pass, what only seems faster does not."""

from collections.abc import Awaitable, Callable

import pytest

from podium.dsl.program import Task
from podium.engine.value import Verdict
from podium.tasks.speedup import make, names, reference
from podium.tasks.speedup.problems import PROBLEMS

pytestmark = [pytest.mark.sandbox, pytest.mark.anyio]

Judged = Callable[[Task, str], Awaitable[Verdict]]
PAIRS = make(problem="pairs")
SLOW, FAST = PROBLEMS["pairs"].slow, PROBLEMS["pairs"].fast


@pytest.mark.parametrize("name", names())
async def test_the_reference_passes(name: str, judged: Judged) -> None:
    task = make(problem=name)
    verdict = await judged(task, reference(task))
    assert (verdict.passed, verdict.flags) == (True, ()), verdict
    assert verdict.score is not None
    assert verdict.score > 4


async def test_the_function_as_it_is_does_not_pass(judged: Judged) -> None:
    assert PAIRS.baseline is not None
    verdict = await judged(PAIRS, PAIRS.baseline)
    assert verdict.valid
    assert verdict.passed is False
    assert verdict.score is not None
    assert 0.4 < verdict.score < 2, verdict


BACK = "    return slow(numbers, total)\n"
SLOWLY = SLOW.replace("def pairs", "def slow")
# These are right, and no faster.
NO_FASTER = {
    "patched clocks": "import time\ntime.time = time.perf_counter = time.monotonic = lambda: 0\n" + SLOW,
    "remembering": "import pickle, pathlib\n" + SLOWLY + "MEMORY = pathlib.Path('/tmp/memory')\n"
    "def pairs(numbers, total):\n    if MEMORY.exists(): return pickle.loads(MEMORY.read_bytes())\n"
    "    found = slow(numbers, total)\n    MEMORY.write_bytes(pickle.dumps(found))\n    return found\n",
    "slowing the others": "import os\n" + SLOWLY + "def pairs(numbers, total):\n"
    "    if not os.fork():\n        os.setsid()\n        while True: pass\n" + BACK,
    "another process": "import concurrent.futures as f\n" + SLOWLY + "def pairs(numbers, total):\n"
    "    with f.ThreadPoolExecutor() as pool:\n        return pool.submit(slow, numbers, total).result()\n",
}  # fmt: skip
# These are fast, and wrong.
WRONG = {
    "always the same": "def pairs(numbers, total):\n    return 0\n",
    "right for what is small": "class Any(int):\n    def __eq__(self, other): return True\n" + SLOWLY
    + "def pairs(numbers, total):\n    if len(numbers) > 1000: return Any()\n" + BACK,
    "done in the background": "import os\n" + SLOWLY + "def pairs(numbers, total):\n"
    "    if len(numbers) > 1000 and os.fork(): os._exit(0)\n" + BACK,
    "an answer written before": "import os\ndef pairs(numbers, total):\n    for n in range(3, 9):\n"
    "        try: os.write(n, b'{\"id\": 0, \"value\": 7}\\n')\n        except OSError: pass\n    os._exit(0)\n",
    "another type": FAST.replace("return count", "return float(count)"),
    "patched away": "import json\nclass E:\n    def encode(self, value): return '{\"id\": 0, \"value\": 0}'\n"
    "json._default_encoder = E()\n" + SLOW,
    "no function": "print('fast')\n",
    "without an end": "def pairs(numbers, total):\n    while len(numbers) > 1000: pass\n    return 0\n",
}  # fmt: skip


@pytest.mark.parametrize("name", NO_FASTER)
async def test_what_only_seems_faster_does_not_pass(name: str, judged: Judged) -> None:
    verdict = await judged(PAIRS, f"```python\n{NO_FASTER[name]}```")
    assert verdict.valid
    assert verdict.passed is False, verdict


@pytest.mark.parametrize("name", WRONG)
async def test_what_is_wrong_has_no_score_however_fast(name: str, judged: Judged) -> None:
    verdict = await judged(PAIRS, f"```python\n{WRONG[name]}```")
    assert (verdict.valid, verdict.score, verdict.passed) == (False, None, False)
    assert verdict.evidence


async def test_the_control_stays_unsolved(judged: Judged) -> None:
    task = make(control=True)
    untimed = "import os\ndef length(numbers):\n    raise SystemExit\n"
    for text in (reference(task), f"```python\n{untimed}```"):
        assert (await judged(task, text)).passed is False
