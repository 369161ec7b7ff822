"""What the commands need of the world, as one value, so that a test can bring its own."""

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from ..run import Engine

Opened = AbstractAsyncContextManager["Engine"]
UNSAFE = "UNSAFE: --unsafe-sandbox: programs that are started, model-written ones too, may do all that you may."


@dataclass(frozen=True, slots=True)
class Doors:
    """engine: opens one on a store; None is the real one."""

    engine: Callable[[str], Opened] | None = None
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))

    def opened(self, store: str, *, unsafe_sandbox: bool = False) -> Opened:
        """The engine on store. unsafe_sandbox is said aloud, whatever else is quiet."""
        if unsafe_sandbox:
            click.echo(UNSAFE, err=True)
        if self.engine is not None:
            return self.engine(store)
        from ..run import Engine

        return Engine(
            store,
            environ=self.environ,
            tell=lambda text: click.echo(text, err=True),
            unsafe_sandbox=unsafe_sandbox,
        )
