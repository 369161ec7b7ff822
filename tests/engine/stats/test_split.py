"""The split of a budget: the reference's table of values, and choices from pilots of known law."""

import numpy as np
import pytest

from podium.engine.ranges import Range
from podium.engine.stats import largest, pass_at
from podium.engine.stats.bounded import best_of_teams
from podium.engine.stats.laws import Curves, fit
from podium.engine.stats.split import Scores, default_size, pilot_worth, splits, splits_of, worth

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
    with pytest.raises(ValueError, match="scores that differ"):
        splits({1: [0.3, 0.3, 0.3], 3: [0.1] * 7}, TEAMS)
    with pytest.raises(ValueError, match="buys no team"):
        splits(pilot(1, 5, 5, 1), {10: 0})


def test_a_pilot_as_large_as_the_budget_is_not_worth_it() -> None:
    assert pilot_worth(200, (1, 3, 10, 30), 5, trials=8).gain < 0
    found = pilot_worth(5_000, (1, 3, 10, 30), 5, trials=20)
    assert found.gain > 0


def test_no_score_above_the_possible_maximum_is_foretold() -> None:
    near_top = {m: [0.80, 0.86, 0.92, 0.98, 0.95][: 5 - m // 10] for m in (1, 3, 10)}
    free = splits(near_top, TEAMS, draws=200)
    bounded = splits(near_top, TEAMS, within=Range(0, 1), draws=200)
    assert max(cell.high for cell in free.cells) > 1
    assert all(0 <= cell.low <= cell.score <= cell.high <= 1 for cell in bounded.cells)
    # Where the end is far away it says nothing.
    wide = splits(near_top, TEAMS, within=Range(-9, 9), draws=200)
    assert wide.best.score == pytest.approx(free.best.score, abs=0.03)


def test_the_best_of_beta_scores_is_that_of_draws() -> None:
    a, b = 2.0, 5.0
    mean, spread = a / (a + b), (a * b / (a + b) ** 2 / (a + b + 1)) ** 0.5
    drawn = np.random.default_rng(1).beta(a, b, (100_000, 10)).max(axis=1).mean()
    found = best_of_teams(np.array([[mean]]), np.array([[spread]]), [10], Range(0, 1))
    assert found[0, 0] == pytest.approx(drawn, abs=2e-3)


def test_rates_are_foretold_as_passes_of_one_of_k() -> None:
    found = best_of_teams(np.array([[0.15]]), np.array([[0.3]]), [5], Range(0, 1), rates=True)
    assert found[0, 0] == pytest.approx(1 - 0.85**5)
    assert abs(found[0, 0] - pass_at(15, 100, 5)) < 0.02
    assert Scores({1: [0, 1, 0], 3: [1, 1]}, Range(0, 1)).are_rates
    assert not Scores({1: [0, 1, 0.5]}, Range(0, 1)).are_rates


def many(tasks: int, runs: int, seed: int) -> list[Scores]:
    """Tasks of other levels, the gain of teams alike."""
    chance = np.random.default_rng(seed)
    levels = chance.normal(0, 4, tasks)
    return [
        Scores(
            {
                m: (level + 2 * (1 - 1 / m) + chance.standard_normal(runs)).tolist()
                for m in (1, 3, 10, 30)
            }
        )
        for level in levels
    ]


def test_of_several_tasks_each_leans_on_the_others() -> None:
    tasks = many(8, 3, 5)
    whole, *each = splits_of(tasks, TEAMS, draws=150)
    alone = [splits(task.groups, TEAMS, draws=150) for task in tasks]
    true = {m: 2 * (1 - 1 / m) + largest(TEAMS[m]) for m in SIZES}
    assert true[whole.best.size] > max(true.values()) - 0.15

    def regret(found: list[int]) -> float:
        return max(true.values()) - float(np.mean([true[size] for size in found]))

    assert regret([one.best.size for one in each]) < regret([one.best.size for one in alone])
    width = whole.best.high - whole.best.low
    assert width < np.mean([one.best.high - one.best.low for one in each])


def test_tasks_that_differ_in_what_teams_gain_keep_their_own_splits() -> None:
    chance = np.random.default_rng(6)
    tasks = [
        Scores(
            {m: (gain * np.log(m) + chance.standard_normal(20)).tolist() for m in (1, 3, 10, 30)}
        )
        for gain in (2.0, 0.0, 2.0, 0.0)
    ]
    _, *each = splits_of(tasks, TEAMS, draws=150)
    sizes = [one.best.size for one in each]
    assert min(sizes[0], sizes[2]) >= 20
    assert max(sizes[1], sizes[3]) <= 2


def test_the_default_has_as_many_teams_as_members_whatever_talking_costs() -> None:
    sizes = (1, 2, 4, 8, 16, 32)
    assert default_size(sizes, {m: 256 // m for m in sizes}) == 16
    # A lone agent is asked once, and each member of a team in two rounds, where it reads what all others said.
    assert default_size(sizes, {m: 4_096 // (1 if m == 1 else 2 * m * m) for m in sizes}) == 16
    assert default_size(sizes, {m: 10_000 // (1 if m == 1 else 28 * m) for m in sizes}) == 16
