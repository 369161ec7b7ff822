"""Every form of a flow, struck at its steps and records: cancelled, killed, killed again, and taken up.

A few places of each are struck every day, all of them in the long tests.
"""

import random
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from podium.dsl.compile import Choice, compile_run
from podium.dsl.library import MemoryLibrary
from podium.dsl.program import Program
from podium.dsl.source import Source
from podium.engine.database import write
from podium.engine.event import CallAnswered, CallIntended, Decided, Ordered, RunStarted
from podium.engine.outcome import Paused
from podium.engine.testing import Server, Simulation, simulate
from podium.engine.testing.arm import How, Stroke
from podium.engine.testing.bill import overcharged, paid_once
from podium.engine.testing.clock import Backend
from podium.engine.testing.disk import Killed, Moment, simulated_disk
from podium.engine.testing.strategies import Generated, programs
from podium.engine.testing.strokes import struck

FILE = """
edition 2026

from std.roles import solver, splitter, merger, debater

model fast {{
  endpoint = openai("fast", base_url = "http://127.0.0.1:8000/v1")
  price    = none
}}

role kind_of {{
  prompt = "{{{{ task.statement }}}} Say short or long."
  output = {{ key: "short" | "long" }}
}}

role worker {{
  prompt  = "{{{{ task.statement }}}}"
  tools   = [notes, submit(2), python("tools:look")]
  turns   = 4
  context = drop_oldest
}}

role noter {{
  prompt  = "{{{{ task.statement }}}} {{{{ team.digest }}}}"
  tools   = [notes, read, python("tools:look")]
  turns   = 3
}}

task sum {{
  statement = "What is 2 + 2?"
  verify    = exact("4")
  {task}
}}

run main {{
  task = sum
  flow = {flow}
  {run}
}}
"""


class Form(NamedTuple):
    """flow; further fields of the run and of the task; same: whether no order can change what it comes to."""

    flow: str
    run: str = ""
    task: str = ""
    same: bool = False


TEAMS = "parallel(4) of team(2) -> best"
PARTED = "for_each(by = splitter, max = 3) of solver -> merger"
SMALL = {
    "parallel": Form("parallel(3) of agent -> merger", same=True),
    "in flight": Form("parallel(4, inflight = 2) of agent -> vote", same=True),
    "first pass": Form("parallel(4, stop = first_pass) of agent -> best"),
    "quota": Form("parallel(5, stop = pass(2)) of agent -> best"),
    "nested race": Form("parallel(2) of (parallel(3, stop = first_pass) of agent -> best) -> best"),
    "fallback": Form("fallback of [agent, team(2), parallel(2) of agent -> best]", same=True),
    "route": Form("route(by = kind_of) of { short = agent, long = team(2) }", same=True),
    "for each": Form(PARTED, same=True),
    "repeat": Form(
        "parallel(3) of solver -> repeat(2, until = passed) of debater -> merger", same=True
    ),
    "team": Form("team(3, ceo = adaptive, recruit = recruiter)", same=True),
    "limited": Form("parallel(3) of team(2, budget = [3 calls]) -> best"),
    "capped": Form(TEAMS, "budget = [9 calls, 40k tokens]"),
    "shrink": Form(TEAMS, "budget = [7 calls]\n  on_exhausted = shrink"),
    "fail": Form(TEAMS, "budget = [7 calls]\n  on_exhausted = fail"),
    "even": Form("parallel(3, split = even) of team(2) -> best", "budget = [9 calls]"),
    "timed": Form(TEAMS, "budget = [12s]"),
    # A minute after the run starts, where the machine keeps UTC.
    "by": Form("parallel(2) of team(2) -> best", "by = 00:01"),
    "tools": Form("parallel(2) of worker -> merger", same=True),
    "team with tools": Form("team(2, members = [2 of noter])", same=True),
    "baseline": Form("parallel(2) of agent -> best", task='baseline = "5"', same=True),
}
ORDERS = {
    "pause": [(4.0, Ordered("pause")), (30.0, Ordered("pause"))],
    "stop": [(9.0, Ordered("stop"))],
    "topup": [(4.0, Ordered("topup", calls=4))],
    "topup and pause": [(4.0, Ordered("topup", calls=4)), (6.0, Ordered("pause"))],
}
PAUSING = Form(TEAMS, "budget = [7 calls, 5m]\n  on_exhausted = pause")
SERVERS = {"": Server(replicas=1, slots=4)}
KILLS: tuple[How, ...] = ("before", "torn", "written")


def compiled(form: Form) -> Program:
    text = FILE.format(flow=form.flow, run=form.run, task=form.task)
    choice = Choice(allow=lambda kind, _: kind == "python")
    program, _ = compile_run(Source("main.team", text), MemoryLibrary(), choice)
    return program


def simulated(
    form: Form,
    strokes: Sequence[Stroke],
    *,
    orders: Sequence[tuple[float, Ordered]] = (),
    backend: Backend = "trio",
) -> Simulation:
    return simulate(
        compiled(form), servers=SERVERS, strokes=strokes, orders=orders, backend=backend
    )


def check(
    form: Form,
    how: How,
    *,
    every: int,
    first: int = 0,
    then: Sequence[Stroke] = (),
    orders: Sequence[tuple[float, Ordered]] = (),
    backend: Backend = "trio",
) -> None:
    """No stroke of this kind breaks a promise; some of them ended a life."""
    sim = partial(simulated, form, orders=orders, backend=backend)
    lives: list[int] = []
    for one in struck(sim, how, every=every, first=first, then=then, same=form.same):
        assert not one.violations, one.told()
        lives.append(one.lives)
    assert max(lives) > 1


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_a_run_cancelled_at_an_await_keeps_its_promises(name: str) -> None:
    check(SMALL[name], "cancel", every=32, first=5)


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_a_run_killed_at_a_record_keeps_its_promises(name: str) -> None:
    check(SMALL[name], "torn", every=24, first=1)
    check(SMALL[name], "written", every=24, first=4)


@pytest.mark.parametrize("name", ["first pass", "team", "capped"])
def test_a_run_killed_again_while_it_resumes_keeps_its_promises(name: str) -> None:
    check(SMALL[name], "written", every=12, first=5, then=(Stroke("torn", 4), Stroke("cancel", 20)))


@pytest.mark.parametrize("name", ["nested race", "team", "capped", "timed"])
def test_a_task_of_asyncio_cancelled_at_an_await_keeps_its_promises(name: str) -> None:
    check(SMALL[name], "cancel", every=29, first=5, backend="asyncio")


@pytest.mark.parametrize("order", ORDERS)
def test_a_run_under_orders_keeps_its_promises(order: str) -> None:
    check(PAUSING, "cancel", every=41, first=4, orders=ORDERS[order])
    check(PAUSING, "written", every=17, first=6, orders=ORDERS[order])


@pytest.mark.parametrize("backend", ["trio", "asyncio"])
def test_a_stroke_meets_the_life_it_is_meant_for(backend: Backend) -> None:
    strokes = (Stroke("cancel", 15), Stroke("torn", 3), Stroke("written", 5))
    simulation = simulated(SMALL["parallel"], strokes, backend=backend)
    assert simulation.lives == 4
    starts = [s for s in simulation.events if isinstance(s.event, RunStarted)]
    assert len(starts) in (3, 4)  # what is torn may be the start of a life


def test_an_order_that_meets_a_dead_run_is_taken_by_its_next_life() -> None:
    more = [(25.0, Ordered("topup", calls=40))]
    simulation = simulated(PAUSING, (Stroke("written", 9),), orders=more)
    assert not simulation.violations, simulation.told()
    assert [s.event for s in simulation.events if isinstance(s.event, Ordered)]
    assert not isinstance(simulation.result and simulation.result.outcome, Paused)


def test_a_stop_that_took_effect_holds_in_the_next_life() -> None:
    stopped = partial(simulated, PAUSING, orders=ORDERS["stop"])
    whole = stopped(())
    assert whole.result is not None
    held: list[int] = []
    for at in range(whole.records[0] // 2, whole.records[0]):
        one = stopped((Stroke("written", at),))
        if one.lives == 1:  # its end was on disk
            continue
        assert one.result is not None
        starts = [i for i, s in enumerate(one.events) if isinstance(s.event, RunStarted)]
        before = [s.event for s in one.events[: starts[-1]]]
        if any(isinstance(event, Decided) and event.name[:7] == "stopped" for event in before):
            held.append(at)
            assert one.result.outcome == whole.result.outcome
            assert one.calls == whole.calls
    assert held


def test_a_call_that_is_sent_again_or_charged_twice_is_told() -> None:
    events = simulated(SMALL["parallel"], ()).events
    tokens = sum(s.event.spent.tokens for s in events if isinstance(s.event, CallAnswered))
    again = next(s for s in events if isinstance(s.event, CallIntended))
    assert not [*paid_once(events), *overcharged(events, tokens)]
    assert [one.promise for one in paid_once([*events, again])] == ["bill"]
    assert [one.promise for one in overcharged(events, tokens - 1)] == ["bill"]


@pytest.mark.parametrize(("moment", "kept"), [("before", 1), ("torn", 1), ("written", 2)])
def test_a_record_that_was_torn_leaves_nothing(moment: Moment, kept: int) -> None:
    disk = simulated_disk()
    disk.begin_life((1, moment))
    write(disk, [], [], [(b"a", b"first")], [])
    for _ in range(2):  # the second try comes from a process that is dead
        with pytest.raises(Killed):
            write(disk, [], [], [(b"b", b"second")], [])
    assert disk.execute("select count(*) from texts").fetchone() == (kept,)
    disk.close()


# --- generated programs --------------------------------------------------------------------------


def made_of(made: Generated) -> Program:
    program, _ = compile_run(made.source, made.library, Choice())
    return program


def tried(program: Program, chance: random.Random, backend: Backend, times: int) -> None:
    """Strike program in `times` places of each kind, some of them again while it resumes."""

    def sim(*strokes: Stroke) -> Simulation:
        one = simulate(program, servers=SERVERS, strokes=strokes, backend=backend)
        assert not one.violations, f"{strokes}\n{one.told()}"
        return one

    whole = sim()
    if not whole.records:
        return
    hows: tuple[How, ...] = ("cancel", "torn", "written")
    for how in hows:
        count = whole.steps[0] if how == "cancel" else whole.records[0]
        for at in chance.sample(range(count), min(count, times)):
            again = Stroke(chance.choice(hows), chance.randrange(whole.records[0]))
            sim(Stroke(how, at), *((again,) if chance.random() < 0.5 else ()))


def sample(count: int) -> settings:
    return settings(
        max_examples=count,
        deadline=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.too_slow],
    )


@pytest.mark.slow
@sample(12)
@given(made=programs(), seed=st.integers(0, 99))
def test_a_generated_program_struck_anywhere_keeps_its_promises(made: Generated, seed: int) -> None:
    tried(made_of(made), random.Random(seed), "trio", 1)


@pytest.mark.long
@pytest.mark.parametrize("backend", ["trio", "asyncio"])
def test_generated_programs_struck_anywhere_keep_their_promises(backend: Backend) -> None:
    @sample(80)
    @given(made=programs(), seed=st.integers(0, 99))
    def each(made: Generated, seed: int) -> None:
        tried(made_of(made), random.Random(seed), backend, 5)

    each()


# --- everywhere ----------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("backend", ["trio", "asyncio"])
@pytest.mark.parametrize("name", SMALL)
def test_a_run_cancelled_at_every_await_keeps_its_promises(name: str, backend: Backend) -> None:
    check(SMALL[name], "cancel", every=1, backend=backend)


@pytest.mark.long
@pytest.mark.parametrize("name", SMALL)
def test_a_run_killed_at_every_record_keeps_its_promises(name: str) -> None:
    for how in KILLS:
        check(SMALL[name], how, every=1)


@pytest.mark.long
@pytest.mark.parametrize("name", SMALL)
def test_a_run_killed_at_every_record_and_again_keeps_its_promises(name: str) -> None:
    for at in (0, 3, 7, 12):
        check(SMALL[name], "written", every=2, then=(Stroke("torn", at), Stroke("written", at)))


@pytest.mark.long
@pytest.mark.parametrize("order", ORDERS)
def test_a_run_under_orders_struck_everywhere_keeps_its_promises(order: str) -> None:
    for how in ("cancel", *KILLS):
        check(PAUSING, how, every=1, orders=ORDERS[order])
