"""Simulated agents: the law that they follow, and the shapes that they fill."""

import random
from dataclasses import replace
from statistics import fmean, stdev

import orjson
import pytest

from podium.dsl.program import Ceo, OutputField, Task, Verifier
from podium.engine.agent.shape import Unreadable, parse, schema
from podium.engine.call import Message, ModelCall, VerifierCall
from podium.engine.team.ceo import output as ceo_output
from podium.engine.testing import Agents, mark, power_law, scored
from podium.engine.testing.agents import shaped, verdict
from podium.engine.testing.handmade import (
    TASK,
    agent,
    exact,
    parallel,
    program,
    reduce_by,
    role,
    team,
    then,
)
from podium.engine.testing.speakers import speaker_of
from podium.engine.value import Attempt
from podium.engine.verify import exact as judge_exact

LAW = power_law(0.9, 0.4, 0.5, spread=0.12, shrink=0.25)


def call(address: str, **fields: object) -> ModelCall:
    made = ModelCall(address, "run", "m", (Message("user", "Go."),), 500)
    return replace(made, **fields)  # type: ignore[arg-type]  # fields of ModelCall


def scores(size: int, count: int = 1500) -> list[float]:
    flow = then(parallel(count, team(size)), reduce_by("best"))
    speak = Agents(program(flow), 1, LAW)
    texts = [speak(call(f"main/1.parallel/{n}.team/r2.m1/c1")).text for n in range(1, count + 1)]
    return [scored(Attempt(text, text, "a"), TASK).score or 0.0 for text in texts]


@pytest.mark.parametrize("size", [1, 4, 16])
def test_the_scores_of_teams_follow_the_law(size: int) -> None:
    found = scores(size)
    error = LAW.spread(size) / len(found) ** 0.5
    assert abs(fmean(found) - LAW.mean(size)) < 4 * error
    assert stdev(found) == pytest.approx(LAW.spread(size), rel=0.05)


def test_whoever_writes_for_a_team_its_score_is_the_teams() -> None:
    speak = Agents(program(team(3)), 1, LAW)
    texts = {speak(call(f"main/team/{where}/c1")).text for where in ("r1.m1", "r2.m3", "r2.answer")}
    assert len(texts) == 1


def test_lone_attempts_differ() -> None:
    speak = Agents(program(then(parallel(9, agent()), reduce_by("vote"))), 1, LAW)
    texts = {speak(call(f"main/1.parallel/{n}.agent/c1")).text for n in range(1, 10)}
    assert len(texts) == 9


def test_an_exact_task_is_solved_at_the_laws_rate() -> None:
    flow = then(parallel(2000, team(4)), reduce_by("best"))
    speak = Agents(program(flow, Task("sum", "2 + 2?", exact("4"))), 1, LAW)
    answers = [speak(call(f"main/1.parallel/{n}.team/r1.m1/c1")).text for n in range(1, 2001)]
    right = [
        judge_exact(VerifierCall("a", "run", exact("4"), TASK, text, text)).passed
        for text in answers
    ]
    assert fmean(map(bool, right)) == pytest.approx(LAW.rate(4), abs=0.04)


FORMS = [
    ceo_output(frozenset({"size", "direction", "effort", "assignment", "stop"})),
    (OutputField("choice", ("a", "b")), OutputField("score", "float"), OutputField("n", "int")),
    (OutputField("parts", "text", is_list=True),),
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(5))
def test_a_structured_reply_has_the_shape_that_was_asked_for(
    form: tuple[OutputField, ...], seed: int
) -> None:
    text = orjson.dumps(shaped(schema(form), "x", random.Random(seed))).decode()
    assert not isinstance(parse(form, text), Unreadable)


def test_a_share_of_structured_replies_cannot_be_read() -> None:
    form = FORMS[1]
    speak = Agents(program(agent()), 1, LAW, unreadable=0.25)
    calls = [call(f"main/agent/c{n}", schema=schema(form)) for n in range(1, 801)]
    bad = [isinstance(parse(form, speak(one).text), Unreadable) for one in calls]
    assert fmean(bad) == pytest.approx(0.25, abs=0.05)


def test_fixed_replies_come_by_role_or_by_place() -> None:
    flow = team((1, role("solver")), (2, role("critic")), ceo=Ceo("fixed", role("chief")))
    speak = Agents(program(flow), replies={"critic": "no", "r2.m3": "yes", "chief": "{}"})
    places = ("r1.m2", "r1.m3", "r2.m3", "r1.ceo")
    assert [speak(call(f"main/team/{p}/c1")).text for p in places] == ["no", "no", "yes", "{}"]


def test_a_speaker_is_the_role_and_the_team_of_an_address() -> None:
    flow = then(parallel(2, team((1, role("a")), (3, role("b")))), reduce_by("best"))
    speaker = speaker_of(program(flow), "main/1.parallel/2.team/r1.m4/c1")
    assert (speaker.role and speaker.role.name, speaker.size) == ("b", 4)
    assert speaker.node == "main/1.parallel/2.team"
    assert speaker_of(program(agent()), "main/elsewhere/x/c1").size == 1


def test_a_simulated_verdict_reads_the_last_score() -> None:
    text = f"{mark(0.2)} then {mark(0.95)}"
    bench = Verifier("bench", "command", {})
    judged = verdict(VerifierCall("a", "run", bench, TASK, text, text), LAW)
    assert (judged.score, judged.passed) == (0.95, True)
