"""Verdicts that say more than a score: invalid, suspected, random; what a run reports of them."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import trio.testing

from podium.dsl.library import MemoryLibrary
from podium.dsl.program import Task
from podium.engine import Engine
from podium.engine.answer import result_json
from podium.engine.call import VerifierReply, reply_body, reply_of
from podium.engine.event import Event, Measured, Scored, Stamped, Unflagged, body, from_body
from podium.engine.reduce import rank
from podium.engine.replay import replay
from podium.engine.request import compiled, from_json
from podium.engine.result import RunResult
from podium.engine.shell.summary import measured_again, suspicions
from podium.engine.store import Store
from podium.engine.testing import ScriptedClient
from podium.engine.value import Attempt, Verdict
from podium.engine.verify import verdict_of

PROGRAM = """
model m { endpoint = openai("m", base_url = "http://127.0.0.1:1") }
role writer { prompt = \"\"\"{{ task.statement }}\"\"\"  model = m  max_output = 100 tokens }
task hello { statement = "Go."  verify = python("check:judge"FINALISTS) }
run main { task = hello  flow = parallel(3, inflight = 1) of writer -> best  budget = [20 calls] }
"""


@pytest.fixture
def anyio_backend() -> Any:
    return "trio", {"clock": trio.testing.MockClock(autojump_threshold=0)}


pytestmark = pytest.mark.anyio


async def to_end(
    folder: Path, judge: Callable[[Attempt, Task], object], finalists: str = ""
) -> RunResult:
    replies = ScriptedClient(["one", "two", "three"])
    bindings = {"check:judge": judge}
    allow = ("python:*", "host:*")
    async with Engine(
        folder / "runs.db", client=replies, environ={}, inline=True, bindings=bindings, allow=allow
    ) as engine:
        run = await engine.start(PROGRAM.replace("FINALISTS", finalists))
        return await run.result()


def test_a_verdict_is_the_same_after_the_journal() -> None:
    for verdict in (
        Verdict(0.5, None, "so"),
        Verdict(None, False, valid=False),
        Verdict(2.0, True, flags=("reads the clock", "b"), cost=1.5, first=3.0),
    ):
        assert reply_of(reply_body(VerifierReply(verdict))) == VerifierReply(verdict)


def test_what_earlier_versions_wrote_is_still_read() -> None:
    old = {"verdict": {"score": 1.0, "passed": True, "evidence": "e"}}
    assert reply_of(old) == VerifierReply(Verdict(1.0, True, "e"))
    assert from_body("scored", {"address": "a", "verifier": "v", "score": 1.0, "passed": None}) == (
        Scored("a", "v", 1.0, None)
    )
    flagged = Scored("a", "v", 1.0, None, flags=("x",))
    assert from_body("scored", body(flagged)) == flagged


def test_what_is_invalid_has_no_score_and_does_not_pass() -> None:
    verdict = verdict_of(Verdict(9.0, True, "no JSON", valid=False))
    assert (verdict.score, verdict.passed) == (None, False)
    assert rank(Verdict(-5.0, False), "higher") > rank(verdict, "higher")


def test_of_equal_verdicts_the_one_without_a_flag_is_better() -> None:
    plain, flagged = Verdict(1.0, True), Verdict(1.0, True, flags=("odd",))
    assert rank(plain, "higher") > rank(flagged, "higher") > rank(Verdict(0.9, True), "higher")


def suspects(attempt: Attempt, task: Task) -> Verdict:
    scores = {"one": 0.5, "two": 0.9, "three": 0.6}
    flags = ("too fast to be true",) if attempt.text == "two" else ()
    return Verdict(scores[attempt.text], None, flags=flags)


async def test_the_best_with_and_without_a_flag_are_both_told(tmp_path: Path) -> None:
    result = await to_end(tmp_path, suspects)
    told = result_json(result.run, result.folded, "")
    assert told["answer"] == "two"
    assert told["suspected"] == {
        "attempts": 1,
        "flags": ["too fast to be true"],
        "best_unflagged": {
            "address": "main/1.parallel/3.writer",
            "answer": "three",
            "score": 0.6,
            "passed": None,
        },
    }
    first, second = suspicions(result.folded)
    assert first == "1 attempt looks like a cheat, the best (0.9) among them: too fast to be true"
    assert second == "The best without a flag: 0.6, main/1.parallel/3.writer."


async def test_without_a_flag_nothing_is_said_of_cheats(tmp_path: Path) -> None:
    result = await to_end(tmp_path, lambda attempt, _: float(len(attempt.text)))
    assert result_json(result.run, result.folded, "")["suspected"] is None
    assert suspicions(result.folded) == ()
    assert not [event for event in events(result) if isinstance(event, Unflagged)]


class Noisy:
    """The luckiest at first is the worst: `two` scores 0.9, then 0.1. seen: what was judged, in order."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.scores = {"one": [0.8, 0.7], "two": [0.9, 0.1], "three": [0.2]}

    def __call__(self, attempt: Attempt, task: Task) -> float:
        self.seen.append(attempt.text)
        return self.scores[attempt.text][self.seen.count(attempt.text) - 1]


def past(result: RunResult) -> tuple[list[Stamped], Mapping[str, Any]]:
    """The run's events, and what it was asked to run."""
    store = Store.open(result.store)
    try:
        return list(store.events(result.run)), store.run(result.run).request
    finally:
        store.close()


def events(result: RunResult) -> list[Event]:
    return [stamped.event for stamped in past(result)[0]]


async def test_finalists_are_scored_once_more_and_both_scores_are_kept(tmp_path: Path) -> None:
    noisy = Noisy()
    result = await to_end(tmp_path, noisy, ", finalists = 2")
    assert result.attempt is not None
    assert (result.attempt.answer, result.attempt.score) == ("one", 0.7)
    assert result.attempt.verdict is not None
    assert result.attempt.verdict.first == 0.8
    assert sorted(noisy.seen) == ["one", "one", "three", "two", "two"]
    told = sorted((e.first, e.second) for e in events(result) if isinstance(e, Measured))
    assert told == [(0.8, 0.7), (0.9, 0.1)]
    said = measured_again(result.folded)
    assert said == "Finalists were scored once more: 0.8 then 0.7, 0.9 then 0.1."
    assert result.folded.best is not None
    assert result.folded.best.score == 0.7


@pytest.mark.parametrize("seed", range(3))
async def test_a_replay_knows_both_measurements_and_asks_for_none(
    tmp_path: Path, seed: int
) -> None:
    result = await to_end(tmp_path, Noisy(), ", finalists = 2")
    stamped, request = past(result)
    program, _ = compiled(from_json(request), MemoryLibrary(), lambda kind, name: True)
    again = await replay(program, stamped, lambda model: 8192, seed=seed)
    assert again.difference == ""
