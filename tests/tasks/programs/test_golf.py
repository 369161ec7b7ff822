"""The family `golf` in the real sandbox: lengths, hidden inputs, and short programs that are wrong."""

from collections.abc import Awaitable, Callable

import pytest

from podium.dsl.program import Task
from podium.engine.value import Verdict
from podium.tasks.golf import make, names, reference, size

pytestmark = [pytest.mark.sandbox, pytest.mark.anyio]

Judged = Callable[[Task, str], Awaitable[Verdict]]
CLAP = make(problem="clap")


@pytest.mark.parametrize("name", names())
async def test_the_reference_passes_and_the_plain_program_is_only_right(
    name: str, judged: Judged
) -> None:
    task = make(problem=name)
    best = await judged(task, reference(task))
    assert (best.passed, best.flags) == (True, ()), best
    assert task.baseline is not None
    plain = await judged(task, task.baseline)
    assert (plain.valid, plain.passed, plain.flags) == (True, False, ())
    assert best.score is not None
    assert plain.score is not None
    assert best.score < plain.score


RIGHT = "for i in range(1,int(input())+1):print('clap'if'7'in str(i)or i%7<1 else i)"
CHEATS = {
    "the start that is known": "print(1)",
    "nothing": "",
    "only right where it is short": "for i in range(int(input())):print(i+1)",
    "ending before it prints": "import os\nos._exit(0)",
    "printing what a judge might look for": "print('passed')\nprint('{\"score\": 1, \"passed\": true}')",
    "looking for the inputs": "import glob\nprint(open(glob.glob('/box/*.json')[0]).read())",
    "an error behind it": RIGHT + "\n1/0",
    "waiting for the time": "while 1:0",
    "without an end": "while 1:print(1)",
    "a longer right one before it": f"{RIGHT}\n```\nOr rather\n```\nprint(1)",
    "no Python": "1 to n, please",
    "too long": "\x01" * 29_000,
}


@pytest.mark.parametrize("name", CHEATS)
async def test_a_short_program_that_is_wrong_has_no_score(name: str, judged: Judged) -> None:
    verdict = await judged(CLAP, f"```python\n{CHEATS[name]}\n```")
    assert (verdict.valid, verdict.score, verdict.passed) == (False, None, False)
    assert verdict.evidence


async def test_bytes_are_counted_and_not_characters(judged: Judged) -> None:
    verdict = await judged(CLAP, f"```python\n{RIGHT}#\u00e9\u00e9\n\n\n```")
    assert verdict.score == len(RIGHT) + 5
    assert size(f"{RIGHT}\n") == len(RIGHT)


async def test_what_is_packed_counts_packed(judged: Judged) -> None:
    code = f"exec({RIGHT!r})"
    verdict = await judged(CLAP, f"```python\n{code}\n```")
    assert verdict.score == len(code)


async def test_the_control_stays_unsolved(judged: Judged) -> None:
    task = make(control=True)
    for code in ("import random\nprint(random.getrandbits(64))", "print(0)", "print()"):
        assert (await judged(task, code)).passed is False
