"""Generated programs: replayed with other latencies, and run on asyncio as on trio, they come to the same."""

from dataclasses import fields, is_dataclass
from typing import cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from podium.dsl.compile import Choice, compile_run
from podium.dsl.program import Budget, Fallback, Limited, Parallel, Program, Repeat, Team
from podium.engine.condition import needs_spent
from podium.engine.event import Ordered
from podium.engine.outcome import Cancelled, Paused
from podium.engine.testing import Server, Simulation, simulate
from podium.engine.testing.fleet import server_of
from podium.engine.testing.replay import replayed
from podium.engine.testing.strategies import Generated, programs

SERVERS = {"": Server(replicas=1, slots=4)}
ORDERS = st.sampled_from(
    [
        [],
        [(3.0, Ordered("pause"))],
        [(5.0, Ordered("pause")), (40.0, Ordered("pause"))],
        [(2.0, Ordered("stop"))],
        [(8.0, Ordered("stop"))],
        [(3.0, Ordered("topup", usd=100_000, tokens=20_000, calls=4, seconds=60.0))],
        [(2.0, Ordered("topup", calls=2)), (4.0, Ordered("pause")), (9.0, Ordered("stop"))],
    ]
)


def made_of(made: Generated) -> Program:
    program, _ = compile_run(made.source, made.library, Choice())
    return program


def window(program: Program, name: str) -> int:
    return program.models[name].context or server_of(SERVERS, name).context


def check_replays(
    made: Generated, orders: list[tuple[float, Ordered]], seed: int, times: int
) -> None:
    program = made_of(made)
    one = simulate(program, seed=seed, servers=SERVERS, orders=orders, replay=False)
    assert not one.violations, one.told()
    if one.result is None or isinstance(one.result.outcome, Paused | Cancelled):
        return
    for again in range(times):
        found = replayed(
            program, one.events, seed=seed + 1 + again, window=lambda name: window(program, name)
        )
        assert not found, f"{found}\n{orders}"


def is_orderless(part: object) -> bool:
    """Whether no race, team at work, budget or condition on what was spent is in it: nothing depends on who comes
    first."""
    match part:
        case Parallel(passes=passes) if passes is not None:
            return False
        case Budget() if part != Budget():
            return False
        case Limited() | Team(style="work"):
            return False
        case Repeat(until=condition) | Fallback(accept=condition) | Team(until=condition):
            if condition is not None and needs_spent(condition):
                return False
        case _:
            pass
    if isinstance(part, tuple):
        return all(is_orderless(one) for one in cast(tuple[object, ...], part))
    if is_dataclass(part):
        return all(is_orderless(getattr(part, one.name)) for one in fields(part))
    return True


def check_backends(made: Generated, seed: int) -> bool:
    """Run made on both; whether its order could not matter, so that the transcripts were compared."""
    program = made_of(made)

    def on(one: Simulation) -> Simulation:
        assert not one.violations, one.told()
        return one

    trio = on(simulate(program, seed=seed, servers=SERVERS))
    asyncio = on(simulate(program, seed=seed, servers=SERVERS, backend="asyncio"))
    if not is_orderless(program.flow) or program.budget != Budget() or program.by:
        return False
    assert trio.transcript == asyncio.transcript
    return True


def sample(count: int) -> settings:
    return settings(
        max_examples=count,
        deadline=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.too_slow],
    )


@pytest.mark.slow
@sample(25)
@given(made=programs(), orders=ORDERS, seed=st.integers(0, 99))
def test_a_replay_with_other_latencies_comes_to_the_same(
    made: Generated, orders: list[tuple[float, Ordered]], seed: int
) -> None:
    check_replays(made, orders, seed, 2)


@pytest.mark.slow
def test_asyncio_and_trio_come_to_the_same() -> None:
    compared: list[bool] = []

    @sample(30)
    @given(made=programs(budgets=False), seed=st.integers(0, 99))
    def each(made: Generated, seed: int) -> None:
        compared.append(check_backends(made, seed))

    each()
    assert compared.count(True) > 10


@pytest.mark.long
@sample(600)
@given(made=programs(), orders=ORDERS, seed=st.integers(0, 99))
def test_every_replay_comes_to_the_same(
    made: Generated, orders: list[tuple[float, Ordered]], seed: int
) -> None:
    check_replays(made, orders, seed, 4)


@pytest.mark.long
@sample(400)
@given(made=programs(), seed=st.integers(0, 99))
def test_every_program_comes_to_the_same_on_asyncio_and_trio(made: Generated, seed: int) -> None:
    check_backends(made, seed)
