"""Judges and panels: what they are asked, what they say, who pays, and that nothing is paid twice."""

from pathlib import Path
from typing import Any

import pytest
import trio.testing

from podium.dsl.compile import Choice, check, compile_run
from podium.dsl.library import MemoryLibrary
from podium.dsl.source import Source
from podium.engine import Engine
from podium.engine.call import ModelCall
from podium.engine.outcome import Exhausted, Finished, Passed, Stopped
from podium.engine.result import RunResult
from podium.engine.testing import Say, ScriptedClient
from podium.engine.testing.faults import Crash, Placed, Schedule
from podium.engine.testing.simulate import simulate

PROGRAM = """
model m { endpoint = openai("m", base_url = "http://127.0.0.1:1"), price = none }
model j { endpoint = openai("other", base_url = "http://127.0.0.1:1"), price = none }
role writer { prompt = \"\"\"{{ task.statement }}\"\"\"  model = m  max_output = 100 tokens }
role referee { prompt = \"\"\"You judge.\"\"\"  model = j  max_output = 100 tokens }
task essay { statement = "Write."  verify = VERIFY  pass = score >= 0.7  MORE }
run main { task = essay  flow = FLOW  budget = BUDGET }
"""
SCORES = {"a": 0.2, "b": 0.9, "c": 0.5}


@pytest.fixture
def anyio_backend() -> Any:
    return "trio", {"clock": trio.testing.MockClock(autojump_threshold=0)}


pytestmark = pytest.mark.anyio


def text(
    verify: str = 'judge(by = referee, rubric = "Is it kind?")',
    *,
    more: str = "",
    flow: str = "parallel(3) of writer -> best",
    budget: str = "[40 calls]",
) -> str:
    made = PROGRAM.replace("VERIFY", verify).replace("MORE", more)
    return made.replace("FLOW", flow).replace("BUDGET", budget)


def says(call: ModelCall) -> Say:
    """Writers answer a, b and c; the judge scores what it is shown, and likes what stands first."""
    if call.model == "m":
        return Say("abc"[int(call.address.split("/")[2][0]) - 1], delay=1.0)
    shown = call.messages[-1].content
    if "first answer, then" in shown:
        return Say('{"better": "first", "why": "I read that first"}', delay=1.0)
    letter = shown.split("The answer to judge:\n")[1][0]
    return Say(f'{{"score": {SCORES[letter]}, "why": "it is {letter}"}}', delay=1.0)


def judging(client: ScriptedClient) -> list[ModelCall]:
    return [call for call in client.seen if call.model == "j"]


async def to_end(folder: Path, client: ScriptedClient, program: str) -> RunResult:
    async with engine(folder, client) as opened:
        return await (await opened.start(program)).result()


def engine(folder: Path, client: ScriptedClient) -> Engine:
    return Engine(folder / "runs.db", client=client, environ={}, inline=True)


async def test_a_judge_sees_answer_and_rubric_and_its_score_decides(tmp_path: Path) -> None:
    client = ScriptedClient(says)
    result = await to_end(tmp_path, client, text())
    assert result.attempt is not None
    assert (result.attempt.answer, result.attempt.score, result.attempt.passed) == ("b", 0.9, True)
    assert result.attempt.verdict is not None
    assert result.attempt.verdict.evidence == "it is b"
    asked = sorted(judging(client), key=lambda call: call.address)
    assert [call.address for call in asked] == [
        f"main/1.parallel/{i}.writer/v.judge/j1/c1" for i in (1, 2, 3)
    ]
    assert asked[0].messages[-1].content == "You judge.\n\nThe answer to judge:\na\n\nIs it kind?"
    assert asked[0].schema is not None


async def test_two_judges_of_one_name_are_told_apart_in_their_calls_and_in_their_scores(
    tmp_path: Path,
) -> None:
    client = ScriptedClient(says)
    kinder = 'best(by = judge(by = referee, rubric = "Is it short?"))'
    result = await to_end(
        tmp_path, client, text(flow=f"parallel(2) of writer -> top(2) -> {kinder}")
    )
    places = {call.address.split("/")[-3] for call in judging(client)}
    assert places == {"v.judge", "v.judge.of2"}
    assert {name for _, name in result.folded.scores} == {"judge", "judge.of2"}


async def test_a_verdict_on_a_part_is_told_apart_from_that_on_the_task(tmp_path: Path) -> None:
    client = ScriptedClient(
        lambda call: Say('{"parts": ["a", "b"]}' if "/by/" in call.address else "ay")
    )
    parted = "for_each(by = cutter, max = 2) of (writer -> score(by = right)) -> best"
    whole = text("right", flow=parted) + 'verifier right = contains("a", "y")\n'
    whole += 'role cutter { prompt = "Cut."  model = m  output = { parts: [text] } }\n'
    result = await to_end(tmp_path, client, whole)
    assert isinstance(result.outcome, Finished | Passed)
    assert {name for _, name in result.folded.scores} == {"right", "right.part1"}


async def test_a_panel_is_the_mean_of_its_members(tmp_path: Path) -> None:
    client = ScriptedClient(says)
    result = await to_end(tmp_path, client, text("panel(by = [2 of referee])"))
    assert result.attempt is not None
    assert result.attempt.score == 0.9
    ends = sorted(call.address.split("/", 3)[3] for call in judging(client)[:6])
    assert ends == ["v.panel/j1/c1"] * 3 + ["v.panel/j2/c1"] * 3
    assert len({call.seed for call in judging(client)}) == 6


async def test_one_that_likes_what_stands_first_cannot_tell_which_is_better(tmp_path: Path) -> None:
    client = ScriptedClient(says)
    verify = "judge(by = referee, against = baseline)"
    result = await to_end(tmp_path, client, text(verify, more='baseline = "z"'))
    assert result.attempt is not None
    assert (result.attempt.score, result.attempt.passed) == (0.5, False)
    asked = {call.address: call.messages[-1].content for call in judging(client)}
    above = "main/1.parallel/1.writer/v.judge"
    first, second = asked[f"{above}/j1a/c1"], asked[f"{above}/j1b/c1"]
    assert "[1] a\n\n[2] z" in first
    assert "[1] z\n\n[2] a" in second
    assert len(judging(client)) == 6  # the baseline itself costs nothing


async def test_what_judges_cost_is_paid_by_the_budget_of_who_asks(tmp_path: Path) -> None:
    client = ScriptedClient(says)
    flow = "parallel(3) of writer -> best(budget = [2 calls])"
    result = await to_end(tmp_path, client, text(flow=flow))
    assert len(judging(client)) == 2
    assert result.folded.held == 0
    assert result.folded.total.amount.calls == 5
    # Nothing passes: whichever of the three is the one that is judged.
    hard = text(budget="[4 calls]").replace("score >= 0.7", "score >= 0.95")
    short = await to_end(tmp_path, ScriptedClient(says), hard)
    assert isinstance(short.outcome, Exhausted)
    assert short.folded.total.amount.calls == 4


async def test_two_judges_of_one_name_are_told_apart(tmp_path: Path) -> None:
    client = ScriptedClient(says)
    flow = 'parallel(3) of writer -> best(by = judge(by = referee, rubric = "Is it short?"))'
    result = await to_end(tmp_path, client, text(flow=flow))
    assert result.attempt is not None
    assert result.attempt.score == 0.9
    asked = [call.messages[-1].content for call in judging(client)]
    assert sum("Is it short?" in one for one in asked) == 3
    assert sum("Is it kind?" in one for one in asked) == 1
    assert len({call.address for call in judging(client)}) == 4


async def test_a_judge_that_cannot_be_read_gives_no_score_of_zero(tmp_path: Path) -> None:
    def mute(call: ModelCall) -> str:
        return "a" if call.model == "m" else "I would rather not."

    result = await to_end(tmp_path, ScriptedClient(mute), text())
    assert result.outcome.__class__.__name__ == "Failed"
    assert result.attempt is None or result.attempt.verdict is None
    assert result.folded.scores == {}


@pytest.mark.parametrize("after", [3, 4, 5])
async def test_a_verdict_that_was_paid_for_is_not_paid_for_again(
    tmp_path: Path, after: int
) -> None:
    stopped = ScriptedClient(says, inflight=1)
    async with engine(tmp_path, stopped) as opened:
        run = await opened.start(text())
        run.watchers.append(lambda _: run.pause() if len(stopped.ended) >= after else None)
        first = await run.result()
    assert first.resumable
    client = ScriptedClient(says)
    async with engine(tmp_path, client) as opened:
        result = await (await opened.resume(first.run)).result()
    assert len(stopped.ended) + len(client.seen) == 6
    assert result.attempt is not None
    assert result.attempt.answer == "b"


async def test_a_stopped_run_still_has_its_judges(tmp_path: Path) -> None:
    client = ScriptedClient(says)
    async with engine(tmp_path, client) as opened:
        run = await opened.start(text())
        stops = [run.stop]
        run.watchers.append(lambda _: stops.pop()() if stops and len(client.ended) >= 1 else None)
        result = await run.result()
    assert result.outcome in (Stopped("user"), Passed())
    assert result.attempt is not None
    assert result.attempt.score is not None
    assert result.folded.held == 0


@pytest.mark.parametrize(
    ("verify", "more", "code"),
    [
        ("judge(by = keeps)", "", "E120"),
        ("judge(by = odd)", "", "E120"),
        ("judge(by = referee, against = baseline)", "", "E107"),
    ],
)
def test_what_cannot_judge_is_told(verify: str, more: str, code: str) -> None:
    roles = (
        'role keeps { prompt = """Judge."""  budget = [1 calls] }\n'
        'role odd { prompt = """Judge."""  output = { mood: text } }\n'
    )
    problems = check(Source("x.team", roles + text(verify, more=more)), MemoryLibrary())
    assert code in [problem.code for problem in problems]


def test_a_judge_of_the_authors_family_warns() -> None:
    same = text().replace('openai("other"', 'openai("m-large"')
    codes = {
        which: [problem.code for problem in check(Source("x.team", which), MemoryLibrary())]
        for which in (same, text())
    }
    assert "W601" in codes[same]
    assert "W601" not in codes[text()]


@pytest.mark.parametrize(
    ("verify", "flow"),
    [
        ("judge(by = referee)", "parallel(6, stop = first_pass) of writer"),
        ("panel(by = [2 of referee])", "parallel(2) of team(2, members = [2 of writer]) -> best"),
        ("judge(by = referee, against = baseline)", "fallback of [writer, writer, writer]"),
        ('all_of(judge(by = referee), contains("score"))', "parallel(4) of writer -> best"),
    ],
)
@pytest.mark.parametrize("budget", ["[7 calls]", "[40 calls, 30s]"])
def test_no_promise_is_broken_by_judges_short_budgets_and_a_crash(
    verify: str, flow: str, budget: str
) -> None:
    source = Source("x.team", text(verify, more='baseline = "z"', flow=flow, budget=budget))
    program, _ = compile_run(source, MemoryLibrary(), Choice())
    simulation = simulate(program, schedule=Schedule(7, (Placed(Crash(9), 0.0),)))
    assert not simulation.violations, simulation.told()
    assert simulation.error is None
