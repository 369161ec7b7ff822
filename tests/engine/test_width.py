"""How many calls a replica bears: bounds that hold whatever happens, and where it settles."""

from hypothesis import given
from hypothesis import strategies as st

from podium.engine.clients.gauges import Load
from podium.engine.width import EPISODE_S, LASTS_S, Width

GAUGE = st.none() | st.floats(0, 200)
LOADS = st.builds(Load, running=GAUGE, waiting=GAUGE, cache=st.none() | st.floats(0, 1))


@given(
    st.integers(1, 64),
    st.lists(
        st.tuples(st.floats(0, 40), st.integers(0, 80), st.just("ok") | st.just("no") | LOADS)
    ),
)
def test_it_stays_between_one_and_its_ceiling_and_moves_by_one_up_and_by_half_down(
    ceiling: int, story: list[tuple[float, int, str | Load]]
) -> None:
    width, now = Width(ceiling, float(ceiling)), 0.0
    for gap, inflight, what in story:
        now, before = now + gap, width.limit
        match what:
            case "ok":
                width.answered(inflight, now)
                assert before <= width.limit <= before + 1
            case Load():
                width.told(what, inflight, now)
                assert width.limit <= before + 1
                assert width.limit >= min(before, max(1.0, min(before, inflight) / 2))
            case _:
                width.refused(now, 0.0)
                assert before / 2 <= width.limit <= before
        assert 1 <= width.limit <= ceiling


def test_refusals_halve_it_once_a_burst() -> None:
    width = Width(32, 32.0)
    for _ in range(32):
        width.refused(0.0, 20.0)
    assert width.limit == 16
    width.refused(EPISODE_S, 20.0)
    assert width.limit == 16
    width.refused(20.0, 20.0)
    assert width.limit == 8


def test_it_grows_by_about_one_for_as_many_answers_as_are_in_flight_while_it_is_used() -> None:
    width = Width(32, 8.0)
    for _ in range(8):
        width.answered(8, 0.0)
    assert 8.9 < width.limit <= 9
    for _ in range(100):
        width.answered(3, 0.0)
    assert width.limit <= 9


@given(st.integers(1, 60), st.integers(1, 64))
def test_with_a_queue_told_it_settles_at_what_the_server_runs(slots: int, ceiling: int) -> None:
    width, widths = Width(ceiling, float(ceiling)), list[int]()
    for second in range(200):
        inflight = int(width.limit)
        running = min(slots, inflight)
        width.told(Load(running, inflight - running), inflight, float(second))
        for _ in range(50):
            width.answered(inflight, second + 0.5)
        widths.append(int(width.limit))
    least = min(slots, ceiling)
    most = min(ceiling, slots + max(1.0, 0.1 * slots) + 2)
    assert all(least <= one <= most for one in widths[-20:])


def test_a_queue_of_one_moment_takes_nothing_back() -> None:
    width = Width(32, 32.0)
    width.told(Load(4.0, 28.0), 32, 0.0)
    assert width.limit == 32
    width.told(Load(32.0, 0.0), 32, 1.0)
    width.told(Load(8.0, 24.0), 32, 1.0 + LASTS_S)
    assert width.limit == 32


def test_a_full_cache_takes_some_back_and_a_tight_one_lets_nothing_more_in() -> None:
    width = Width(32, 16.0)
    width.told(Load(16.0, 0.0, cache=0.9), 16, 0.0)
    width.answered(16, 1.0)
    assert width.limit == 16
    width.told(Load(16.0, 0.0, cache=0.97), 16, 1.0)
    assert width.limit == 14
    width.told(Load(16.0, 0.0, cache=0.97), 16, 1.5)
    assert width.limit == 14
    width.told(Load(14.0, 0.0, cache=0.5), 14, 2.0)
    assert width.limit == 15


def test_what_a_server_said_long_ago_is_forgotten() -> None:
    width = Width(32, 8.0)
    width.told(Load(8.0, 0.0, cache=0.9), 8, 0.0)
    width.answered(8, LASTS_S - 0.1)
    assert width.limit == 8
    width.answered(8, LASTS_S)
    assert width.limit > 8
