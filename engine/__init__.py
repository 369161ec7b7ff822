"""Runs checked programs: interpreter, ledger, journal, clients and shells.

    from podium.engine import Engine

Beside it, what a run gives (`Run`, `RunResult`); what happens in it, `Stamped` with an `Event`, one of the classes
from `AccountOpened` to `Unflagged`; and the errors that starting one raises: `CallError`, `NotResumable`,
`RunOwned`, `StoreError`, and `podium.dsl.problem.ProgramError`.

Names are loaded when they are first used, so that `podium --version` loads none of them.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .call import CallError
    from .database import StoreError
    from .event import (
        AccountOpened,
        CallAnswered,
        CallFailed,
        CallIntended,
        CallWaits,
        Decided,
        Event,
        Improved,
        Measured,
        NodeEnded,
        NodeStarted,
        Ordered,
        Rented,
        RunEnded,
        RunStarted,
        Said,
        Scored,
        Stamped,
        TaskEnded,
        Unflagged,
    )
    from .life import Run
    from .lock import RunOwned
    from .result import RunResult
    from .run import Account, Engine, NotResumable

__all__ = [
    "Account",
    "AccountOpened",
    "CallAnswered",
    "CallError",
    "CallFailed",
    "CallIntended",
    "CallWaits",
    "Decided",
    "Engine",
    "Event",
    "Improved",
    "Measured",
    "NodeEnded",
    "NodeStarted",
    "NotResumable",
    "Ordered",
    "Rented",
    "Run",
    "RunEnded",
    "RunOwned",
    "RunResult",
    "RunStarted",
    "Said",
    "Scored",
    "Stamped",
    "StoreError",
    "TaskEnded",
    "Unflagged",
]
_EVENTS = """
    AccountOpened CallAnswered CallFailed CallIntended CallWaits Decided Event Improved Measured NodeEnded
    NodeStarted Ordered Rented RunEnded RunStarted Said Scored Stamped TaskEnded Unflagged
"""
_HOME = {
    **dict.fromkeys(_EVENTS.split(), "event"),
    "CallError": "call",
    "Run": "life",
    "RunOwned": "lock",
    "RunResult": "result",
    "StoreError": "database",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f".{_HOME.get(name, 'run')}", __name__), name)
