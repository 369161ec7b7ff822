"""Teams: who is asked what, in which order; what members see; how a team ends."""

import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

import pytest
import trio.testing

from podium.dsl.program import (
    AnyOf,
    Budget,
    Ceo,
    Flag,
    OutputField,
    Plateau,
    Role,
    Task,
    Team,
    Verifier,
)
from podium.engine.call import CallError, ModelCall
from podium.engine.event import NodeEnded, Said, Scored, Stamped
from podium.engine.outcome import Exhausted, Failed, Finished, Passed, Stopped
from podium.engine.testing import Fail, Played, Say, ScriptedClient, play
from podium.engine.testing.handmade import (
    TASK,
    agent,
    exact,
    parallel,
    program,
    role,
    team,
    template,
    then,
)
from podium.engine.transcript import transcript

SOLVER = role("solver", "Solve ", "{task.statement}")
CRITIC = role("critic", "Criticise.")
CEO = role("ceo", "Lead.")


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    return ("trio", {"clock": trio.testing.MockClock(autojump_threshold=0)})


pytestmark = pytest.mark.anyio


def rounds(played: Played) -> list[list[str]]:
    """The segments below the team, phase by phase: calls that were sent at once are sorted."""
    names = [address.split("/")[-2] for address in played.calls]
    groups: list[list[str]] = []
    for name in names:
        if groups and re.match(r"r\d+\.m", name) and re.match(r"r\d+\.m", groups[-1][-1]):
            groups[-1] = sorted([*groups[-1], name])
        else:
            groups.append([name])
    return groups


def prompt(client: ScriptedClient, segment: str) -> str:
    [call] = [call for call in client.seen if call.address.endswith(f"/{segment}/c1")]
    return call.messages[-1].content


def reason(played: Played) -> str:
    [end] = [
        e for e in played.memory.events if isinstance(e, NodeEnded) and e.address == "main/team"
    ]
    return end.reason


def echo(call: ModelCall) -> Say:
    return Say(f"from {call.address.split('/')[-2]}", 1.0)


async def test_together_all_speak_at_once_and_member_one_integrates() -> None:
    client = ScriptedClient(echo)
    played = await play(program(team(3)), client)
    assert rounds(played) == [
        ["r1.m1", "r1.m2", "r1.m3"],
        ["r1.answer"],
        ["r2.m1", "r2.m2", "r2.m3"],
        ["r2.answer"],
    ]
    assert played.result.outcome == Finished()
    assert played.result.value is not None
    assert played.result.value.answer == "from r2.answer"


async def test_in_turn_each_sees_those_before() -> None:
    client = ScriptedClient(echo)
    played = await play(program(replace(team(3), order="in_turn", rounds=1)), client)
    names = [address.split("/")[-2] for address in played.calls]
    assert names == ["r1.m1", "r1.m2", "r1.m3", "r1.answer"]
    assert "from r1.m2" not in prompt(client, "r1.m2")
    assert "from r1.m1" in prompt(client, "r1.m2")
    assert "from r1.m2" in prompt(client, "r1.m3")


async def test_solver_first_drafts_once_then_reviews_and_revisions_alternate() -> None:
    flow = replace(team((1, SOLVER), (2, CRITIC)), order="solver_first")
    played = await play(program(flow), ScriptedClient(echo))
    assert played.calls[0] == "main/team/r1.m1/c1"
    assert rounds(played)[-2:] == [["r2.m2", "r2.m3"], ["r2.m1"]] or rounds(played)[-1] == [
        "r2.m1",
        "r2.m2",
        "r2.m3",
    ]
    assert len(played.calls) == 7
    assert played.calls[3].endswith("r1.answer/c1")


async def test_solver_last_is_told_first_and_solves_then() -> None:
    flow = replace(team((1, SOLVER), (2, CRITIC)), order="solver_last", rounds=1)
    played = await play(program(flow), ScriptedClient(echo))
    names = [address.split("/")[-2] for address in played.calls]
    assert (sorted(names[:2]), names[2]) == (["r1.m2", "r1.m3"], "r1.m1")


async def test_a_relay_ends_with_its_last_runner() -> None:
    flow = replace(team(3), order="relay", rounds=1)
    played = await play(program(flow), ScriptedClient(echo))
    assert [address.split("/")[-2] for address in played.calls] == ["r1.m1", "r1.m2", "r1.m3"]
    assert played.result.value is not None
    assert played.result.value.answer == "from r1.m3"


async def test_a_lone_member_needs_no_integration() -> None:
    played = await play(program(team(1)), ScriptedClient(echo))
    assert [address.split("/")[-2] for address in played.calls] == ["r1.m1", "r2.m1"]


async def test_members_overlap_in_time() -> None:
    """Field case 38: nine critics with a delay of one second take one second."""
    flow = replace(team((1, SOLVER), (9, CRITIC)), order="solver_first", rounds=1)
    client = ScriptedClient(echo)
    await play(program(flow), client)
    assert client.most == 9


@pytest.mark.parametrize(("mode", "leads"), [("fixed", 1), ("adaptive", 3)])
async def test_a_ceo_is_asked_once_or_before_every_round(mode: str, leads: int) -> None:
    chief = Ceo("adaptive" if mode == "adaptive" else "fixed", CEO)
    played = await play(program(team(2, ceo=chief, rounds=3)), ScriptedClient(echo))
    assert sum("/r" in a and a.endswith(".ceo/c1") for a in played.calls) == leads
    assert played.calls[0] == "main/team/r1.ceo/c1"


async def test_the_ceo_sets_size_direction_effort_and_assignment() -> None:
    orders = '{"size": 2, "direction": "be brief", "effort": 100, "assignment": ["add", "check"]}'
    client = ScriptedClient({"r1.ceo/c1": orders, "": "4"})
    flow = team((1, SOLVER), (3, CRITIC), ceo=Ceo("fixed", CEO), rounds=1)
    await play(program(flow), client)
    members = [call for call in client.seen if ".ceo" not in call.address]
    assert {call.address.split("/")[-2] for call in members} == {"r1.m1", "r1.m2", "r1.answer"}
    assert {call.max_output for call in members} == {100}
    assert "Direction: be brief" in prompt(client, "r1.m2")
    assert "check" in prompt(client, "r1.m2")


async def test_what_the_ceo_may_not_set_stays() -> None:
    orders = '{"size": 1, "effort": 70, "stop": true, "direction": "left"}'
    client = ScriptedClient(lambda call: Say(orders if ".ceo" in call.address else "4"))
    flow = team(3, ceo=Ceo("adaptive", CEO, frozenset({"direction"})))
    played = await play(program(flow), client)
    assert len(played.calls) == 10
    assert client.seen[0].schema is not None
    assert list(client.seen[0].schema["properties"]) == ["direction"]  # type: ignore[arg-type, call-overload]  # JSON


async def test_a_ceo_cannot_raise_a_cap_above_the_roles_own() -> None:
    client = ScriptedClient({"r1.ceo/c1": '{"effort": "32,000"}', "": "4"})
    small = replace(SOLVER, max_output=128)
    await play(program(team((2, small), ceo=Ceo("fixed", CEO), rounds=1)), client)
    assert {call.max_output for call in client.seen[1:]} == {128}


async def test_the_ceos_stop_is_honoured() -> None:
    """Field case 32: a stop in turn 1 runs that turn's calls and no more."""
    flow = team(4, ceo=Ceo("adaptive", CEO), rounds=5)
    client = ScriptedClient(
        lambda call: Say("### Decision\nStop, do not continue" if ".ceo" in call.address else "4")
    )
    played = await play(program(flow), client)
    assert len(played.calls) == 6
    assert reason(played) == "ceo"
    assert played.result.outcome == Stopped("ceo")
    assert played.memory.outcomes()["main/team"] == "stopped"


async def test_a_team_whose_answer_passes_has_passed_though_its_ceo_stopped_it() -> None:
    flow = team(2, ceo=Ceo("adaptive", CEO), rounds=5)
    client = ScriptedClient(lambda c: Say('{"stop": true}' if ".ceo" in c.address else "4"))
    played = await play(program(flow, Task("t", "s", exact("4"))), client)
    assert (reason(played), played.result.outcome) == ("ceo", Passed())


async def test_those_around_a_stopped_team_take_its_answer_as_any_other() -> None:
    flow = then(parallel(2, team(2, ceo=Ceo("adaptive", CEO), rounds=5)), agent(CRITIC))
    client = ScriptedClient(lambda c: Say('{"stop": true}' if ".ceo" in c.address else "4"))
    played = await play(program(flow), client)
    ends = played.memory.outcomes()
    assert ends["main/1.parallel/2.team"] == "stopped"
    assert ends["main/1.parallel"] == ends["main"] == "finished"
    told = [Stamped(i, 0.0, event) for i, event in enumerate(played.memory.events)]
    said = [line for line in transcript(told) if "2.team/r1.m2" in str(line)]
    assert said, "what lies below a team that its CEO stopped is in the transcript"


async def test_a_later_stop_asks_nobody_else() -> None:
    def reply(call: ModelCall) -> Say:
        return Say('{"stop": true}' if "r3.ceo" in call.address else "4")

    played = await play(program(team(2, ceo=Ceo("adaptive", CEO), rounds=5)), ScriptedClient(reply))
    assert played.calls[-1] == "main/team/r3.ceo/c1"
    assert reason(played) == "ceo"


@pytest.mark.parametrize("text", ["well …", "", "{", '{"size": "many"}'])
async def test_an_unreadable_ceo_buys_nothing_and_stops_nothing(text: str) -> None:
    client = ScriptedClient(lambda call: Say(text if ".ceo" in call.address else "4"))
    played = await play(program(team(2, ceo=Ceo("adaptive", CEO))), client)
    assert len(played.calls) == 8
    assert {call.max_output for call in client.seen if ".ceo" not in call.address} == {2048}


async def test_a_ceo_that_fails_leaves_the_team_at_work() -> None:
    down = Fail(CallError("server", "down"))
    client = ScriptedClient(lambda call: down if ".ceo" in call.address else Say("4"))
    played = await play(program(team(2, ceo=Ceo("adaptive", CEO))), client)
    assert played.result.outcome == Finished()
    assert played.memory.outcomes()["main/team/r1.ceo"] == "failed"


async def test_the_ceo_is_told_what_is_left_and_that_is_recorded() -> None:
    flow = team(2, ceo=Ceo("adaptive", CEO))
    client = ScriptedClient(echo)
    whole = replace(program(flow), budget=Budget(calls=20, seconds=100))
    played = await play(whole, client)
    assert "20 calls" in prompt(client, "r1.ceo")
    assert "16 calls, 97 seconds" in prompt(client, "r2.ceo")
    assert ("main/team/r2", "left") in played.memory.decisions


async def test_a_recruiter_writes_the_personas_once() -> None:
    client = ScriptedClient({"recruit/c1": "Here:\n1. a chemist\n2) a poet\nthanks", "": "4"})
    flow = replace(team(3), recruit=role("recruiter", "Recruit for ", "{task.statement}"))
    played = await play(program(flow), client)
    assert played.calls[0] == "main/team/recruit/c1"
    assert sum("recruit" in address for address in played.calls) == 1
    assert "a chemist" in prompt(client, "r1.m1")
    assert "a poet" in prompt(client, "r2.m2")
    assert "poet" not in prompt(client, "r1.m3").split("You are")[1]


# --- what members see ----------------------------------------------------------------------------


async def test_prompts_share_their_beginning_and_their_group() -> None:
    client = ScriptedClient(echo)
    await play(program(team((1, SOLVER), (3, CRITIC))), client)
    second = [call for call in client.seen if "/r2.m" in call.address]
    assert {call.messages[0] for call in second} == {second[0].messages[0]}
    texts = [call.messages[1].content for call in second]
    common = texts[0][: next(i for i in range(len(texts[0])) if len({t[i] for t in texts}) > 1)]
    assert common.startswith(f"Task:\n{TASK.statement}")
    assert "from r1.answer" in common
    assert {call.group for call in client.seen} == {"main/team"}


async def test_a_board_only_grows_at_its_end() -> None:
    """What all read in one phase is the beginning of what they read in the next: a server has it already."""
    client = ScriptedClient(echo)
    await play(program(team((1, SOLVER), (2, CRITIC), rounds=3)), client)
    boards = [
        prompt(client, segment).partition("\n\nYou are #")[0].partition("\n\nYour last solution")[0]
        for segment in ("r1.answer", "r2.m2", "r2.answer", "r3.m2", "r3.answer")
    ]
    assert all(later.startswith(board) for board, later in pairwise(boards))
    assert len(set(boards)) == len(boards)


async def test_scores_are_seen_where_they_may_be() -> None:
    def reply(call: ModelCall) -> Say:
        return Say("4" if "answer" in call.address else "5")

    client = ScriptedClient(reply)
    played = await play(program(team(2), replace(TASK, verify=exact("4"))), client)
    assert "round 1: 1 passed" in prompt(client, "r2.m2")
    assert sum(isinstance(e, Scored) for e in played.memory.events) == 2
    assert played.result.outcome == Passed()


async def test_final_scores_are_seen_by_nobody_and_only_the_answer_is_scored() -> None:
    client = ScriptedClient(lambda call: Say("4" if "r1.answer" in call.address else "5"))
    flow = team(2, ceo=Ceo("adaptive", CEO))
    played = await play(program(flow, replace(TASK, verify=exact("4", use="final"))), client)
    assert not any("core" in call.messages[-1].content for call in client.seen)
    assert [e.address for e in played.memory.events if isinstance(e, Scored)] == [
        "main/team/r2.answer"
    ]
    assert played.result.outcome == Finished()


async def test_the_best_submission_is_the_answer_where_scores_are_seen() -> None:
    client = ScriptedClient(lambda call: Say("4" if "r1.answer" in call.address else "5"))
    played = await play(program(team(2), replace(TASK, verify=exact("4"))), client)
    assert played.result.value is not None
    assert played.result.value.address == "main/team/r1.answer"


@pytest.mark.parametrize("sees", ["own", "leaderboard"])
async def test_members_who_see_only_their_own_get_it_pinned(sees: str) -> None:
    client = ScriptedClient(echo)
    await play(program(replace(team(3), sees=sees)), client)
    text = prompt(client, "r2.m2")
    assert "from r1.m2" in text
    assert "from r1.m1" not in text


async def test_a_solver_keeps_its_own_solution_and_all_reviews_in_a_small_window() -> None:
    """Field case 34, with a window of 2,048 tokens and long reviews."""
    flow = replace(team((1, SOLVER), (9, CRITIC)), order="solver_first", rounds=3)
    long = "because of this and that and so on " * 40

    def reply(call: ModelCall) -> Say:
        segment = call.address.split("/")[-2]
        solver = segment.endswith((".m1", ".answer"))
        return Say(f"SOLUTION {segment}" if solver else f"{segment} says {long}")

    client = ScriptedClient(reply, context=2048)
    await play(program(flow), client)
    last = [call for call in client.seen if call.address.endswith(("r3.m1/c1", "r3.answer/c1"))][-1]
    text = last.messages[-1].content
    assert TASK.statement in text
    assert "SOLUTION r2.m1" in text
    assert all(f"r3.m{seat} says" in text for seat in range(2, 11))
    assert "[cut]" in text
    assert "older messages are left out" in text
    for call in client.seen:
        size = sum(len(message.content.encode()) for message in call.messages)
        assert size / 3 + call.max_output <= 2048


async def test_what_came_in_lies_on_the_board() -> None:
    from podium.engine.testing.handmade import agent, parallel, then

    flow = then(parallel(2, agent()), team(2))
    client = ScriptedClient(echo)
    await play(program(flow), client)
    text = prompt(client, "r1.m2")
    assert "[given attempt 1]\nfrom 1.agent" in text
    assert "[given attempt 2]\nfrom 2.agent" in text


async def test_the_board_is_in_seat_order_whatever_the_timing() -> None:
    delays: Mapping[str, float] = {"r1.m1": 9, "r1.m2": 1, "r1.m3": 5}
    client = ScriptedClient(lambda call: Say("x", delays.get(call.address.split("/")[-2], 1.0)))
    played = await play(program(team(3)), client)
    said = [e.seat for e in played.memory.events if isinstance(e, Said) and e.round == 1]
    assert said == [1, 2, 3, 1]


# --- ending --------------------------------------------------------------------------------------


def reviewed(until: Flag, critics: int = 2) -> Team:
    flow = team((1, SOLVER), (critics, CRITIC), rounds=4)
    return replace(flow, order="solver_first", until=until)


async def test_consensus_ends_the_team_without_another_revision() -> None:
    client = ScriptedClient({"r1.m2/c1": "Good.\nAGREE", "r1.m3/c1": "AGREE", "": "4"})
    played = await play(program(reviewed(Flag("consensus"))), client)
    assert len(played.calls) == 3
    assert reason(played) == "consensus"
    assert played.result.value is not None
    assert played.result.value.answer == "4"


@pytest.mark.parametrize(
    "bad",
    [
        Fail(CallError("server", "down")),
        Say(""),
        Say("I would not [Agree]"),
        Say("fine"),
        Say("AGREE\nDISAGREE"),
    ],
)
async def test_a_critic_that_fails_or_says_no_is_no_agreement(bad: Say | Fail) -> None:
    """Field case 35, one critic and all of them."""
    for alone in (True, False):

        def reply(call: ModelCall, alone: bool = alone) -> Say | Fail:
            if ".m3" in call.address and alone:
                return Say("AGREE")
            return bad if ".m2" in call.address or ".m3" in call.address else Say("4")

        played = await play(program(reviewed(Flag("consensus"))), ScriptedClient(reply))
        assert reason(played) == ""
        assert len(played.calls) == 1 + 4 * 3


async def test_accepted_needs_more_than_half() -> None:
    client = ScriptedClient({"r1.m2/c1": "AGREE", "r1.m3/c1": "agreed.", "": "4"})
    played = await play(program(reviewed(Flag("accepted"), critics=3)), client)
    assert reason(played) == "accepted"


async def test_equal_answers_are_consensus_among_solvers() -> None:
    flow = replace(team(3, rounds=4), until=Flag("consensus"))
    played = await play(program(flow), ScriptedClient({"": "Four"}))
    assert len(played.calls) == 4
    assert reason(played) == "consensus"


async def test_advisers_of_a_solver_that_speaks_last_can_agree() -> None:
    flow = replace(team((1, SOLVER), (2, CRITIC), rounds=4), order="solver_last")
    flow = replace(flow, until=Flag("consensus"))
    client = ScriptedClient(lambda call: Say("AGREE" if "r2.m" in call.address else call.address))
    played = await play(program(flow), client)
    assert reason(played) == "consensus"
    assert len(played.calls) == 6


async def test_a_ceo_that_shrinks_the_team_keeps_its_solver() -> None:
    flow = team((1, SOLVER), (3, CRITIC), ceo=Ceo("fixed", CEO), rounds=1)
    flow = replace(flow, order="solver_first")
    played = await play(program(flow), ScriptedClient({"r1.ceo/c1": '{"size": 1}', "": "4"}))
    assert [address.split("/")[-2] for address in played.calls] == ["r1.ceo", "r1.m1"]


async def test_a_plateau_ends_the_team() -> None:
    words = Verifier("w", "contains", {"expected": ("a", "b")})
    until = AnyOf((Flag("passed"), Plateau(2)))
    flow = replace(team(2, rounds=9), until=until)
    played = await play(program(flow, Task("t", "s", words)), ScriptedClient({"": "a"}))
    assert reason(played) == "plateau"
    assert played.calls[-1] == "main/team/r3.answer/c1"
    assert played.result.outcome == Stopped("plateau")


async def test_passed_ends_the_team_at_once() -> None:
    flow = replace(team(2, rounds=9), until=Flag("passed"))
    played = await play(program(flow, replace(TASK, verify=exact("4"))), ScriptedClient({"": "4"}))
    assert len(played.calls) == 3
    assert reason(played) == "passed"


async def test_a_member_that_fails_is_skipped() -> None:
    client = ScriptedClient({"r1.m2/c1": Fail(CallError("server", "down")), "": "4"})
    played = await play(program(team(3)), client)
    assert played.result.outcome == Finished()
    assert played.memory.outcomes()["main/team/r1.m2"] == "failed"
    assert "#2" not in prompt(client, "r1.answer").split("You are")[0]
    assert [failure.address for failure in played.result.failures] == ["main/team/r1.m2"]


async def test_a_failed_integration_falls_back_on_the_members() -> None:
    down = Fail(CallError("server", "down"))
    client = ScriptedClient({"r1.answer/c1": down, "r2.answer/c1": down, "": "4"})
    played = await play(program(team(2)), client)
    assert played.result.outcome == Finished()
    assert played.result.value is not None
    assert played.result.value.address == "main/team/r2.m1"


async def test_a_team_fails_only_if_nobody_gave_an_attempt() -> None:
    client = ScriptedClient(lambda call: Fail(CallError("server", call.address)))
    played = await play(program(team(2)), client)
    assert isinstance(played.result.outcome, Failed)
    assert "r1.m1" in played.result.outcome.message


async def test_a_team_without_money_gives_what_it_has() -> None:
    whole = replace(program(team(2, rounds=5)), budget=Budget(calls=4))
    played = await play(whole, ScriptedClient({"": "4"}))
    assert played.result.outcome == Exhausted("run", "calls")
    assert played.result.value is not None
    assert len(played.calls) == 4


async def test_structured_members_talk_in_their_shape() -> None:
    shaped = replace(SOLVER, output=(OutputField("answer", "text"), OutputField("agree", "bool")))
    flow = replace(team((2, shaped), rounds=3), until=Flag("consensus"))
    played = await play(program(flow), ScriptedClient({"": '{"answer": "4", "agree": true}'}))
    assert reason(played) == "consensus"
    assert played.result.value is not None
    assert played.result.value.answer == {"answer": "4", "agree": True}


async def test_a_seats_budget_lasts_over_its_rounds() -> None:
    poor: Role = replace(CRITIC, budget=Budget(calls=1))
    flow = team((1, SOLVER), (1, poor), rounds=3)
    played = await play(program(flow), ScriptedClient({"": "4"}))
    assert sum(".m2" in address for address in played.calls) == 1
    assert played.result.outcome == Finished()


# --- members that are all alike ------------------------------------------------------------------


async def test_members_of_one_role_are_asked_in_its_own_words_and_nothing_else() -> None:
    client = ScriptedClient(echo)
    writer = replace(role("writer"), system=template("You write."))
    await play(program(replace(team((3, writer)), rounds=1)), client)
    asked = {tuple((m.role, m.content) for m in call.messages) for call in client.seen[:3]}
    assert asked == {(("system", "You write."), ("user", "What is 2 + 2?"))}


async def test_after_the_board_the_task_comes_last_where_members_are_alike() -> None:
    client = ScriptedClient(echo)
    await play(program(replace(team(3), rounds=1)), client)
    text = prompt(client, "r1.answer")
    assert text.index("from r1.m3") < text.index("What is 2 + 2?")
    assert text.endswith("What is 2 + 2?")


async def test_members_that_are_alike_read_the_same_text_in_a_later_round_too() -> None:
    client = ScriptedClient(echo)
    await play(program(team(3)), client)
    texts = {prompt(client, f"r2.m{seat}") for seat in (1, 2, 3)}
    assert len(texts) == 1


async def test_a_closing_answer_cut_by_its_cap_gives_way_to_a_members_whole_one() -> None:
    def reply(call: ModelCall) -> Say:
        cut = "answer" in call.address
        return Say("half an ans" if cut else "whole", finish="length" if cut else "stop")

    played = await play(program(replace(team(3), rounds=1)), ScriptedClient(reply))
    assert played.result.outcome == Finished()
    assert played.result.value is not None
    assert played.result.value.answer == "whole"
