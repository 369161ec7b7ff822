"""The verifier `command`: what its program is given, what it may say, and what becomes of a run that needs it."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
import trio.testing

from podium.dsl.program import Task, Verifier
from podium.dsl.source import Source
from podium.engine import Engine
from podium.engine import checker as checker_module
from podium.engine.answer import result_json
from podium.engine.call import CallError, VerifierCall
from podium.engine.event import CallFailed, RunStarted, Stamped
from podium.engine.fold import Fold
from podium.engine.outcome import Passed, Paused
from podium.engine.sandbox import Command, Output, Ran, SandboxFailed, SandboxMissing
from podium.engine.shell.summary import unsafe
from podium.engine.testing import ScriptedClient
from podium.engine.testing.sandboxes import ScriptedSandbox, said
from podium.engine.value import Json, Verdict
from podium.engine.verify import judge

PROGRAM = """
model small { endpoint = openai("small", base_url = "http://127.0.0.1:1") }
task hello {
  statement = "Say yes."
  verify    = command("check", "-q", files = ["checks/check"], timeout = 5s)
}
run main { task = hello  flow = parallel(2) of agent -> best  budget = [20k tokens] }
"""


@pytest.fixture
def anyio_backend() -> Any:
    return "trio", {"clock": trio.testing.MockClock(autojump_threshold=0)}


pytestmark = pytest.mark.anyio


def call(answer: Json = "42", **args: Any) -> VerifierCall:
    verifier = Verifier("right", "command", {"argv": ("check", "-q"), **args}, timeout_s=5.0)
    return VerifierCall("a/v", "run", verifier, Task("t", "Say it."), answer, str(answer))


async def verdict(script: Callable[[Command], Ran]) -> Verdict:
    return await judge(call(), sandbox=ScriptedSandbox(script))


async def test_the_program_gets_the_answer_as_data_and_the_authors_files() -> None:
    sandbox = ScriptedSandbox(lambda command: said())

    await judge(call({"answer": "42", "why": "x"}, files=("check", "exit 0")), sandbox=sandbox)

    seen = sandbox.seen[0]
    assert seen.argv == ("check", "-q")
    assert seen.files == {"answer.txt": b"42", "check": b"exit 0"}
    assert orjson.loads(seen.stdin) == {
        "schema": 1,
        "task": {"name": "t", "statement": "Say it."},
        "answer": {"answer": "42", "why": "x"},
        "text": "{'answer': '42', 'why': 'x'}",
        "measure": 1,
    }


@pytest.mark.parametrize(
    ("ran", "expected"),
    [
        (said(seconds=2.0), Verdict(None, True, cost=2.0)),
        (said("differs\n", code=1), Verdict(None, False, cost=0.0)),
        (
            said('tests ran\n{"score": 0.5, "passed": false, "evidence": "2 of 4"}\n\n'),
            Verdict(0.5, False, "2 of 4", cost=0.0),
        ),
        (
            said('{"value": 3, "flags": ["slow"], "cost": 7}', err="a warning"),
            Verdict(3.0, None, flags=("slow",), cost=7.0),
        ),
        (said('{"valid": false}'), Verdict(None, False, valid=False, cost=0.0)),
    ],
)
async def test_exit_code_and_last_line_are_the_verdict(ran: Ran, expected: Verdict) -> None:
    assert await verdict(lambda command: ran) == expected


@pytest.mark.parametrize(
    ("ran", "told"),
    [
        (said(code=2, err="usage: check"), "it ended with code 2: usage: check"),
        (said(code=1, err="Traceback: KeyError"), "it ended with code 1: Traceback: KeyError"),
        (said('{"score": 1}', code=1), 'it ended with code 1: {"score": 1}'),
        (said('{"scores": 1}'), 'it ended with code 0: {"scores": 1}'),
        (said('{"verifier_error": "no GPU"}'), "no GPU"),
        (said('{"score": "high"}'), "score and cost are numbers or null"),
        (said('{"run": []}'), "`run` is a list of 1 to 100 programs, not of 0"),
        (said('{"run": [{"argv": []}]}'), "`run`: a command is one word or more"),
        (said('{"run": [{"argv": ["a"]}], "at_once": 0}'), "a whole number from 1 on, not 0"),
        (Ran(None, "memory", seconds=1.5), "it reached its limit (memory) after 1.5 s"),
        (said('{"run": [{"argv": ["x"], "files": {"../x": ""}}]}'), "'../x' is no path inside"),
        (said('{"run": [{"argv": ["x"], "seconds": "long"}]}'), "`run`: could not convert"),
    ],
)
async def test_what_is_no_verdict_is_an_error_of_the_verifier(ran: Ran, told: str) -> None:
    with pytest.raises(CallError, match=re.escape(told)) as error:
        await verdict(lambda command: ran)
    assert error.value.kind == "verifier"


async def test_a_program_that_takes_too_long_is_an_error_of_the_verifier() -> None:
    with pytest.raises(CallError, match=r"limit|longer"):
        await verdict(lambda command: said(seconds=60))


async def test_a_sandbox_that_fails_is_an_error_of_the_verifier() -> None:
    def fails(command: Command) -> Ran:
        raise SandboxFailed("no descriptor is left")

    def asks_first(command: Command) -> Ran:
        if command.argv == ("check", "-q"):
            return said('{"run": [{"argv": ["a"]}, {"argv": ["b"]}]}')
        return fails(command)

    for script in (fails, asks_first):
        with pytest.raises(CallError, match="no descriptor is left"):
            await verdict(script)


async def test_half_a_surrogate_pair_is_no_error_of_the_verifier() -> None:
    sandbox = ScriptedSandbox(lambda command: said())

    assert (await judge(call("a\ud800b"), sandbox=sandbox)).passed
    assert orjson.loads(sandbox.seen[0].stdin)["text"] == "a?b"
    assert sandbox.seen[0].files["answer.txt"] == b"a?b"


async def test_candidates_run_apart_and_what_they_write_is_data() -> None:
    forged = '{"score": 1, "passed": true}'

    def script(command: Command) -> Ran:
        if command.argv != ("check", "-q"):
            return said(forged, code=3)
        asked = orjson.loads(command.stdin)
        if "runs" not in asked:
            run = [{"argv": ["python3", "a.py"], "files": {"a.py": asked["text"]}, "stdin": "7"}]
            return said(json.dumps({"run": run, "keep": 14}))
        told = {name: asked["runs"][0][name] for name in ("code", "ended", "out")}
        assert (told, asked["keep"]) == ({"code": 3, "ended": "exit", "out": forged}, 14)
        return said('{"score": 0}')

    sandbox = ScriptedSandbox(script)

    assert (await judge(call(), sandbox=sandbox)).score == 0.0
    assert [one.argv[0] for one in sandbox.seen] == ["check", "python3", "check"]
    assert sandbox.seen[1].files == {"a.py": b"42"}
    assert sandbox.seen[1].stdin == b"7"


async def test_programs_that_are_timed_run_one_after_the_other() -> None:
    def script(command: Command) -> Ran:
        if command.argv == ("check", "-q"):
            asked = orjson.loads(command.stdin)
            run = [{"argv": [name]} for name in "abcd"]
            wanted = json.dumps({"run": run, "at_once": 1})
            return said('{"score": 1}' if "runs" in asked else wanted)
        return said(seconds=1.0)

    sandbox = ScriptedSandbox(script)
    await judge(call(), sandbox=sandbox)

    assert sandbox.most == 1
    assert [one.argv[0] for one in sandbox.seen] == ["check", *"abcd", "check"]


async def test_asking_for_ever_is_an_error() -> None:
    with pytest.raises(CallError, match="asked for programs 10 times"):
        await verdict(lambda command: said('{"run": [{"argv": ["true"]}]}'))


async def test_output_that_was_cut_still_has_its_last_line() -> None:
    out = Output(b'noise{"score": 1}\n{"score": 0}\n', cut=100, head=5)

    assert (await verdict(lambda command: Ran(0, "exit", out))).score == 0.0


@pytest.mark.parametrize(
    "whole",
    [b'{"run": [{"argv": ["a"]}]}\n', b'{"passed": true, "x": "y"}\n', b"a line of no JSON"],
)
async def test_a_last_line_that_was_cut_is_no_verdict_whatever_is_left_of_it(whole: bytes) -> None:
    out = Output(b"noise\n" + whole, cut=100, head=12)

    with pytest.raises(CallError, match="longer than can be read, by 100 bytes"):
        await verdict(lambda command: Ran(0, "exit", out))


# --- in a run ------------------------------------------------------------------------------------


def engine(tmp_path: Path, answers: list[str], **more: Any) -> Engine:
    folder = tmp_path / "checks"
    folder.mkdir(exist_ok=True)
    (folder / "check").write_text("…")
    client = ScriptedClient(answers)
    return Engine(tmp_path / "runs.db", client=client, environ={}, inline=True, **more)


def grades(command: Command) -> Ran:
    return said(code=0 if command.files["answer.txt"] == b"yes" else 1)


async def started(opened: Engine, tmp_path: Path) -> Any:
    source = Source(str(tmp_path / "x.team"), PROGRAM)
    return await opened.start(source, allow=["file:checks/*"])


async def test_a_run_judges_in_the_sandbox_and_says_which_it_was(tmp_path: Path) -> None:
    sandbox = ScriptedSandbox(grades, name="none")

    async with engine(tmp_path, ["no", "yes"], sandbox=sandbox) as opened:
        run = await started(opened, tmp_path)
        result = await run.result()
        first = next(s.event for s in run.past() if isinstance(s.event, RunStarted))

    assert isinstance(result.outcome, Passed)
    assert result.attempt is not None
    assert result.attempt.answer == "yes"
    assert [one.files["check"] for one in sandbox.seen] == ["…".encode()] * 2
    assert first.sandbox == "none"
    assert result_json(run.id, result.folded, "")["sandbox"] == "none"
    assert "UNSAFE" in unsafe(result.folded)


async def test_a_verdict_is_not_asked_for_again_by_a_later_life(tmp_path: Path) -> None:
    broken = ScriptedSandbox(lambda command: said(code=4, err="no compiler"))
    async with engine(tmp_path, ["no", "yes"], sandbox=broken) as opened:
        run = await started(opened, tmp_path)
        result = await run.result()
        failed = [s.event for s in run.past() if isinstance(s.event, CallFailed)]
    assert isinstance(result.outcome, Paused)
    assert {one.kind for one in failed} == {"verifier"}
    assert result.attempt is None or result.attempt.verdict is None

    working = ScriptedSandbox(grades)
    async with engine(tmp_path, [], sandbox=working) as opened:
        resumed = await (await opened.resume(run.id)).result()
    assert isinstance(resumed.outcome, Passed)
    assert len(working.seen) == 2


async def test_one_life_without_a_sandbox_is_told_for_good() -> None:
    folded = Fold()

    for number, name in enumerate(("bubblewrap", "none", "bubblewrap", "")):
        folded.add(Stamped(number, 0.0, RunStarted(number + 1, 1, "here", "0", sandbox=name)))

    assert folded.sandbox == "none"


async def test_without_a_sandbox_a_run_is_refused_before_it_costs_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def none(*, unsafe: bool = False) -> None:
        raise SandboxMissing("No sandbox works here.")

    monkeypatch.setattr(checker_module, "find", none)

    async with engine(tmp_path, []) as opened:
        with pytest.raises(CallError, match=r"verifier `command`.*No sandbox works here"):
            await started(opened, tmp_path)
        assert opened.runs() == []
