"""Texts with a name, and places in them.

Everything before printing speaks in offsets (code points from 0); lines and columns (from 1, columns in
code points) are worked out only where a person or a program reads them.
"""

from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

EXPRESSION = "<expression>"
"""The name of the text of `-e`."""


class Position(NamedTuple):
    """A line and a column, both from 1; columns count code points."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Span:
    """The half-open range [start, end) of offsets into one source."""

    start: int
    end: int


@dataclass(frozen=True)
class Source:
    """A text and the name people know it by: a path, `<expression>`, or `std.flows`."""

    name: str
    text: str = field(repr=False)

    @cached_property
    def _starts(self) -> list[int]:
        starts = [0]
        starts.extend(i + 1 for i, char in enumerate(self.text) if char == "\n")
        return starts

    def position(self, offset: int) -> Position:
        """Where offset lies; an offset past the end is the place just behind the last character."""
        offset = min(offset, len(self.text))
        line = bisect_right(self._starts, offset)
        return Position(line, offset - self._starts[line - 1] + 1)

    def line(self, number: int) -> str:
        """The text of line number (from 1), without its line break."""
        start = self._starts[number - 1]
        end = self._starts[number] - 1 if number < len(self._starts) else len(self.text)
        return self.text[start:end].rstrip("\r")


@dataclass(frozen=True, slots=True)
class Place:
    """A span in a named source: what a program refers back to."""

    source: Source
    span: Span
