"""Teams side by side that read each other's best: who reads what, and that later lives read the same."""

import re
from dataclasses import replace

import pytest
import trio.testing

from podium.dsl.program import Parallel, Team
from podium.engine.call import ModelCall
from podium.engine.event import Said
from podium.engine.testing import Played, Say, ScriptedClient, play, simulate
from podium.engine.testing.arm import Stroke
from podium.engine.testing.handmade import TASK, exact, parallel, program, reduce_by, team, then


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    return ("trio", {"clock": trio.testing.MockClock(autojump_threshold=0)})


def islands(count: int, every: int, flow: Team) -> Parallel:
    return replace(parallel(count, flow), migrate=every)


def read(played: Played) -> list[tuple[str, int, str, str]]:
    """What was read: by which team, behind which round, whose, what."""
    said = [e for e in played.memory.events if isinstance(e, Said) and e.seat == 0]
    return [(e.address.split("/")[-1], e.round, e.role, e.text) for e in said]


def paced(*seconds: float) -> ScriptedClient:
    """Each team at its own pace; a reply names team and round."""

    def reply(call: ModelCall) -> Say:
        found = re.search(r"(\d+)\.team/r(\d+)", call.address)
        assert found is not None
        return Say(f"of {found[1]} in {found[2]}", seconds[int(found[1]) - 1])

    return ScriptedClient(reply)


@pytest.mark.anyio
async def test_every_second_round_a_team_reads_the_best_of_the_one_before_it() -> None:
    played = await play(program(islands(3, 2, team(1, rounds=5))), paced(1.0, 1.1, 1.2))
    assert sorted(read(played)) == [
        ("1.team", 4, "the best of team 3", "of 3 in 2"),
        ("2.team", 2, "the best of team 1", "of 1 in 2"),
        ("2.team", 4, "the best of team 1", "of 1 in 4"),
        ("3.team", 2, "the best of team 2", "of 2 in 2"),
        ("3.team", 4, "the best of team 2", "of 2 in 4"),
    ]


@pytest.mark.anyio
async def test_nobody_waits_for_a_slow_neighbour_and_the_first_reads_from_the_last() -> None:
    client = paced(1.0, 50.0, 7.0)
    played = await play(program(islands(3, 1, team(1, rounds=3))), client)
    assert not [entry for entry in read(played) if entry[0] == "3.team"]  # team 2 was not done
    assert ("2.team", 1, "the best of team 1", "of 1 in 3") in read(played)
    [call] = [c for c in client.seen if c.address.endswith("2.team/r2.m1/c1")]
    assert "[after round 1, the best of team 1]\nof 1 in 3" in call.messages[-1].content


@pytest.mark.anyio
async def test_what_is_posted_is_the_best_where_scores_are_visible() -> None:
    def reply(call: ModelCall) -> Say:
        first = "/1.team/r1" in call.address
        return Say("4" if first else "5", 1.0 if "/1.team" in call.address else 3.0)

    task = replace(TASK, verify=exact("4"))
    flow = islands(2, 1, team(1, rounds=3))
    played = await play(program(then(flow, reduce_by("best")), task), ScriptedClient(reply))
    assert ("2.team", 1, "the best of team 1, score 1", "4") in read(played)


@pytest.mark.parametrize("seed", range(3))
def test_a_replay_with_other_latencies_and_a_life_after_a_kill_read_the_same(seed: int) -> None:
    whole = program(then(islands(3, 1, team(2, rounds=3)), reduce_by("vote")))
    plain = simulate(whole, seed=seed)
    assert not plain.violations, plain.told()
    killed = simulate(whole, seed=seed, strokes=(Stroke("written", 20 + 25 * seed),))
    assert not killed.violations, killed.told()


@pytest.mark.long
def test_a_kill_at_every_record_reads_the_same() -> None:
    whole = program(then(islands(2, 1, team(1, rounds=3)), reduce_by("vote")))
    records = simulate(whole, seed=1).records[0]
    for at in range(records):
        killed = simulate(whole, seed=1, strokes=(Stroke("written", at),))
        assert not killed.violations, killed.told()
