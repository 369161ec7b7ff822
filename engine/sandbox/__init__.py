"""Runs programs that models wrote, or that read what models wrote, within limits and away from everything else."""

from .command import (
    BOX,
    Command,
    Ended,
    Limits,
    Output,
    Ran,
    Sandbox,
    SandboxFailed,
    SandboxMissing,
)
from .finding import find

__all__ = [
    "BOX",
    "Command",
    "Ended",
    "Limits",
    "Output",
    "Ran",
    "Sandbox",
    "SandboxFailed",
    "SandboxMissing",
    "find",
]
