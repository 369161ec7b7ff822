"""`compat = mas_tts`: the published protocol as its released code runs, defects included."""

import re
from collections.abc import Callable
from itertools import groupby

import pytest
import trio.testing

from podium.dsl.bounds import bounds
from podium.dsl.compile import Choice, check, compile_run
from podium.dsl.library import MemoryLibrary
from podium.dsl.model import Sampling
from podium.dsl.program import Program, Team
from podium.dsl.source import Source
from podium.engine.call import CallError, ModelCall
from podium.engine.event import NodeEnded
from podium.engine.outcome import Failed, Finished
from podium.engine.team import mas_tts as table
from podium.engine.team.mas_tts import Allocation, Line
from podium.engine.testing import Fail, Played, Say, ScriptedClient, play, simulate
from podium.engine.testing.faults import schedule

RUN = """
task sum {{ statement = "What is 2 + 2?" }}
model m {{ endpoint = openai("m", base_url = "http://127.0.0.1:1/v1")  context = 128k tokens  price = none }}
run main {{ task = sum  flow = {} }}
"""


def program(flow: str) -> Program:
    return compile_run(Source("x.team", RUN.format(flow)), MemoryLibrary(), Choice())[0]


def ceo(
    number: int = 4, cap: str = "4096", decision: str = "Continue", direction: str = "on"
) -> str:
    return (
        f"### Decision: {decision}\n### Recruit Number: {number}\n"
        f"### Direction: {direction}\n### Maximum Tokens: {cap}"
    )


def persona(seat: int) -> str:
    return f"A sage of kind {seat}"


def replies(**by_part: str) -> Callable[[ModelCall], Say]:
    """Answers by part. Critics disagree and nothing is right by default."""
    every = {
        "ceo": ceo(),
        "recruit": "\n".join(f"{seat}. {persona(seat)}" for seat in range(1, 11)),
        "solver": "5",
        "critic": "It is 4. [Disagree]",
        "evaluate": "### Correctness: 0\n### Advice: add again",
        **by_part,
    }
    return lambda call: Say(every[part(call.address)])


def says(**by_part: str) -> ScriptedClient:
    return ScriptedClient(replies(**by_part))


def part(address: str) -> str:
    name = address.split("/")[-2].rpartition(".")[2]
    if name in ("ceo", "recruit", "evaluate"):
        return name
    return "solver" if name in ("m1", "answer") else "critic"


def walked(played: Played) -> list[str]:
    """The segments in their order; critics who are asked at the same time by their seats."""
    names = [address.split("/")[-2] for address in played.calls]
    groups = groupby(names, lambda name: re.sub(r"m([2-9]|10)$", "critics", name))
    return [name for _, group in groups for name in sorted(group)]


def call(client: ScriptedClient, segment: str) -> ModelCall:
    [found] = [one for one in client.seen if one.address.endswith(f"/{segment}/c1")]
    return found


def user(client: ScriptedClient, segment: str) -> str:
    return call(client, segment).messages[1].content


# --- the tables ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (ceo(3, "8192"), Allocation(3, 8192, "on")),
        (ceo(1, "0"), Allocation(2, 2048, "on")),  # a floor for each
        (ceo(9, "99999"), Allocation(4, 32_000, "on")),  # the seats there are; the dearest
        (ceo(2, "16,384"), Allocation(2, 32_000, "on")),  # a slip buys the most
        (ceo(2, "16384 tokens"), Allocation(2, 32_000, "on")),
        (ceo(2, "4096\nGood luck"), Allocation(2, 32_000, "on")),
        (ceo(2, decision="Stop"), Allocation(2, 4096, "on", stop=True)),
        (ceo(2, decision="Stop, do not continue"), Allocation(2, 4096, "on")),
        ("**Decision:** Stop", None),
        ('{"decision": "stop"}', None),
        ("### Recruit Number: 2\n### Decision: Stop", None),
    ],
)
def test_a_ceos_reply_is_read_as_published(text: str, wanted: Allocation | None) -> None:
    assert table.read_ceo(text, seats=4) == wanted


def test_two_to_three_agents_are_two() -> None:
    found = table.read_ceo(ceo().replace("Number: 4", "Number: 2-3"), seats=4)
    assert found is not None
    assert found.agents == 2


def test_agreement_is_a_mark_anywhere_and_none_is_an_objection() -> None:
    assert table.read_review("I would not [Agree] … [Disagree]") == ""
    assert table.read_review(" no mark ") == "no mark"
    assert table.read_review("") == ""


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("### Correctness: 1\n### Advice: fine\n### Recruit: none", (True, "fine\n### Recruit: none")),
        ("### Correctness: 0", (False, "")),
        ("### Correctness: (1)", None),
        ("### Correctness: **1**", None),
    ],
)  # fmt: skip
def test_an_evaluation_is_the_first_digit(text: str, wanted: tuple[bool, str] | None) -> None:
    assert table.read_evaluation(text) == wanted


def test_personas_are_lines_with_a_number_and_too_few_are_none() -> None:
    text = "Experts:\n1. A poet\n 2. A cook\nthanks\n3. A judge"
    assert table.read_personas(text, 2) == ("A poet", "A cook")
    assert table.read_personas(text, 4) is None


def test_a_retry_is_cooler_and_halves_a_large_cap() -> None:
    warm = Sampling(temperature=0.7, top_p=0.95)
    assert table.nudged(warm, 32_000, 1) == (warm, 32_000)
    assert table.nudged(warm, 32_000, 3) == (Sampling(temperature=0.68, top_p=0.93), 8_000)
    assert table.nudged(warm, 8_192, 3)[1] == 8_192


def test_a_window_is_of_messages_whatever_their_length() -> None:
    said = [Line(f"s{i}", f"text {i}") for i in range(9)]
    shown = table.history(said, 3)
    assert shown == "<history>\n[s6]: text 6\n[s7]: text 7\n[s8]: text 8\n</history>\n\n"
    assert table.history([], 3) == ""


# --- a turn --------------------------------------------------------------------------------------


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    return ("trio", {"clock": trio.testing.MockClock(autojump_threshold=0)})


@pytest.mark.anyio
async def test_two_who_agree_at_once_and_are_right_make_five_calls() -> None:
    client = says(ceo=ceo(2), critic="[Agree]", evaluate="### Correctness: 1\n### Advice: fine")
    played = await play(program("team(4, compat = mas_tts)"), client)
    assert walked(played) == ["cycle1.ceo", "recruit", "r1.m1", "r1.m2", "cycle1.evaluate"]
    assert played.result.outcome == Finished()
    ends = [e for e in played.memory.events if isinstance(e, NodeEnded)]
    assert next(e.reason for e in ends if e.address == "main/team") == "accepted"


@pytest.mark.anyio
async def test_four_who_never_agree_make_thirty_two_calls_and_the_last_solution_is_the_answer() -> (
    None
):
    played = await play(program("team(4, compat = mas_tts)"), says())
    one = [
        *("r{0}.m1", "r{0}.m2", "r{0}.m3", "r{0}.m4", "r{0}.answer"),
        *("r{1}.m2", "r{1}.m3", "r{1}.m4", "r{1}.answer"),
        *("r{2}.m2", "r{2}.m3", "r{2}.m4", "r{2}.answer"),
    ]
    first = [name.format(1, 2, 3) for name in one]
    second = [name.format(4, 5, 6) for name in one]
    assert walked(played) == [
        *("cycle1.ceo", "recruit", *first, "cycle1.evaluate"),
        *("cycle2.ceo", "cycle2.recruit", *second, "cycle2.evaluate"),
    ]
    assert len(played.calls) == 32
    assert played.result.value is not None
    assert played.result.value.address == "main/team/r6.answer"


@pytest.mark.anyio
async def test_the_stop_of_the_ceo_is_ignored() -> None:
    """Field case 32: under compat all 32 calls are made."""
    played = await play(program("team(4, compat = mas_tts)"), says(ceo=ceo(decision="Stop")))
    assert len(played.calls) == 32


@pytest.mark.anyio
async def test_ten_who_never_agree_make_sixty_eight_calls() -> None:
    played = await play(program("team(10, compat = mas_tts)"), says(ceo=ceo(10)))
    assert len(played.calls) == 68


@pytest.mark.anyio
async def test_who_is_told_what() -> None:
    client = says(critic="no. [Disagree]", ceo=ceo(3, direction="use fingers"))
    await play(program("team(4, compat = mas_tts)"), client)
    assert "Latest solution: No solution yet.\nEvaluation: No advice yet." in user(
        client, "cycle1.ceo"
    )
    assert "recruit_number: 2, maximum_tokens: 32000" in user(client, "cycle1.ceo")
    assert "Latest solution: 5\nEvaluation: add again" in user(client, "cycle2.ceo")
    assert "recruit_number: 3, maximum_tokens: 4096" in user(client, "cycle2.ceo")
    recruiting = call(client, "cycle2.recruit").messages
    assert "Suggestions: add again" in recruiting[0].content
    assert not any("fingers" in message.content for message in recruiting)
    sages = [persona(seat) for seat in (1, 2, 3)]
    assert user(client, "r1.m1").startswith("<history>\n[CEO]: use fingers\n</history>")
    heard = f"[CEO]: use fingers\n[{sages[0]}]: 5"
    assert user(client, "r1.m3").startswith(
        f"<history>\n{heard}\n</history>\n\nYou are {sages[2]}."
    )
    assert user(client, "r1.answer").startswith(
        f"<history>\n{heard}\n[{sages[1]}]: no. [Disagree]\n[{sages[2]}]: no. [Disagree]\n</history>"
    )
    judging = call(client, "cycle1.evaluate").messages
    assert judging[0].content == (
        "Experts:\n" + "\n".join(sages) + "\n\nProblem: What is 2 + 2?\n\nSolution:\n5"
    )


@pytest.mark.anyio
async def test_critics_forget_the_turn_before_and_the_solver_does_not() -> None:
    client = says(ceo=ceo(2, direction="No advice yet."))
    await play(program("team(2, compat = mas_tts, rounds = 1)"), client)
    assert user(client, "r2.m2").count("[A sage of kind 1]") == 1
    assert user(client, "r2.m1").count("[A sage of kind 1]") == 2  # of the first turn


@pytest.mark.anyio
async def test_with_ten_the_solver_sees_reviews_five_to_nine_and_not_its_own_solution() -> None:
    client = says(ceo=ceo(10))
    await play(program("team(10, compat = mas_tts)"), client)
    shown = user(client, "r1.answer")
    assert [seat for seat in range(2, 11) if f"[{persona(seat)}]" in shown] == [6, 7, 8, 9, 10]
    assert f"[{persona(1)}]" not in shown


@pytest.mark.anyio
async def test_the_ceos_cap_is_that_of_solver_and_critics_alone() -> None:
    client = says(ceo=ceo(2, "2048"))
    await play(program("team(4, compat = mas_tts, cycles = 1)"), client)
    caps = {part(one.address): one.max_output for one in client.seen}
    assert caps == {
        "ceo": 32_000, "recruit": 8_192, "solver": 2_048, "critic": 2_048, "evaluate": 16_384
    }  # fmt: skip
    assert {one.sampling for one in client.seen} == {Sampling(temperature=0.7, top_p=0.95)}


# --- what fails ----------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_a_ceo_and_a_recruiter_that_cannot_be_read_are_asked_three_times() -> None:
    client = says(ceo="{}", recruit="a poet and a cook", critic="[Agree]")
    played = await play(program("team(4, compat = mas_tts, cycles = 1)"), client)
    assert walked(played)[:6] == ["cycle1.ceo"] * 3 + ["recruit"] * 3
    assert "You are Scientist.." in user(client, "r1.m2")
    assert call(client, "r1.m1").max_output == 32_000
    assert played.memory.outcomes()["main/team/cycle1.ceo"] == "failed"
    retried = [one for one in client.seen if part(one.address) == "recruit"]
    assert [one.sampling.temperature for one in retried] == [0.7, 0.69, 0.68]
    leads = [one for one in client.seen if part(one.address) == "ceo"]
    assert {one.sampling.temperature for one in leads} == {0.7}


@pytest.mark.anyio
async def test_a_critic_that_fails_agrees() -> None:
    """Field case 35, as published."""
    down = Fail(CallError("server", "down"))
    plain = replies(ceo=ceo(2))
    client = ScriptedClient(lambda c: down if part(c.address) == "critic" else plain(c))
    played = await play(program("team(2, compat = mas_tts, cycles = 1)"), client)
    assert walked(played) == ["cycle1.ceo", "recruit", "r1.m1", *["r1.m2"] * 3, "cycle1.evaluate"]


@pytest.mark.anyio
async def test_a_solver_that_fails_does_not_know_and_a_team_where_all_fail_has_failed() -> None:
    plain = replies(ceo=ceo(2))
    down = Fail(CallError("server", "down"))
    client = ScriptedClient(lambda c: down if "/r1.m1/" in c.address else plain(c))
    played = await play(program("team(2, compat = mas_tts, cycles = 1)"), client)
    assert f"[{persona(1)}]: I don't know" in user(client, "r1.m2")
    assert played.result.value is not None
    played = await play(program("team(2, compat = mas_tts)"), ScriptedClient(lambda c: down))
    assert isinstance(played.result.outcome, Failed)


# --- the language --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "setting",
    ["ceo = none", "members = [2 of agent]", "recruit = recruiter", "order = together", "sees = own",
     "until = consensus", "style = discuss", "evaluate = agent", "ceo_sets = [size]", "turns = 3"],
)  # fmt: skip
def test_anything_against_compat_is_a_mistake(setting: str) -> None:
    problems = check(
        Source("x.team", f"flow f = team(4, compat = mas_tts, {setting})\n"), MemoryLibrary()
    )
    assert [p.code for p in problems if p.severity == "error"] == ["E212"]


def test_one_is_no_team_of_the_published_kind() -> None:
    problems = check(Source("x.team", "flow f = team(1, compat = mas_tts)\n"), MemoryLibrary())
    assert [p.code for p in problems] == ["E112"]


def test_the_bounds_are_the_published_counts() -> None:
    flow = program("team(4, compat = mas_tts)").flow
    assert isinstance(flow, Team)
    size = bounds(flow)
    assert (size.least, size.most) == (5, 3 * 32)


@pytest.mark.parametrize("seed", range(4))
def test_every_promise_is_kept(seed: int) -> None:
    for plan in (None, schedule(seed)):
        ran = simulate(
            program("parallel(2) of team(3, compat = mas_tts) -> vote"), seed=seed, schedule=plan
        )
        assert not ran.violations, ran.told()
