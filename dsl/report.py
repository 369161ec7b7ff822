"""Problems for people and for programs: plain text, coloured text, JSON.

Control characters and marks of text direction in a program are shown by name and never reach a terminal.
"""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from .problem import Edit, Label, Problem, apply
from .source import Place, Position, Source, Span

_WIDEST = 160  # columns of a line that are shown; a longer one is cut around its caret
_MOST_EDITED = 6  # lines of an edit that are shown
_LONGEST = (
    600  # characters of a sentence that are shown; a program may have names as long as itself
)
_MORE = "\u2026"  # where something is cut off
_BEFORE = 60  # columns kept to the left of the caret of a line that is cut


@dataclass(frozen=True, slots=True)
class Style:
    """What opens each part of a coloured report; RESET closes it."""

    error: str = ""
    warning: str = ""
    note: str = ""
    strong: str = ""
    quiet: str = ""
    added: str = ""
    reset: str = ""


PLAIN = Style()
ANSI = Style(
    error="\x1b[1;31m",
    warning="\x1b[1;33m",
    note="\x1b[1;36m",
    strong="\x1b[1m",
    quiet="\x1b[34m",
    added="\x1b[32m",
    reset="\x1b[0m",
)


def plain(problems: Iterable[Problem]) -> str:
    """One block for each problem, a blank line between them; ends with a line break unless empty."""
    return _blocks(problems, PLAIN)


def coloured(problems: Iterable[Problem]) -> str:
    """The same with ANSI colours."""
    return _blocks(problems, ANSI)


def as_json(problems: Iterable[Problem]) -> dict[str, object]:
    """`{"schema": 1, "problems": […]}`; lines and columns from 1, columns in code points."""
    return {"schema": 1, "problems": [_json(problem) for problem in problems]}


# --- JSON ----------------------------------------------------------------------------------------


def _json(problem: Problem) -> dict[str, object]:
    source = problem.place.source
    return {
        "code": problem.code,
        "severity": problem.severity,
        "message": problem.message,
        "file": source.name,
        **_range(source, problem.place.span),
        "help": problem.help,
        "edits": [{**_range(source, edit.span), "new": edit.new} for edit in problem.edits],
    }


def _range(source: Source, span: Span) -> dict[str, object]:
    ends = {"start": source.position(span.start), "end": source.position(span.end)}
    return {name: {"line": at.line, "column": at.column} for name, at in ends.items()}


# --- text ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Mark:
    """A label under a part of a line."""

    position: Position
    width: int
    text: str
    first: bool


def _blocks(problems: Iterable[Problem], style: Style) -> str:
    blocks = ["\n".join(_block(problem, style)) + "\n" for problem in problems]
    return "\n".join(blocks)


def _block(problem: Problem, style: Style) -> Iterator[str]:
    source = problem.place.source
    here = source.position(problem.place.span.start)
    colour = getattr(style, problem.severity)
    head = f"{colour}{problem.severity}[{problem.code}]{style.reset}"
    yield f"{head}: {style.strong}{_sentence(problem.message)}{style.reset}"
    elsewhere = [label for label in problem.secondary if label.place.source != source]
    marks = list(_marks(problem))
    edited = _edited(source, problem.edits)
    margin = len(str(max([mark.position.line for mark in marks] + [n for n, _ in edited])))
    arrow = f"{style.quiet}{' ' * margin}-->{style.reset}"
    yield f"{arrow} {visible(source.name)}:{here.line}:{here.column}"
    yield f"{style.quiet}{' ' * margin} |{style.reset}"
    yield from _lines(source, marks, margin, style, colour)
    for label in elsewhere:
        yield from _elsewhere(label, margin, style)
    for note in problem.notes:
        yield f"{style.quiet}{' ' * margin} ={style.reset} note: {_sentence(note)}"
    if problem.help:
        yield f"{style.quiet}{' ' * margin} ={style.reset} help: {_sentence(problem.help)}"
    for number, line in edited:
        at = problem.edits[0].span.start if number == edited[0][0] else None
        column = source.position(at).column - 1 if at is not None else 0
        text = f"{number:>{margin}} + {_cut(line, column)[0]}".rstrip()
        yield f"{style.added}{text}{style.reset}"


def _marks(problem: Problem) -> Iterator[_Mark]:
    """The labels of the problem's own source, by line; its own place comes first on its line."""
    source = problem.place.source
    own = [label for label in problem.secondary if label.place.source == source]
    labels = [(problem.place, problem.label, True), *((lb.place, lb.text, False) for lb in own)]
    found = [_mark(place, text, first=first) for place, text, first in labels]
    yield from sorted(found, key=lambda m: (m.position.line, not m.first, m.position.column))


def _mark(place: Place, text: str, *, first: bool) -> _Mark:
    """A caret for each character up to the end of the line."""
    start = place.source.position(place.span.start)
    line = place.source.line(start.line)
    width = min(place.span.end - place.span.start, len(line) - start.column + 1)
    return _Mark(start, max(1, width), text, first)


def _lines(
    source: Source, marks: Sequence[_Mark], margin: int, style: Style, colour: str
) -> Iterator[str]:
    shown = (0, "")
    for mark in marks:
        number = mark.position.line
        line = source.line(number)
        text, column = _cut(line, mark.position.column - 1)
        if (number, text) != shown:
            if shown[0] and number > shown[0] + 1:
                yield f"{style.quiet}{'.' * margin} |{style.reset}"
            yield f"{style.quiet}{number:>{margin}} |{style.reset} {text}".rstrip()
            shown = number, text
        under = line[mark.position.column - 1 :][: min(mark.width, _WIDEST)]
        width = min(max(1, len(visible(under))), max(1, len(text) - column), _WIDEST)
        sign = "^" if mark.first else "-"
        paint = colour if mark.first else style.quiet
        pointer = f"{' ' * column}{paint}{sign * width} {visible(mark.text)}".rstrip()
        yield f"{style.quiet}{' ' * margin} |{style.reset} {pointer}{style.reset}"


def _cut(line: str, at: int) -> tuple[str, int]:
    """What is shown of a line around its character at (from 0), and the column of that character there.

    Only that part is made visible: a line may be as long as its file.
    """
    start, stop = max(0, at - _WIDEST), at + _WIDEST
    before = visible(line[start:at])
    text = before + visible(line[at:stop])
    left = 0 if not start and len(text) <= _WIDEST else max(0, len(before) - _BEFORE)
    shown = text[left : left + _WIDEST]
    if stop < len(line) or left + _WIDEST < len(text):
        shown = f"{shown[:-1]}{_MORE}"
    if start or left:
        shown = f"{_MORE}{shown[1:]}"
    return shown, len(before) - left


def _sentence(text: str) -> str:
    shown = visible(text)
    return shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1] + _MORE


def _elsewhere(label: Label, margin: int, style: Style) -> Iterator[str]:
    source = label.place.source
    at = source.position(label.place.span.start)
    yield f"{style.quiet}{' ' * margin}:::{style.reset} {visible(source.name)}:{at.line}:{at.column}"
    mark = _mark(label.place, label.text, first=False)
    yield from _lines(source, [mark], margin, style, style.quiet)


def _edited(source: Source, edits: Sequence[Edit]) -> list[tuple[int, str]]:
    """The lines as they would read after the edits, with the numbers of those they replace."""
    if not edits:
        return []
    start = min(edit.span.start for edit in edits)
    first = source.position(start)
    stop = source.text.find("\n", max(edit.span.end for edit in edits))
    lines = Span(start - first.column + 1, stop if stop >= 0 else len(source.text))
    text = apply(source.text, edits, lines)
    return [(first.line + at, line) for at, line in enumerate(text.split("\n"))][:_MOST_EDITED]


def visible(text: str) -> str:
    """text with tabs as blanks and control characters by their code, so that it is safe to print."""
    return "".join(_visible(char) for char in text)


def _visible(char: str) -> str:
    if char == "\t":
        return "  "
    hidden = unicodedata.category(char) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    return f"<U+{ord(char):04X}>" if hidden else char
