"""What each form of a flow asks, in which order, and how it ends."""

from dataclasses import replace

import anyio
import pytest
import trio.testing

from podium.dsl.program import (
    AllOf,
    Branch,
    Budget,
    Compare,
    Fallback,
    Flag,
    ForEach,
    Lift,
    OutputField,
    Parallel,
    Plateau,
    Repeat,
    Route,
    Same,
    Task,
    Verifier,
)
from podium.engine.call import CallError, ModelCall
from podium.engine.event import Improved, NodeEnded, Scored
from podium.engine.interpret import Result, run
from podium.engine.outcome import Exhausted, Failed, Finished, Passed, Paused, Stopped
from podium.engine.testing import Fail, Memory, Played, Say, ScriptedClient, play, scripted_world
from podium.engine.testing.handmade import (
    HERE,
    TASK,
    agent,
    exact,
    parallel,
    program,
    reduce_by,
    role,
    then,
)
from podium.engine.value import Attempt, Verdict

REFINER = role("refiner", "Mend: ", "{attempt.answer}")
MERGER = role("merger", "Merge: ", "{attempts.answer}")
DEBATER = role("debater", "Yours: ", "{attempt.answer}", " all: ", "{attempts.answer}")


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    return ("trio", {"clock": trio.testing.MockClock(autojump_threshold=0)})


pytestmark = pytest.mark.anyio


def slowly(call: ModelCall) -> Say:
    """Replies end in the order of branches: the first number in the address is the delay."""
    digits = [int(part.split(".")[0]) for part in call.address.split("/") if part[0].isdigit()]
    return Say(call.address, delay=1.0 + sum(digits))


def sent(played: Played) -> list[str]:
    return sorted(played.calls)


async def answer_of(played: Played) -> str:
    assert played.result.value is not None
    return str(played.result.value.answer)


async def test_an_agent_asks_once_and_finishes() -> None:
    played = await play(program(agent()), ScriptedClient(["4"]))
    assert played.calls == ["main/agent/c1"]
    assert played.result.outcome == Finished()
    assert played.result.value == Attempt("4", "4", "main/agent")


async def test_steps_are_numbered_and_pass_their_value_on() -> None:
    flow = then(agent(), agent(REFINER))
    client = ScriptedClient(["draft", "better"])
    played = await play(program(flow), client)
    assert played.calls == ["main/1.agent/c1", "main/2.refiner/c1"]
    assert client.seen[1].messages[-1].content == "Mend: draft"
    assert played.result.value is not None
    assert played.result.value.before == Attempt("draft", "draft", "main/1.agent")


async def test_a_named_chain_of_steps_has_a_segment_of_its_own() -> None:
    flow = replace(then(agent()), label="council")
    played = await play(program(flow), ScriptedClient(["4"]))
    assert played.calls == ["main/council/1.agent/c1"]


async def test_copies_start_in_order_and_results_are_in_branch_order() -> None:
    flow = then(parallel(3, agent()), agent(MERGER))
    delays = {"1.agent": 3.0, "2.agent": 1.0, "3.agent": 2.0}

    def reply(call: ModelCall) -> Say:
        name = call.address.split("/")[2] if "parallel" in call.address else ""
        return Say(name or "merged", delays.get(name, 0.0))

    client = ScriptedClient(reply)
    await play(program(flow), client)
    assert client.most == 3
    assert client.seen[-1].messages[-1].content == (
        "Merge: [1] 1.agent\n\n[2] 2.agent\n\n[3] 3.agent"
    )


async def test_inflight_bounds_how_many_branches_run_at_once() -> None:
    flow = replace(parallel(7, agent()), inflight=2)
    client = ScriptedClient(slowly)
    played = await play(program(flow), client)
    assert client.most == 2
    first = [address.split("/")[2] for address in played.calls[:2]]
    assert sorted(first) == ["1.agent", "2.agent"]
    assert len(played.calls) == 7


async def test_a_mix_numbers_its_branches_through_and_nested_many_flatten() -> None:
    inner = parallel(2, agent())
    flow = Parallel("parallel", HERE, (Branch(2, agent(role("a"))), Branch(1, inner)))
    client = ScriptedClient(slowly)
    played = await play(program(then(flow, agent(MERGER))), client)
    assert sent(played) == [
        "main/1.parallel/1.a/c1",
        "main/1.parallel/2.a/c1",
        "main/1.parallel/3.parallel/1.agent/c1",
        "main/1.parallel/3.parallel/2.agent/c1",
        "main/2.merger/c1",
    ]
    assert client.seen[-1].messages[-1].content.count("main/1.parallel") == 4


async def test_a_lift_runs_once_for_each_attempt() -> None:
    flow = then(parallel(2, agent()), Lift("lift", HERE, agent(REFINER)), reduce_by("vote"))
    client = ScriptedClient(slowly)
    played = await play(program(flow), client)
    assert sent(played)[2:] == ["main/2.lift/1.refiner/c1", "main/2.lift/2.refiner/c1"]
    assert {call.messages[-1].content for call in client.seen[2:]} == {
        "Mend: main/1.parallel/1.agent/c1",
        "Mend: main/1.parallel/2.agent/c1",
    }


async def test_an_agent_that_sees_attempt_and_attempts_speaks_once_for_each() -> None:
    flow = then(parallel(2, agent()), agent(DEBATER))
    client = ScriptedClient(
        lambda call: Say("x" if "debater" in call.address else call.address[-10])
    )
    played = await play(program(flow), client)
    assert sent(played)[2:] == ["main/2.debater/1/c1", "main/2.debater/2/c1"]


async def test_fallback_takes_the_first_option_that_passes() -> None:
    flow = Fallback(
        "fallback", HERE, (agent(role("cheap")), agent(role("dear")), agent(role("no")))
    )
    task = replace(TASK, verify=exact("4"))
    played = await play(program(flow, task), ScriptedClient(["5", "4"]))
    assert played.calls == ["main/fallback/1.cheap/c1", "main/fallback/2.dear/c1"]
    assert played.result.outcome == Passed()


async def test_fallback_gives_the_best_where_none_is_accepted() -> None:
    accept = Compare("score", ">=", 0.9)
    flow = Fallback(
        "fallback", HERE, (agent(role("a")), agent(role("b")), agent(role("c"))), accept
    )
    words = Verifier("words", "contains", {"expected": ("one", "two", "six")})
    client = ScriptedClient(["one", "one two", "two"])
    played = await play(program(flow, Task("t", "Say.", words)), client)
    assert await answer_of(played) == "one two"
    assert played.result.outcome == Finished()


async def test_fallback_goes_on_after_a_failure() -> None:
    flow = Fallback("fallback", HERE, (agent(role("a")), agent(role("b"))))
    played = await play(program(flow), ScriptedClient([Fail(CallError("server", "down")), "fine"]))
    assert played.result.outcome == Finished()
    assert [failure.address for failure in played.result.failures] == ["main/fallback/1.a"]


async def test_repeat_stops_when_its_condition_holds_and_gives_the_best() -> None:
    flow = then(agent(), Repeat("repeat", HERE, 5, agent(REFINER), Flag("passed")))
    client = ScriptedClient(["1", "2", "4"])
    played = await play(program(flow, replace(TASK, verify=exact("4"))), client)
    assert played.calls == [
        "main/1.agent/c1",
        "main/2.repeat/1.refiner/c1",
        "main/2.repeat/2.refiner/c1",
    ]
    assert played.result.outcome == Passed()
    ends = [e for e in played.memory.events if isinstance(e, NodeEnded)]
    assert [e.reason for e in ends if e.address == "main/2.repeat"] == ["passed"]


async def test_repeat_asks_nothing_where_the_input_passes_already() -> None:
    flow = then(agent(), Repeat("repeat", HERE, 5, agent(REFINER), Flag("passed")))
    played = await play(program(flow, replace(TASK, verify=exact("4"))), ScriptedClient(["4"]))
    assert played.calls == ["main/1.agent/c1"]


async def test_repeat_stops_on_a_plateau() -> None:
    flow = then(agent(), Repeat("repeat", HERE, 9, agent(REFINER), Plateau(2)))
    words = Verifier("words", "contains", {"expected": ("a", "b")})
    played = await play(program(flow, Task("t", "s", words)), ScriptedClient(["a", "x", "a"]))
    assert len(played.calls) == 3
    assert played.result.value is not None
    assert played.result.value.address == "main/1.agent"  # ties go to the earliest
    assert played.result.outcome == Stopped("plateau")


@pytest.mark.parametrize("said", ["a", "b"])
async def test_a_plateau_among_others_is_a_stop_unless_the_answer_passes(said: str) -> None:
    until = AllOf((Compare("round", ">=", 1), Plateau(1)))
    flow = then(agent(), Repeat("repeat", HERE, 9, agent(REFINER), until))
    told = ScriptedClient(["a", said, said, said])
    played = await play(
        program(flow, replace(TASK, verify=exact("a" if said == "a" else "c"))), told
    )
    assert played.result.outcome == (Passed() if said == "a" else Stopped("plateau"))
    [why] = [
        e.reason
        for e in played.memory.events
        if isinstance(e, NodeEnded) and e.address.endswith("repeat")
    ]
    assert why == "round and plateau"


async def test_repeat_keeps_what_it_has_when_a_round_fails() -> None:
    flow = then(agent(), Repeat("repeat", HERE, 3, agent(REFINER)))
    client = ScriptedClient(["a", "b", Fail(CallError("server", "down"))])
    played = await play(program(flow), client)
    assert await answer_of(played) == "b"
    assert played.result.outcome == Finished()
    assert played.result.failures[0].address == "main/2.repeat/2.refiner"


async def test_repeat_over_a_population_keeps_its_parents_through_same() -> None:
    offspring = then(reduce_by("sample", 1), Lift("lift", HERE, agent(REFINER)))
    mix = Parallel("parallel", HERE, (Branch(1, Same("same", HERE)), Branch(2, offspring)))
    evolve = Repeat("repeat", HERE, 2, then(mix, reduce_by("top", 2)))
    words = Verifier("words", "contains", {"expected": ("a", "b", "c", "d")})
    client = ScriptedClient(["a", "b", "a b", "a", "a b c", "b"])
    flow = then(parallel(2, agent()), evolve, reduce_by("best"))
    played = await play(program(flow, Task("t", "s", words)), client)
    assert len(played.calls) == 6
    assert played.result.value is not None
    assert played.result.value.score == 0.75


async def test_route_follows_the_key_that_was_chosen() -> None:
    cases = (("easy", agent(role("small"))), ("hard", agent(role("large"))))
    flow = Route("route", HERE, role("judge"), cases)
    client = ScriptedClient(['I say {"choice": "hard"}', "done"])
    played = await play(program(flow), client)
    assert played.calls == ["main/route/by/c1", "main/route/2.large/c1"]
    assert client.seen[0].schema is not None


async def test_route_asks_again_once_and_then_fails() -> None:
    flow = Route("route", HERE, role("judge"), (("easy", agent()), ("hard", agent())))
    client = ScriptedClient(["well", "well"])
    played = await play(program(flow), client)
    assert played.calls == ["main/route/by/c1", "main/route/by/c2"]
    assert isinstance(played.result.outcome, Failed)
    assert played.result.outcome.kind == "reply"


async def test_for_each_makes_a_task_of_each_part() -> None:
    flow = then(ForEach("for_each", HERE, role("splitter"), 2, agent()), agent(MERGER))
    client = ScriptedClient(
        lambda call: Say(
            "1. first\n2. second\n3. third" if "by" in call.address else call.messages[-1].content
        )
    )
    played = await play(program(flow), client)
    assert sent(played) == [
        "main/1.for_each/1.agent/c1",
        "main/1.for_each/2.agent/c1",
        "main/1.for_each/by/c1",
        "main/2.merger/c1",
    ]
    assert client.seen[-1].messages[-1].content == "Merge: [1] first\n\n[2] second"


async def test_best_judges_each_content_once_and_ties_go_to_the_earliest() -> None:
    flow = then(parallel(4, agent()), reduce_by("best"))
    client = ScriptedClient({"1.agent/c1": "5", "2.agent/c1": "4", "3.agent/c1": "4", "": "5"})
    played = await play(program(flow, replace(TASK, verify=exact("4"))), client)
    assert played.result.value is not None
    assert played.result.value.address == "main/1.parallel/2.agent"
    assert sum("/v." in address for address in played.memory.fresh) == 2
    assert sum(isinstance(event, Scored) for event in played.memory.events) == 4
    assert sum(isinstance(event, Improved) for event in played.memory.events) in (1, 2)


def text_length(attempt: Attempt, task: Task) -> int:
    return len(attempt.text)


async def test_lower_is_better_where_the_task_says_so() -> None:
    length = Verifier("length", "python", {"ref": "length"})
    task = Task("t", "s", length, better="lower")
    flow = then(parallel(3, agent()), reduce_by("best"))
    client = ScriptedClient({"1.agent/c1": "ccc", "2.agent/c1": "a", "3.agent/c1": "bb"})
    played = await play(program(flow, task), client, bindings={"length": text_length})
    assert await answer_of(played) == "a"


async def test_a_pass_rule_says_passed_where_the_verifier_gives_a_number() -> None:
    length = Verifier("length", "python", {"ref": "length"})
    task = Task("t", "s", length, pass_rule=Compare("score", ">=", 2))
    for text, outcome in (("a", Finished()), ("aa", Passed())):
        played = await play(
            program(agent(), task),
            ScriptedClient([text]),
            bindings={"length": text_length},
        )
        assert played.result.outcome == outcome


async def test_top_and_sample_give_many() -> None:
    words = Verifier("words", "contains", {"expected": ("a", "b")})
    flow = then(parallel(3, agent()), reduce_by("top", 2), reduce_by("sample", 1), agent(MERGER))
    client = ScriptedClient({"1.agent/c1": "a", "2.agent/c1": "a b", "3.agent/c1": "x", "": "m"})
    await play(program(flow, Task("t", "s", words)), client)
    assert client.seen[-1].messages[-1].content in ("Merge: [1] a", "Merge: [1] a b")


async def test_many_at_the_end_is_voted_on_without_a_verifier() -> None:
    client = ScriptedClient({"1.agent/c1": "5", "2.agent/c1": " Four", "3.agent/c1": "four"})
    played = await play(program(parallel(3, agent())), client)
    assert played.result.value is not None
    assert played.result.value.address == "main/parallel/2.agent"


async def test_an_empty_reply_is_a_failure() -> None:
    played = await play(program(agent()), ScriptedClient([" \n"]))
    assert isinstance(played.result.outcome, Failed)
    assert played.result.outcome.kind == "reply"
    assert played.result.value is None


async def test_a_cut_reply_is_no_success_unless_it_passes() -> None:
    cut = ScriptedClient(lambda call: Say("4", finish="length"))
    played = await play(program(agent()), cut)
    assert isinstance(played.result.outcome, Failed)
    assert await answer_of(played) == "4"
    played = await play(program(agent(), replace(TASK, verify=exact("4"))), cut)
    assert played.result.outcome == Passed()
    played = await play(program(agent(), replace(TASK, verify=exact("5"))), cut)
    assert isinstance(played.result.outcome, Failed)


async def test_what_was_paid_for_is_kept_when_a_later_step_fails() -> None:
    flow = then(agent(), agent(REFINER))
    played = await play(program(flow), ScriptedClient(["4", Fail(CallError("server", "down"))]))
    assert isinstance(played.result.outcome, Failed)
    assert await answer_of(played) == "4"


async def test_a_verifier_that_fails_is_no_score_of_zero() -> None:
    def broken(attempt: Attempt, task: Task) -> Verdict:
        raise ValueError("no")

    task = Task("t", "s", Verifier("v", "python", {"ref": "broken"}))
    played = await play(program(agent(), task), ScriptedClient(["4"]), bindings={"broken": broken})
    assert isinstance(played.result.outcome, Failed)
    assert played.result.outcome.kind == "verifier"
    assert played.result.value is not None
    assert played.result.value.verdict is None


# --- failures of branches (field case 14, 13) -----------------------------------------------------


@pytest.mark.parametrize("passes", [None, 1, 2])
async def test_a_failed_branch_leaves_its_siblings_alone(passes: int | None) -> None:
    flow = parallel(3, agent(), passes=passes)
    client = ScriptedClient(
        {
            "1.agent/c1": "4",
            "2.agent/c1": Fail(CallError("server", "down")),
            "3.agent/c1": Say("4", 5),
        }
    )
    task = replace(TASK, verify=exact("4"))
    played = await play(program(flow, task), client)
    ends = played.memory.outcomes()
    assert ends["main/parallel/1.agent"] == ("finished" if passes is None else "passed")
    assert ends["main/parallel/2.agent"] == "failed"
    assert ends["main/parallel/3.agent"] == {None: "finished", 1: "stopped", 2: "passed"}[passes]
    assert played.result.outcome == Passed()


@pytest.mark.parametrize("budget", [Budget(), Budget(calls=1)])
async def test_a_run_without_as_many_attempts_as_it_needs_has_not_passed(budget: Budget) -> None:
    """What was paid for is kept, and passes; the run says all the same that it is too little."""
    down = Fail(CallError("server", "down"))
    flow = then(parallel(3, agent(), need=2), reduce_by("best"))
    whole = replace(program(flow, replace(TASK, verify=exact("4"))), budget=budget)
    played = await play(whole, ScriptedClient({"1.agent/c1": "4", "": down}))
    kept = played.result.value
    assert kept is not None
    assert kept.passed
    if budget.calls:
        assert isinstance(played.result.outcome, Exhausted)
    else:
        told = "down (1 of 3 branches gave an attempt; 2 must)"
        assert played.result.outcome == Failed("server", told)


async def test_too_few_attempts_fail_the_whole_with_the_lowest_branch() -> None:
    down = {f"{i}.agent/c1": Fail(CallError("server", f"branch {i}"), 1.0) for i in (2, 5)}
    flow = replace(parallel(7, agent()), need=6)
    for _ in range(20):
        played = await play(program(flow), ScriptedClient({**down, "": Say("4", 2)}))
        outcome = played.result.outcome
        assert isinstance(outcome, Failed)
        assert outcome.message.startswith("branch 2")
        assert [f.address for f in played.result.failures] == [
            "main/parallel/2.agent",
            "main/parallel/5.agent",
        ]


async def test_a_race_is_won_by_the_first_that_passes_and_losers_really_stop() -> None:
    flow = parallel(5, agent(), passes=1)
    client = ScriptedClient(
        {"3.agent/c1": Say("4", 1), "4.agent/c1": Say("7", 0.5), "": Say("4", 60)}
    )
    played = await play(program(flow, replace(TASK, verify=exact("4"))), client)
    assert sorted(client.ended) == ["main/parallel/3.agent/c1", "main/parallel/4.agent/c1"]
    ends = played.memory.outcomes()
    assert [ends[f"main/parallel/{i}.agent"] for i in range(1, 6)] == [
        "stopped",
        "stopped",
        "passed",
        "finished",
        "stopped",
    ]
    reasons = {
        e.reason
        for e in played.memory.events
        if isinstance(e, NodeEnded) and e.outcome == "stopped"
    }
    assert reasons == {"lost"}


async def test_queued_branches_never_start_once_a_race_is_won() -> None:
    flow = replace(parallel(50, agent(), passes=1), inflight=2)
    played = await play(program(flow, replace(TASK, verify=exact("4"))), ScriptedClient(["4"] * 2))
    assert len(played.calls) <= 2
    assert sum(outcome == "stopped" for outcome in played.memory.outcomes().values()) >= 48


async def test_a_solver_that_answers_in_prose_ends_with_an_outcome() -> None:
    coder = replace(role("coder"), output=(OutputField("patch", "text"),))
    flow = parallel(2, agent(coder), need=1)
    client = ScriptedClient(
        lambda call: Say("Certainly!" if "/1." in call.address else '{"patch": "p"}')
    )
    played = await play(program(flow), client)
    assert played.memory.outcomes()["main/parallel/1.coder"] == "failed"
    assert played.result.outcome == Finished()
    assert played.result.value is not None
    assert played.result.value.answer == {"patch": "p"}


async def test_score_attaches_verdicts_and_passes_them_on() -> None:
    told = role("told", "You had ", "{attempt.score}", ": ", "{attempt.answer}")
    flow = then(parallel(2, agent()), reduce_by("score"), Lift("lift", HERE, agent(told)))
    client = ScriptedClient({"1.parallel/1.agent/c1": "4", "1.parallel/2.agent/c1": "5", "": "x"})
    await play(program(flow, replace(TASK, verify=exact("4"))), client)
    asked = {call.messages[-1].content for call in client.seen if "lift" in call.address}
    assert asked == {"You had 1: 4", "You had 0: 5"}


async def test_score_of_a_lone_attempt_is_that_attempt() -> None:
    flow = then(agent(), reduce_by("score"))
    played = await play(program(flow, replace(TASK, verify=exact("4"))), ScriptedClient(["4"]))
    assert played.result.outcome == Passed()


async def test_another_verifier_chooses_and_leaves_the_verdict_to_the_tasks() -> None:
    taste = Verifier("taste", "contains", {"expected": ("b",)})
    flow = then(parallel(2, agent()), reduce_by("best", by=taste))
    task = Task("t", "s", Verifier("words", "contains", {"expected": ("a",)}))
    client = ScriptedClient({"1.agent/c1": "a", "2.agent/c1": "b"})
    played = await play(program(flow, task), client)
    assert await answer_of(played) == "b"
    assert played.result.outcome == Finished()


async def test_a_choice_without_any_verdict_fails_and_the_attempts_stay() -> None:
    def broken(attempt: Attempt, task: Task) -> float:
        raise ValueError("no")

    task = Task("t", "s", Verifier("v", "python", {"ref": "broken"}))
    flow = then(parallel(2, agent()), reduce_by("best"))
    played = await play(program(flow, task), ScriptedClient({"": "4"}), bindings={"broken": broken})
    assert isinstance(played.result.outcome, Failed)
    assert played.result.outcome.kind == "verifier"
    assert played.result.value is not None


async def test_repeat_gives_its_input_when_the_first_round_fails() -> None:
    flow = then(agent(), Repeat("repeat", HERE, 3, agent(REFINER)))
    played = await play(program(flow), ScriptedClient(["a", Fail(CallError("server", "down"))]))
    assert await answer_of(played) == "a"
    flow = then(Repeat("repeat", HERE, 3, agent()))
    played = await play(program(flow), ScriptedClient([Fail(CallError("server", "down"))]))
    assert isinstance(played.result.outcome, Failed)


async def test_what_was_spent_can_end_a_repeat_and_is_recorded() -> None:
    flow = then(agent(), Repeat("repeat", HERE, 9, agent(REFINER), Compare("spent_calls", ">=", 3)))
    played = await play(program(flow), ScriptedClient({"": "4"}))
    assert len(played.calls) == 3
    assert ("main/2.repeat", "spent.2") in played.memory.decisions


async def test_a_splitter_without_parts_fails() -> None:
    flow = ForEach("for_each", HERE, role("splitter"), 2, agent())
    played = await play(program(flow), ScriptedClient(['{"parts": []}']))
    assert isinstance(played.result.outcome, Failed)
    assert played.result.outcome.message == "no part was listed"
    played = await play(program(flow), ScriptedClient([Fail(CallError("server", "down"))]))
    assert isinstance(played.result.outcome, Failed)
    assert played.result.outcome.kind == "server"


async def test_a_mistake_of_ours_ends_the_nodes_and_comes_out() -> None:
    def broken(call: ModelCall) -> Say:
        raise ZeroDivisionError

    memory = Memory()
    with pytest.raises(ExceptionGroup) as error:
        await play(program(parallel(2, agent())), ScriptedClient(broken), memory=memory)
    assert error.group_contains(ZeroDivisionError)
    assert memory.outcomes()["main/parallel"] == "failed"


async def test_an_interruption_pauses_the_run_after_what_is_in_the_air() -> None:
    flow = then(parallel(2, agent()), agent(MERGER))
    client = ScriptedClient({"1.agent/c1": Say("a", 2), "2.agent/c1": Say("b", 9), "": "m"})
    memory = Memory()
    results: list[Result] = []
    async with scripted_world(program(flow), client, memory=memory) as world:

        async def walk() -> None:
            results.append(await run(world, TASK))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(walk)
            await anyio.sleep(5)
            world.interrupt("user")
    assert results[0].outcome == Paused("user")
    assert len(client.ended) == 2
    assert memory.outcomes()["main/2.merger"] == "cancelled"
    again = await play(program(flow), client, memory=memory.next_life())
    assert again.calls == ["main/2.merger/c1"]
    assert again.result.outcome == Finished()
