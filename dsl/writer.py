"""Nested tokens to lines of at most 100 columns, where that can be had.

What fits on its line stays on it. Else a chain breaks before each `->` and `else`, and a bracket puts
each thing it holds on a line of its own; the last bracket of a line breaks first. Every choice depends on
the tokens, their comments and whether a record was broken by its author, so a second pass makes the same.
"""

from collections.abc import Iterator, Sequence

from .layout import WIDTH, Bracket, Comment, Element, Item, Tok, first_of, flat, gap, last_of
from .prompt import relaid

STEP = 2


class Writer:
    """The lines of one declaration. Comments behind a token wait until its line ends."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._line = ""
        self._indent = 0
        self._hang = STEP  # where a line starts that only a comment broke
        self._limit = WIDTH  # less one where a comma may follow
        self._trail: list[str] = []
        self._previous: Tok | None = None

    def declaration(self, elements: Sequence[Element]) -> list[str]:
        """The lines of a declaration, without the comments above it."""
        if not self._fits(elements):
            self._declaration(elements)
        self._newline(0)
        return self._lines

    def _declaration(self, elements: Sequence[Element]) -> None:
        signs = [at for at, element in enumerate(elements) if _is(element, "EQUAL")]
        if _is(elements[0], "FROM"):
            self._imported(elements)
            return
        if not signs or signs[0] == len(elements) - 1:
            self._segment(elements, 0)
            return
        head, value = elements[: signs[0] + 1], elements[signs[0] + 1 :]
        self._segment(head, 0)
        below = flat(value)
        is_chain = _is(value[0], "IF") or any(_is(element, "_ARROW") for element in value)
        if is_chain or (below is not None and STEP + len(below) <= WIDTH):
            self._newline(STEP)
            self._value(value, STEP)
        else:
            self._value(value, 0)

    def _imported(self, elements: Sequence[Element]) -> None:
        """As many names on a line as fit, where no parentheses hold them."""
        for part in _split(elements, "COMMA"):
            comma, name = (part[:1], part[1:]) if _is(part[0], "COMMA") else (part[:0], part)
            self._segment(comma, 0)
            text = flat(name, self._previous)
            room = WIDTH - len(self._line) - 1  # a comma may follow
            if comma and (text is None or len(text) > room):
                self._newline(STEP)
            self._segment(name, 0)

    # --- expressions -----------------------------------------------------------------------------

    def _value(self, elements: Sequence[Element], indent: int) -> None:
        """An expression, broken at each `else`, or at each `->`, or inside its brackets."""
        if self._fits(elements):
            return
        column = self._column(elements[0])
        if _is(elements[0], "IF"):
            for part in _split(elements, "ELSE"):
                self._start(part, column)
                self._chain(part, column, column + STEP)
        else:
            self._chain(elements, indent, column)

    def _chain(self, elements: Sequence[Element], indent: int, column: int) -> None:
        if self._fits(elements):
            return
        parts = list(_split(elements, "_ARROW"))
        for part in parts:
            self._start(part, column if part is not parts[0] else None)
            if not self._fits(part):
                self._segment(part, indent if len(parts) == 1 else column)

    def _start(self, part: Sequence[Element], column: int | None) -> None:
        """Begin a line for a part that starts with `else` or `->`."""
        if column is not None and (_is(part[0], "ELSE") or _is(part[0], "_ARROW")):
            self._newline(column)

    def _column(self, element: Element) -> int:
        """Where element will start."""
        if not self._line:
            return self._indent
        return len(self._line) + len(gap(self._previous, first_of(element)))

    def _segment(self, elements: Sequence[Element], indent: int) -> None:
        """Elements on one line, of which the last bracket breaks that must."""
        for at, element in enumerate(elements):
            if isinstance(element, Tok):
                self._tok(element)
            elif self._fits(elements[at:]):
                return
            elif not self._stays(elements[at:]):
                self._broken(element, indent)
            else:
                self._flat(element)

    def _stays(self, rest: Sequence[Element]) -> bool:
        """Whether the bracket rest[0] can stay on its line because a later one will break."""
        later = next((i for i, e in enumerate(rest) if i and isinstance(e, Bracket)), None)
        if later is None:
            return False
        following = rest[later]
        assert isinstance(following, Bracket)  # as it was looked for
        text = flat([*rest[:later], following.open], self._previous)
        return text is not None and len(self._line) + len(text) <= WIDTH

    # --- brackets --------------------------------------------------------------------------------

    def _broken(self, bracket: Bracket, indent: int) -> None:
        """A bracket with each item on its own line, one step in from indent."""
        inner = indent + STEP
        self._tok(bracket.open)
        limit, self._limit = self._limit, WIDTH - bracket.takes_comma
        pads = _pads(bracket, inner)
        for at, item in enumerate(bracket.items):
            self._newline(inner)
            if at and bracket.is_record:
                self._blank(first_of(item.elements[0]))
            self._item(item, inner, pads[at])
            self._comma(item, bracket)
        self._limit = limit
        self._newline(inner)
        self._comments(bracket.close, inner)
        self._newline(indent)
        self._write(bracket.close.text, "")
        self._behind(bracket.close)
        self._hang = max(STEP, indent)

    def _item(self, item: Item, indent: int, pad: int) -> None:
        elements = item.elements
        self._hang = indent
        self._comments(first_of(elements[0]), indent)
        self._hang = indent + STEP
        if len(elements) > 1 and _is(elements[1], "EQUAL"):
            self._plain(elements[0])
            self._line += " " * pad
            self._plain(elements[1])
            self._value(elements[2:], indent)
        else:
            self._value(elements, indent)

    def _comma(self, item: Item, bracket: Bracket) -> None:
        comma = item.comma
        if bracket.takes_comma:
            self._line += ","
        if comma is not None:
            self._trail += comma.trail

    # --- tokens ----------------------------------------------------------------------------------

    def _fits(self, elements: Sequence[Element]) -> bool:
        """Write the elements if they fit on the line, with the comments around them."""
        first = first_of(elements[0])
        text = flat(elements, self._previous if self._line else None)
        room = self._limit - (len(self._line) or self._indent)
        if text is None or first.lead or self._trail or len(text) > room:
            return False
        self._write(text, "")
        self._behind(last_of(elements[-1]))
        return True

    def _flat(self, bracket: Bracket) -> None:
        self._comments(bracket.open, self._hang)
        self._write(bracket.flat or "", gap(self._previous, bracket.open))
        self._behind(bracket.close)

    def _plain(self, element: Element) -> None:
        assert isinstance(element, Tok)  # a name or a sign
        self._tok(element)

    def _tok(self, tok: Tok) -> None:
        self._comments(tok, self._hang)
        space = gap(self._previous, tok)
        if "\n" in tok.text:
            self._write("", space)
            first, *rest = relaid(tok.token, self._indent + STEP)
            self._line += first
            for line in rest:
                self._lines.append(self._line)
                self._line = line
        else:
            self._write(tok.text, space)
        self._behind(tok)

    def _comments(self, tok: Tok, indent: int) -> None:
        """The comments above a token, each on its line."""
        for comment in tok.lead:
            self._newline(indent)
            self._above(comment)
            self._line = " " * indent + comment.text
            self._newline(indent)
        tok.lead = []

    def _behind(self, tok: Tok) -> None:
        self._trail += tok.trail
        self._previous = tok

    def _write(self, text: str, space: str) -> None:
        if self._trail:
            self._newline(self._hang)
        self._line = f"{self._line}{space}{text}" if self._line else " " * self._indent + text

    def _newline(self, indent: int) -> None:
        """End the line, if anything stands on it; the next one starts at indent."""
        if self._line or self._trail:
            self._lines.append("  ".join([self._line.rstrip(" "), *self._trail]))
        self._line, self._trail, self._indent = "", [], indent

    def _above(self, comment: Comment) -> None:
        if comment.blank:
            self._blank_line()

    def _blank(self, tok: Tok) -> None:
        if tok.blank and not tok.lead:
            self._blank_line()

    def _blank_line(self) -> None:
        opens = not self._lines or self._lines[-1].rstrip().endswith(("{", "[", "("))
        if not opens and self._lines[-1]:
            self._lines.append("")


def _is(element: Element, kind: str) -> bool:
    return isinstance(element, Tok) and element.type == kind


def _split(elements: Sequence[Element], kind: str) -> Iterator[Sequence[Element]]:
    """Parts of elements; each but the first starts with a token of that kind."""
    start = 0
    for at, element in enumerate(elements):
        if at > start and _is(element, kind):
            yield elements[start:at]
            start = at
    yield elements[start:]


def _pads(bracket: Bracket, indent: int) -> list[int]:
    """Of each item, the blanks before `=` that align it with its neighbours.

    Who takes part must not depend on what alignment does to it, or a second pass would choose anew: so
    the widest name of the whole record decides, not that of the neighbours.
    """
    pads = [0] * len(bracket.items)
    simple = [bracket.is_record and _is_simple(item, indent) for item in bracket.items]
    names = [len(first_of(item.elements[0]).text) for item in bracket.items]
    widest = max((n for n, fits in zip(names, simple, strict=True) if fits), default=0)
    run: list[int] = []
    for at, item in enumerate(bracket.items):
        first = first_of(item.elements[0])
        size = indent + len(item.flat or "") + widest - names[at]
        aligned = simple[at] and size <= WIDTH
        if run and (first.blank or first.lead or not aligned):
            _align(bracket, run, pads)
            run = []
        if aligned:
            run.append(at)
    if run:
        _align(bracket, run, pads)
    return pads


def _align(bracket: Bracket, run: Sequence[int], pads: list[int]) -> None:
    widths = {at: len(first_of(bracket.items[at].elements[0]).text) for at in run}
    widest = max(widths.values())
    pads[run[0] : run[-1] + 1] = [widest - width for width in widths.values()]


def _is_simple(item: Item, indent: int) -> bool:
    """Whether a field takes part in alignment: `name = ` and one line, a prompt, or a choice."""
    elements = item.elements
    if len(elements) < 3 or not _is(elements[1], "EQUAL") or first_of(elements[1]).lead:
        return False
    if item.flat is not None and indent + len(item.flat) <= WIDTH:
        return True
    value = elements[2]
    return _is(value, "IF") or (
        isinstance(value, Tok) and "\n" in value.text and len(elements) == 3
    )
