"""What users need to test topologies without a model.

Strategies of whole programs are in `podium.engine.testing.strategies`, which needs Hypothesis; this package does not.
"""

from .agents import Agents, Law, Speech, mark, power_law, scored
from .clock import in_virtual_time
from .faults import FAULTS, Fault, Placed, Schedule, name_of, placed, schedule, simpler
from .fleet import Server, SimulatedFleet
from .invariants import Violation, violations
from .scripted import Fail, Memory, Played, Say, ScriptedClient, play, scripted_world
from .simulate import Simulation, simulate

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
    "in_virtual_time",
    "mark",
    "name_of",
    "placed",
    "play",
    "power_law",
    "schedule",
    "scored",
    "scripted_world",
    "simpler",
    "simulate",
    "violations",
]
