"""Standard output for people: its console, and the tables that stand on it."""

import sys
from collections.abc import Collection, Sequence

from rich.console import Console
from rich.table import Table

from .terminal import Plain

GAP = 2
"""Blanks between two columns."""


def stdout_console(width: int = 200) -> Console:
    """Standard output; width columns wide where it is no terminal, so that nothing is cut there."""
    return Plain(width=None if sys.stdout.isatty() else width)


def columns(
    heads: Sequence[str], *, right: Collection[str] = (), wraps: Collection[str] = ()
) -> Table:
    """A table without lines or rows. right: columns of figures; wraps: those that give way where it is narrow."""
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0))
    for head in heads:
        table.add_column(
            head, justify="right" if head in right else "left", no_wrap=head not in wraps
        )
    return table
