"""A run whose endpoint lists its models and then never answers a call: its end, its money, its resuming."""

from pathlib import Path

import pytest

from podium.engine import Engine, Run, RunResult
from podium.engine.call import Usage
from podium.engine.event import (
    CallAnswered,
    CallFailed,
    CallIntended,
    Decided,
    Event,
    RunEnded,
    Stamped,
)
from podium.engine.ledger import Amount
from podium.engine.outcome import Failed, Finished
from podium.engine.past import Past
from podium.engine.testing.server import Answer, FakeServer, always

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


PROGRAM = """
edition 2026

model good  { endpoint = openai("fake", base_url = "GOOD") }
model hangs { endpoint = openai("fake", base_url = "HANGS")  profile = { first_s = 0.2, check_s = 0.05 } }

role one {
  model      = good
  prompt     = {{{ {{ task.statement }} }}}
  max_output = 20 tokens
}

role two {
  model      = hangs
  prompt     = {{{ {{ task.statement }} }}}
  max_output = 20 tokens
}

role again {
  model      = hangs
  prompt     = {{{ Say it again: {{ attempt.answer }} }}}
  max_output = 20 tokens
}

task saying { statement = {{{ Say something. }}}  verify = exact("now") }

run main {
  task   = saying
  flow   = FLOW
  budget = [20k tokens]
}
""".replace("{{{ ", '"' * 3).replace(" }}}", '"' * 3)


def program(good: FakeServer, hangs: FakeServer, flow: str = "one -> again") -> str:
    text = PROGRAM.replace("GOOD", good.url).replace("HANGS", hangs.url)
    return text.replace("FLOW", flow)


HANGS = always(Answer(delay_s=60))


async def played(engine: Engine, text: str) -> RunResult:
    return await (await engine.start(text)).result()


def failures(run: Run) -> list[CallFailed]:
    return [s.event for s in run.past() if isinstance(s.event, CallFailed)]


async def test_the_run_fails_at_once_and_can_be_taken_up_without_paying_again(
    tmp_path: Path,
) -> None:
    remarks: list[str] = []
    async with FakeServer() as good, FakeServer(HANGS) as hangs:
        async with Engine(tmp_path / "runs.db", environ={}, tell=remarks.append) as engine:
            run = await engine.start(program(good, hangs))
            result = await run.result()
            (failed,) = failures(run)
        assert isinstance(result.outcome, Failed)
        assert (result.outcome.kind, result.resumable) == ("mute", True)
        assert hangs.url.removeprefix("http://") in result.outcome.message
        # Asked once, charged at its hold: the server may have worked for it. Nothing else is held.
        assert (hangs.started, failed.estimated, failed.spent.calls) == (1, True, 1)
        assert failed.spent.tokens > 20
        assert result.folded.held == 0
        assert len(remarks) == 1
        hangs.script = always(Answer(text="now"))
        async with Engine(tmp_path / "runs.db", environ={}) as engine:
            resumed = await (await engine.resume(result.run)).result()
        assert resumed.attempt is not None
        assert resumed.attempt.answer == "now"
        assert (good.started, hangs.started) == (1, 2)


async def test_every_call_there_ends_with_the_first_and_nobody_asks_again(tmp_path: Path) -> None:
    async with FakeServer() as good, FakeServer(HANGS) as hangs:
        text = program(good, hangs, "parallel(40) of two")
        async with Engine(tmp_path / "runs.db", environ={}) as engine:
            result = await played(engine, text)
        assert isinstance(result.outcome, Failed)
        assert hangs.started == 32  # as many as are in flight at once


async def test_a_fallback_on_another_endpoint_takes_over(tmp_path: Path) -> None:
    async with FakeServer() as good, FakeServer(HANGS) as hangs:
        text = program(good, hangs, "fallback of [two, one]")
        async with Engine(tmp_path / "runs.db", environ={}) as engine:
            result = await played(engine, text)
        assert isinstance(result.outcome, Finished)
        assert (good.started, hangs.started) == (1, 1)


def test_what_was_decided_before_a_model_answered_again_stays_decided() -> None:
    past = Past()

    def add(*events: Event) -> None:
        for event in events:
            past.add(Stamped(0, 0.0, event))

    add(Decided("a", "no_answer", ["failed", "mute", "it hangs"]))
    add(CallIntended("b", 0, "r", "model", "digest", Amount(tokens=9, calls=1)))
    add(CallAnswered("b", 0, "r", Amount(), Usage(), {}, 1.0), Decided("c", "pick", 1))
    add(Decided("d", "no_answer", ["failed", "silent", "it hangs"]), Decided("e", "pick", 1))
    add(CallIntended("v", 0, "r", "verifier", "content", Amount()))
    add(CallAnswered("v", 0, "r", Amount(), Usage(), {}, 1.0))
    add(RunEnded("failed", "mute: it hangs", True, None, None, None, 2.0))
    assert list(past.decisions) == [("a", "no_answer"), ("c", "pick")]
    assert (list(past.answers), list(past.verdicts)) == (["b"], ["content"])
