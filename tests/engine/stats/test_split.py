"""The split of a budget: the reference's table of values, and choices from pilots of known law."""

import numpy as np
import pytest

from podium.engine.stats import largest
from podium.engine.stats.laws import Curves, fit
from podium.engine.stats.split import pilot_worth, splits, worth

SIZES = (1, 2, 4, 5, 10, 20, 25, 50, 100)
TEAMS = {m: 100 // m for m in SIZES}
AT = np.array(SIZES, dtype=float)
ONES = np.ones(len(SIZES))


@pytest.mark.parametrize(
    ("mean", "spread", "wanted"),
    [
        (1.5 * (1 - AT**-0.5), ONES, (2.508, 2.688, 2.715, 2.697, 2.564, 2.328, 2.229, 1.852, 1.350)),
        (2.5 * (1 - AT**-0.5), ONES, (2.508, 2.981, 3.215, 3.249, 3.248, 3.104, 3.029, 2.711, 2.250)),
        (3 * (1 - AT**-0.5), AT**-0.25, (2.508, 2.770, 2.890, 2.907, 2.917, 2.879, 2.860, 2.788, 2.700)),
        (0.6 * np.log(AT), AT**-0.2, (2.508, 2.374, 2.321, 2.319, 2.352, 2.436, 2.472, 2.605, 2.763)),
        (2.5 * (1 - np.exp(-AT / 6)), ONES, (2.891, 2.958, 3.182, 3.281, 3.567, 3.574, 3.491, 3.064, 2.5)),
        (2.5 * (1 - np.exp(-AT / 6)) - 0.01 * AT, ONES,
         (2.881, 2.938, 3.142, 3.231, 3.467, 3.374, 3.241, 2.564, 1.5)),
        (0 * AT, ONES, (2.508, 2.249, 1.965, 1.867, 1.539, 1.163, 1.029, 0.564, 0)),
    ],
)  # fmt: skip
def test_the_worth_of_each_split_of_a_hundred_agents(
    mean: np.ndarray, spread: np.ndarray, wanted: tuple[float, ...]
) -> None:
    found = worth(Curves(mean[None], spread[None]), [TEAMS[m] for m in SIZES])[0]
    assert found == pytest.approx(wanted, abs=1.2e-3)


def test_ten_teams_of_ten_beat_a_hundred_singles_by_the_inequality_of_the_paper() -> None:
    assert largest(100) - largest(10) == pytest.approx(0.969, abs=5e-4)
    for share, needed in ((0.8, 1.277), (0.6, 1.584), (0.4, 1.892)):
        assert largest(100) - share * largest(10) == pytest.approx(needed, abs=5e-4)


def pilot(gain: float, knee: float, runs: int, seed: int) -> dict[int, list[float]]:
    chance = np.random.default_rng(seed)
    return {
        m: (gain * (1 - np.exp(-(m - 1) / knee)) + 0.5 * chance.standard_normal(runs)).tolist()
        for m in (1, 3, 10, 30)
    }


def test_where_teams_gain_nothing_single_agents_are_named() -> None:
    assert splits(pilot(0, 5, 10, 1), TEAMS).best.size == 1


def test_where_large_teams_gain_much_they_are_named() -> None:
    assert splits(pilot(6, 25, 10, 2), TEAMS).best.size >= 50


def test_an_optimum_inside_is_found_and_said_to_be_flat() -> None:
    found = splits(pilot(1.2, 4, 30, 3), TEAMS)
    assert found.best.size in (4, 5, 10, 20)
    assert found.best.size in found.flat
    assert found.default.size == 10
    assert sum(cell.chance for cell in found.cells) == pytest.approx(1)
    assert all(cell.low < cell.score < cell.high for cell in found.cells)


def test_a_size_far_from_those_that_were_run_has_a_wide_interval() -> None:
    known = {m: scores for m, scores in pilot(1.2, 4, 20, 4).items() if m < 30}
    curves = fit(known, (3, 100))
    near, far = np.std(curves.mean, axis=0)
    assert far > 2 * near


def test_runs_that_do_not_differ_or_are_too_few_are_refused() -> None:
    with pytest.raises(ValueError, match="two runs of one size"):
        splits({1: [0.5], 3: [0.6]}, TEAMS)
    with pytest.raises(ValueError, match="buys no team"):
        splits(pilot(1, 5, 5, 1), {10: 0})


def test_a_pilot_as_large_as_the_budget_is_not_worth_it() -> None:
    assert pilot_worth(200, (1, 3, 10, 30), 5, trials=8).gain < 0
    found = pilot_worth(5_000, (1, 3, 10, 30), 5, trials=20)
    assert found.gain > 0
