"""What users need to test topologies without a model.

`programs`, `commented` and `garbled` are strategies and need Hypothesis, which is loaded when one is first named;
the rest does not.
"""

from typing import TYPE_CHECKING, Any

from .agents import Agents, Law, Speech, mark, power_law, scored
from .clock import in_virtual_time
from .faults import FAULTS, Fault, Placed, Schedule, name_of, placed, schedule, simpler
from .fleet import Server, SimulatedFleet
from .invariants import Violation, violations
from .scripted import Fail, Memory, Played, Say, ScriptedClient, play, scripted_world
from .simulate import Simulation, simulate

if TYPE_CHECKING:
    from .strategies import commented, garbled, programs

_STRATEGIES = ("commented", "garbled", "programs")


def __getattr__(name: str) -> Any:
    if name in _STRATEGIES:
        from importlib import import_module

        return getattr(import_module(f"{__name__}.strategies"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "FAULTS",
    "Agents",
    "Fail",
    "Fault",
    "Law",
    "Memory",
    "Placed",
    "Played",
    "Say",
    "Schedule",
    "ScriptedClient",
    "Server",
    "SimulatedFleet",
    "Simulation",
    "Speech",
    "Violation",
    "commented",
    "garbled",
    "in_virtual_time",
    "mark",
    "name_of",
    "placed",
    "play",
    "power_law",
    "programs",
    "schedule",
    "scored",
    "scripted_world",
    "simpler",
    "simulate",
    "violations",
]
