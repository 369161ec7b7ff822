"""Estimators, intervals and fits for scores of runs. Pure; the one part of the engine that needs NumPy and SciPy.

Scores are finite floats, higher is better (turn those of a task with `better = lower` round before), one for each
run. A run without a score is no score of zero: leave it out and say so. Chance is seeded by argument.
"""

from . import needs as needs
from .best import (
    all_pass_at,
    best_at,
    jackknife_se,
    leave_one_out,
    pass_at,
    quantile_at,
    selected_at,
    weights,
)
from .decide import Evidence, evidence, win_interval
from .intervals import (
    Interval,
    bootstrap_t,
    detectable,
    difference,
    fewest_pairs,
    pass_interval,
    runs_needed,
)
from .noise import (
    WithFlags,
    accepted_right,
    beta_pass,
    effective_k,
    icc,
    jeffreys_pass,
    noise_sd,
    true_rate,
    winner_true,
    with_flags,
)
from .normal import largest, largest_sd
from .spend import best_after, best_so_far, mean_curve
from .versus import Paired, WinCount, paired, prob_best, sign_test, unpaired_p
from .vote import majority_at

__all__ = [
    "Evidence",
    "Interval",
    "Paired",
    "WinCount",
    "WithFlags",
    "accepted_right",
    "all_pass_at",
    "best_after",
    "best_at",
    "best_so_far",
    "beta_pass",
    "bootstrap_t",
    "detectable",
    "difference",
    "effective_k",
    "evidence",
    "fewest_pairs",
    "icc",
    "jackknife_se",
    "jeffreys_pass",
    "largest",
    "largest_sd",
    "leave_one_out",
    "majority_at",
    "mean_curve",
    "noise_sd",
    "paired",
    "pass_at",
    "pass_interval",
    "prob_best",
    "quantile_at",
    "runs_needed",
    "selected_at",
    "sign_test",
    "true_rate",
    "unpaired_p",
    "weights",
    "win_interval",
    "winner_true",
    "with_flags",
]
