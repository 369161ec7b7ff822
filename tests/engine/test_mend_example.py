"""`examples/mend.team` in the real sandbox: agents mend a program, a program judges what they left."""

import json
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest

from podium.dsl.source import Source
from podium.engine import Engine
from podium.engine.call import ModelCall, ToolCall
from podium.engine.event import CallIntended
from podium.engine.life import Run
from podium.engine.replay import replay
from podium.engine.sandbox import Sandbox
from podium.engine.testing import Say, ScriptedClient

pytestmark = [pytest.mark.anyio, pytest.mark.sandbox]
EXAMPLE = Path(__file__).parents[2] / "examples" / "mend.team"
BROKEN = (EXAMPLE.parent / "broken" / "total.py").read_text("utf-8")
MENDED = BROKEN.replace("for line in receipt", "for line in filter(str.strip, receipt").replace(
    "splitlines():", "splitlines()):"
).replace(
    "cents += int(float(words[-1]) * 100)",
    'count = int(words[-3]) if words[-2] == "x" else 1\n'
    "        cents += count * round(float(words[-1]) * 100)",
)  # fmt: skip
ALLOW = ("file:broken", "file:mended.py")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def calls(name: str, **arguments: str) -> Say:
    return Say("", calls=(ToolCall("c", name, arguments, orjson.dumps(arguments).decode()),))


def mechanic(text: str, seen: list[ModelCall]) -> Callable[[ModelCall], str | Say]:
    """What the first agent does turn by turn, with text in place of total.py; the others say that they give up."""
    turns = {
        "t1": calls("read", path="total.py"),
        "t2": calls("write", path="total.py", text=text),
        "t3": calls("shell", command="python3 check.py"),
        "t4": calls("submit", answer="it is mended"),
    }

    def script(call: ModelCall) -> str | Say:
        if "/1.mechanic/" not in call.address:
            return "I give up."
        seen.append(call)
        return turns.get(call.address.rpartition("/")[2], "that is all")

    return script


async def played(engine: Engine) -> Run:
    return await engine.start(Source(str(EXAMPLE), EXAMPLE.read_text("utf-8")))


def engine(store: Path, script: Callable[[ModelCall], str | Say], sandbox: Sandbox) -> Engine:
    client = ScriptedClient(script)
    return Engine(store, client=client, environ={}, allow=ALLOW, sandbox=sandbox)


async def test_what_is_mended_passes_and_is_handed_over(tmp_path: Path, sandbox: Sandbox) -> None:
    seen: list[ModelCall] = []
    async with engine(tmp_path / "runs.db", mechanic(MENDED, seen), sandbox) as one:
        result = await (await played(one)).result()
        assert result.attempt is not None
        assert (result.attempt.answer, result.attempt.score) == ("it is mended", 1.0)
        assert result.artifacts["total.py"] == MENDED.encode()
        assert set(result.artifacts) == {"total.py", "check.py"}
    assert seen[1].messages[-1].content.rstrip() == BROKEN.rstrip()
    assert "WRONG" not in seen[3].messages[-1].content
    assert seen[3].messages[-1].content.count("right") == 4


# No receipt adds up to nothing.
FORGED = "import json, os\nprint(json.dumps([0] * 20), flush=True)\nos._exit(0)\n"
PLANTED = "total = lambda receipt: 0\nopen('asks.py', 'w').write('print(1)')\n"


@pytest.mark.parametrize(
    ("text", "evidence"),
    [
        (BROKEN, "of 20 receipts are right"),
        ("syntax error(", "SyntaxError"),
        (FORGED, "0 of 20 receipts are right"),
        (PLANTED, "0 of 20 receipts are right"),
    ],
    ids=["as it was", "no program", "prints sums and leaves", "writes over the test"],
)
async def test_what_is_not_mended_does_not_pass(
    tmp_path: Path, sandbox: Sandbox, text: str, evidence: str
) -> None:
    async with engine(tmp_path / "runs.db", mechanic(text, []), sandbox) as one:
        result = await (await played(one)).result()
    assert result.attempt is not None
    verdict = result.attempt.verdict
    assert verdict is not None
    assert (verdict.passed, verdict.valid) == (False, True)
    assert evidence in verdict.evidence or result.attempt.answer == "I give up."


@pytest.mark.parametrize("turn", ["t2", "t3", "t4"])
async def test_a_run_that_is_cut_goes_on_with_the_files_and_replays(
    tmp_path: Path, sandbox: Sandbox, turn: str
) -> None:
    script = mechanic(MENDED, [])

    def until(call: ModelCall) -> str | Say:
        waits = call.address.endswith(f"/1.mechanic/{turn}")
        return Say("", delay=99) if waits or "/1.mechanic/" not in call.address else script(call)

    async with engine(tmp_path / "runs.db", until, sandbox) as one:
        run = await played(one)
        async for stamped in run.events():
            event = stamped.event
            if isinstance(event, CallIntended) and event.address.endswith(f"/1.mechanic/{turn}"):
                break
        run.abort()
        await run.result()
    seen: list[ModelCall] = []
    async with engine(tmp_path / "runs.db", mechanic(MENDED, seen), sandbox) as one:
        again = await one.resume(run.id)
        result = await again.result()
        assert result.artifacts["total.py"] == MENDED.encode()
        assert seen[0].address.endswith(turn)
        events = list(again.past())
    assert (await replay(again.program, events, lambda name: 8192)).difference == ""


async def test_the_scores_are_of_the_files_alone(tmp_path: Path, sandbox: Sandbox) -> None:
    """Each agent says the same; only one's files are mended."""

    def script(call: ModelCall) -> str | Say:
        turn = call.address.rpartition("/")[2]
        if turn == "t1" and "/2.mechanic/" in call.address:
            return calls("write", path="total.py", text=MENDED)
        return calls("submit", answer="done") if turn in ("t1", "t2") else "done"

    async with engine(tmp_path / "runs.db", script, sandbox) as one:
        result = await (await played(one)).result()
        assert result.attempt is not None
        assert result.attempt.passed
        assert "/2.mechanic/" in result.attempt.address
        assert json.dumps(result.attempt.answer) == '"done"'
