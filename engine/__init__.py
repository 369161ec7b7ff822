"""Runs checked programs: interpreter, ledger, journal, clients and shells.

    from podium.engine import Engine

Beside it, what a run gives (`Run`, `RunResult`) and the errors that starting one raises: `CallError`,
`NotResumable`, `RunOwned`, `StoreError`, and `podium.dsl.problem.ProgramError`.

Names are loaded when they are first used, so that `podium --version` loads none of them.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .call import CallError
    from .database import StoreError
    from .life import Run
    from .lock import RunOwned
    from .result import RunResult
    from .run import Account, Engine, NotResumable

__all__ = [
    "Account",
    "CallError",
    "Engine",
    "NotResumable",
    "Run",
    "RunOwned",
    "RunResult",
    "StoreError",
]
_HOME = {
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
