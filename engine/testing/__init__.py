"""What users need to test topologies without a model.

`programs`, `commented` and `garbled` are strategies and need Hypothesis, which is loaded when one is first named;
so is aiohttp with `dialect`, which gives servers that talk HTTP. The rest needs neither.
"""

from typing import TYPE_CHECKING, Any

from .agents import Agents, Law, Speech, mark, power_law, scored
from .arm import Stroke
from .clock import in_virtual_time
from .faults import FAULTS, Fault, Placed, Schedule, name_of, placed, schedule, simpler
from .fleet import Server, SimulatedFleet
from .invariants import Violation, violations
from .scripted import Fail, Memory, Played, Say, ScriptedClient, play, scripted_world
from .simulate import Simulation, simulate
from .strokes import struck

if TYPE_CHECKING:
    from .dialects import dialect
    from .quirks import DIALECTS, Says
    from .server import Answer, FakeServer
    from .strategies import commented, garbled, programs

_LATER = {
    **dict.fromkeys(("commented", "garbled", "programs"), "strategies"),
    **dict.fromkeys(("DIALECTS", "Says"), "quirks"),
    **dict.fromkeys(("Answer", "FakeServer"), "server"),
    "dialect": "dialects",
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        from importlib import import_module

        return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "DIALECTS",
    "FAULTS",
    "Agents",
    "Answer",
    "Fail",
    "FakeServer",
    "Fault",
    "Law",
    "Memory",
    "Placed",
    "Played",
    "Say",
    "Says",
    "Schedule",
    "ScriptedClient",
    "Server",
    "SimulatedFleet",
    "Simulation",
    "Speech",
    "Stroke",
    "Violation",
    "commented",
    "dialect",
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
    "struck",
    "violations",
]
