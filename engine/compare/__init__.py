"""Arms compared at equal cost: run block by block, or taken from recorded runs; then told apart, or not."""

from .arms import Arm, arms_of, digest
from .driver import Block, Design, blocks, carry_out, ended
from .trial import Point, Trial, trial_of

__all__ = [
    "Arm",
    "Block",
    "Design",
    "Point",
    "Trial",
    "arms_of",
    "blocks",
    "carry_out",
    "digest",
    "ended",
    "trial_of",
]
