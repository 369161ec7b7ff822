"""How long a prompt may become, from its fragments and the caps of the replies it quotes. Pure.

A text that is known is measured; of a reply only its cap is. What holds of every count here:

* most: a byte of constant text is a token's worth (`engine/tokens.py`); a reply of n tokens is read again as n.
* least: only constant text counts, its bytes that are no blanks, 128 to a token: no vocabulary known has longer
  ones. What blanks cost is anybody's choice.
* expected: 4 bytes a token, and replies of half their caps.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from podium.dsl.program import FilterCall, Slot, Template, Text, Verifier

from ..agent import View, render
from ..agent.prompt import CLIP_BYTES_PER_TOKEN
from ..tokens import text_bound
from ..value import Json

BYTES_PER_TOKEN_MOST = 128
BYTES_PER_TOKEN = 4
# Longer than any window: a text that nobody bounds, such as the evidence of a Python verifier.
UNBOUNDED = 1_000_000_000
# JSON of flat fields, indented: `1,` becomes seven bytes, a control character six, a numbered item seven.
_JSON_GROWS = 8
_CUT_MARK = 16  # bytes, at most
_NUMBER = 16  # bytes of a number or of true and false, at most
_BLOCK = 16  # what stands around one item of a list: `[12] ` and blank lines


class Size(NamedTuple):
    """least: bytes that are no blanks; expected: bytes; most: tokens."""

    least: int = 0
    expected: int = 0
    most: int = 0

    def plus(self, other: "Size") -> "Size":
        return Size(*(a + b for a, b in zip(self, other, strict=True)))

    def times(self, count: int) -> "Size":
        return Size(*(count * a for a in self))

    def cut(self, most: int) -> "Size":
        """At most so many bytes of it; its beginning may be missing or marked as cut."""
        if self.most <= most:
            return self._replace(least=0)
        return Size(0, min(self.expected, most), most)


EMPTY = Size()


def known(text: str) -> Size:
    """The size of a text that is there."""
    raw = len(text.encode("utf-8", "surrogatepass"))
    blanks = len(text) - sum(map(len, text.split()))
    return Size(max(0, raw - 3 * blanks), raw, text_bound(text))


def reply(cap: int) -> Size:
    """A reply under a cap of so many tokens."""
    return Size(0, cap * BYTES_PER_TOKEN // 2, cap)


@dataclass(frozen=True, slots=True)
class Given:
    """What comes into a node: so many attempts at most, 0 where it is the task alone.

    text, before: the longest text of one and of what it revised, in tokens. peak: the longest of any attempt
    so far, which is what a budget that ran out may return. structured: the answer may be an object. often, theirs:
    every so many rounds a team reads another's solution, of so many tokens.
    """

    width: int = 0
    text: int = 0
    before: int = 0
    peak: int = 0
    structured: bool = False
    often: int = 0
    theirs: int = 0

    def join(self, other: "Given") -> "Given":
        """Either of the two, as far as one attempt goes; the greater width."""
        return Given(
            max(self.width, other.width),
            max(self.text, other.text),
            max(self.before, other.before),
            max(self.peak, other.peak),
            self.structured or other.structured,
        )


@dataclass(frozen=True, slots=True)
class Topic:
    """The task at hand. statement: None where a model writes it; its size is then a bound.

    evidence: of a verdict, in tokens at most. visible: whether members of a team know their scores.
    judges: the verifiers that ask models. baseline: how many tokens it is, at most.
    """

    name: str
    statement: str | None
    size: Size
    evidence: int = 0
    visible: bool = False
    judges: tuple[Verifier, ...] = ()
    baseline: int = 0

    def view(self) -> tuple[dict[str, Json], dict[str, Size]]:
        """What is known of the task's slots, and bounds of what is not."""
        if self.statement is not None:
            return {"task": {"statement": self.statement, "name": self.name}}, {}
        name = len(self.name.encode()) + _NUMBER
        return {}, {"task.statement": self.size, "task.name": Size(0, name // 2, name)}


class Begins(NamedTuple):
    """text: as far as it is known before the run. alike: how many bytes are expected up to where one names
    itself, if so as no other does. whole: whether all is known."""

    text: str
    alike: int
    whole: bool


@dataclass(frozen=True, slots=True)
class Words:
    """What a prompt's slots stand for: view where that is known before the run, sizes where only a bound is.

    evidence: of a verdict, in tokens at most.
    """

    view: View
    sizes: Mapping[str, Size]
    given: Given
    evidence: int

    def of(self, template: Template) -> Size:
        """The size of the rendered template."""
        total = Size()
        for part in template.parts:
            total = total.plus(known(part.text) if isinstance(part, Text) else self._slot(part))
        return total

    def begins(self, *templates: Template) -> "Begins":
        """What the templates, one behind another, begin with."""
        text, alike, whole = "", 0, True
        for part in (part for template in templates for part in template.parts):
            there = isinstance(part, Text) or _is_in(self.view, part.path)
            if isinstance(part, Slot) and not there and part.path[0] == "self":
                return Begins(text, alike, whole=False)
            whole = whole and there
            if whole:
                text += render(Template((part,)), self.view)
            alike += self.of(Template((part,))).expected
        return Begins(text, alike, whole)

    def _slot(self, slot: Slot) -> Size:
        if _is_in(self.view, slot.path):
            return known(render(Template((slot,)), self.view))
        size = self._value(slot.path)
        for call in slot.filters:
            size = self._filtered(slot, size, call)
        return size._replace(most=size.most * (1 + slot.column))

    def _value(self, path: tuple[str, ...]) -> Size:
        joined = ".".join(path)
        if joined in self.sizes:
            return self.sizes[joined]
        match path[0]:
            case "attempt":
                return self._attempt(path[1:])
            case "attempts":
                one = self._attempt(path[1:]).plus(Size(0, _BLOCK // 2, _BLOCK))
                return one.times(self.given.width)
            case _:
                return Size(0, _NUMBER // 2, _NUMBER)

    def _attempt(self, path: tuple[str, ...]) -> Size:
        text = reply(self.given.text)
        match path:
            case () | ("text",):
                return text
            case ("answer", *_):
                grown = text.most * _JSON_GROWS + 64
                return text._replace(most=grown) if self.given.structured else text
            case ("before",):
                return reply(self.given.before)
            case ("before", *rest):
                earlier = Given(1, self.given.before, 0, structured=self.given.structured)
                return Words(self.view, {}, earlier, self.evidence)._attempt(tuple(rest))
            case ("evidence",):
                return Size(0, min(200, self.evidence), self.evidence)
            case _:
                return Size(0, _NUMBER // 2, _NUMBER)

    def _filtered(self, slot: Slot, size: Size, call: FilterCall) -> Size:
        match call.name:
            case "clip":
                room = int(call.args[0] or 0) * CLIP_BYTES_PER_TOKEN
                return Size(0, min(size.expected, room), min(size.most + _CUT_MARK, room))
            case "bullets":
                return size._replace(most=3 * size.most + _BLOCK)
            case _:
                whole = self._whole() if slot.path == ("attempts",) else size.most
                return size._replace(most=whole * _JSON_GROWS + 64)

    def _whole(self) -> int:
        """All that is known of all attempts."""
        texts = (2 + _JSON_GROWS) * (self.given.text + self.given.before)
        return self.given.width * (texts + 2 * self.evidence + 400)


def _is_in(view: Json, path: tuple[str, ...]) -> bool:
    for name in path:
        if not isinstance(view, Mapping) or name not in view:
            return False
        view = view[name]
    return True


def evidence_of(verifier: Verifier | None) -> int:
    """The longest evidence of a verdict, in tokens."""
    if verifier is None:
        return 0
    if verifier.parts:
        each = (evidence_of(part) + text_bound(part.name) + 8 for part in verifier.parts)
        return min(UNBOUNDED, sum(each))
    if verifier.kind not in ("exact", "number", "choice", "contains"):
        return UNBOUNDED
    wanted = verifier.args.get("expected")
    items = wanted if isinstance(wanted, tuple) else (wanted,)
    # exact casefolds, which may make a text three times as long; lists are joined with a word
    return 64 + sum(3 * text_bound(str(item)) + 8 for item in items)
