"""A verifier over HTTP, both ends over loopback."""

from pathlib import Path

import pytest

from podium.dsl.program import Task, Verifier
from podium.engine import Engine
from podium.engine.call import CallError, VerifierCall
from podium.engine.clients.service import verdict_read
from podium.engine.shell.serving import Service, served
from podium.engine.testing import ScriptedClient
from podium.engine.value import Attempt, Verdict
from podium.engine.verify import judge

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def lengths(attempt: Attempt, task: Task) -> Verdict:
    """Longer is better; `boom` breaks it."""
    if attempt.text == "boom":
        raise ValueError("no verdict on that")
    return Verdict(float(len(attempt.text)), None, "by length", flags=("long",), cost=0.5)


TASK = Task("long", "Write a lot.", Verifier("length", "python", {"ref": f"{__name__}:lengths"}))
OTHER = Task("yes", "Say yes.", Verifier("exact", "exact", {"expected": "yes"}))
TOKEN = {"VERIFY": "secret"}


def call(url: str, text: str, statement: str = "", *, key: str | None = "VERIFY") -> VerifierCall:
    args = {"url": url} | ({"key": key} if key is not None else {})
    return VerifierCall("a", "r", Verifier("far", "http", args), Task("t", statement), text, text)


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, __name__, sys.modules.get(__name__) or __import__(__name__))


async def test_a_served_verifier_says_far_away_what_it_says_here() -> None:
    async with served(Service((TASK,), "secret", {}), "127.0.0.1", 0) as url:
        verdict = await judge(call(url, "four"), environ=TOKEN)
        assert verdict == Verdict(4.0, None, "by length", flags=("long",), cost=0.5)


async def test_of_several_tasks_the_statement_says_which() -> None:
    async with served(Service((TASK, OTHER), "secret", {}), "127.0.0.1", 0) as url:
        assert (await judge(call(url, "yes", "Say yes."), environ=TOKEN)).passed is True
        with pytest.raises(CallError, match="no task with this statement"):
            await judge(call(url, "yes", "Say no."), environ=TOKEN)


@pytest.mark.parametrize(
    ("text", "key", "environ", "why"),
    [
        ("boom", "VERIFY", TOKEN, "ValueError: no verdict on that"),
        ("four", None, {}, "token is missing or wrong"),
        ("four", "VERIFY", {"VERIFY": "guess"}, "token is missing or wrong"),
        ("four", "VERIFY", {}, "VERIFY, a verifier's token, is not set"),
    ],
)
async def test_an_error_there_is_an_error_here_and_never_a_score(
    text: str, key: str | None, environ: dict[str, str], why: str
) -> None:
    async with served(Service((TASK,), "secret", {}), "127.0.0.1", 0) as url:
        with pytest.raises(CallError, match=why) as error:
            await judge(call(url, text, key=key), environ=environ)
    assert error.value.kind == "verifier"
    assert "secret" not in error.value.message


async def test_nobody_there_is_an_error_of_the_verifier() -> None:
    with pytest.raises(CallError, match="cannot be reached") as error:
        await judge(call("http://127.0.0.1:9/", "x"), environ=TOKEN)
    assert error.value.kind == "verifier"


@pytest.mark.parametrize(
    "said", [{"score": "1"}, {"passed": 1}, {"score": 1.0, "valid": "yes"}, {"score": True}]
)
def test_what_is_no_verdict_is_refused(said: dict[str, object]) -> None:
    with pytest.raises(CallError):
        verdict_read(said)


def test_value_is_another_name_of_score() -> None:
    assert verdict_read({"value": 2, "flags": ["a"]}) == Verdict(2.0, None, flags=("a",))


PROGRAM = """
model m { endpoint = openai("m", base_url = "http://127.0.0.1:1") }
role writer { prompt = \"\"\"{{ task.statement }}\"\"\"  model = m }
task long { statement = "Write."  verify = http("URL", timeout = 5s, inflight = 2, key = env("VERIFY")) }
run main { task = long  flow = parallel(2) of writer -> best  budget = [9 calls] }
"""


async def test_a_run_is_judged_by_a_verifier_on_another_machine(tmp_path: Path) -> None:
    async with (
        served(Service((TASK,), "secret", {}), "127.0.0.1", 0) as url,
        Engine(
            tmp_path / "runs.db",
            client=ScriptedClient(["one", "three"]),
            environ={},
            secrets=TOKEN,
            allow=("host:*", "env:VERIFY"),
        ) as engine,
    ):
        run = await engine.start(PROGRAM.replace("URL", url))
        result = await run.result()
    assert result.attempt is not None
    assert (result.attempt.answer, result.attempt.score) == ("three", 5.0)
    assert result.folded.flags
