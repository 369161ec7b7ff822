"""Runs checked programs: interpreter, ledger, journal, clients and shells.

    from podium.engine import Engine

Names are loaded when they are first used, so that `podium --version` loads none of them.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .life import Run
    from .result import RunResult
    from .run import Account, Engine, NotResumable

__all__ = ["Account", "Engine", "NotResumable", "Run", "RunResult"]
_HOME = {"Run": "life", "RunResult": "result"}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f".{_HOME.get(name, 'run')}", __name__), name)
