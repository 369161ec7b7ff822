"""The CEO: what it is shown, and how its reply is read. Pure.

A reply that cannot be read, in whole or in one field, leaves the settings in force: it never buys more and never
stops. Bounds: size 1 to the team's, effort 64 tokens to the role's own cap, texts are clipped.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from podium.dsl.program import OutputField

from ..agent import clip, objects, whole_number
from ..value import Json

# A cap below this cuts nearly every reply, which then counts for nothing.
LEAST_EFFORT = 64
DIRECTION_TOKENS = 150
ASSIGNMENT_TOKENS = 60
DEFAULT_OUTPUT = 512
DEFAULT_SYSTEM = "You lead a team. You do not solve the task. Answer with one JSON object."

_EFFORTS: Mapping[str, int | None] = {"low": 256, "medium": 512, "high": None}
_WORDS = {
    "size": ("size", "team size", "recruit number", "number of agents", "agents"),
    "direction": ("direction", "plan", "advice"),
    "effort": ("effort", "maximum tokens", "max tokens", "max_tokens", "tokens"),
    "assignment": ("assignment", "assignments"),
    "stop": ("stop", "decision"),
}
_FIELD = {word: name for name, words in _WORDS.items() for word in words}
_ANY = "|".join(sorted(map(re.escape, _FIELD), key=len, reverse=True))
# `**Size:** 3` with its value, or `### Size` alone with a mark before it: a bare word is an answer.
_HEADING = re.compile(
    rf"^[\W_]*(?:({_ANY})[\s*_`\"]*[:=][\s*_`\"]*(.*)|(?<=[\W_])({_ANY})[\W_]*)$", re.IGNORECASE
)
_OUTPUT = {
    "size": OutputField("size", "int"),
    "direction": OutputField("direction", "text"),
    "effort": OutputField("effort", "int"),
    "assignment": OutputField("assignment", "text", is_list=True),
    "stop": OutputField("stop", "bool"),
}
_ASKED = {
    "size": "size: how many of the {n} members work next",
    "direction": "direction: one sentence to all of them",
    "effort": "effort: the longest reply allowed, in tokens",
    "assignment": "assignment: one short text for each member, in order",
    "stop": "stop: true if the last solution is final",
}


@dataclass(frozen=True, slots=True)
class Settings:
    """What is in force. effort: the cap of members' replies in tokens, None is their own. assignment: by seat."""

    size: int
    direction: str = ""
    effort: int | None = None
    assignment: tuple[tuple[int, str], ...] = ()

    def assigned(self, seat: int) -> str:
        return dict(self.assignment).get(seat, "")


def output(sets: frozenset[str]) -> tuple[OutputField, ...]:
    """The shape asked of a CEO that may set these."""
    return tuple(field for name, field in _OUTPUT.items() if name in sets)


def may_set(field: str, sets: frozenset[str]) -> bool:
    """Whether a field of this name may be set; a field that sets nothing may always be asked for."""
    return _FIELD.get(field.casefold(), "") in (*sets, "")


def question(sets: frozenset[str], size: int) -> str:
    """What the CEO is asked for, one line a field."""
    lines = [text.format(n=size) for name, text in _ASKED.items() if name in sets]
    return "\n".join(("Decide how the team goes on. Give JSON with:", *lines))


def read(text: str, sets: frozenset[str], now: Settings, *, seats: int) -> tuple[Settings, bool]:
    """The settings after this reply, and whether it stops the team. seats: the team's size."""
    fields = _fields(text)
    given = {name: value for name, value in fields.items() if name in sets}
    size = whole_number(given.get("size"))
    return (
        replace(
            now,
            size=now.size if size is None or size < 1 else min(size, seats),
            direction=_text(given.get("direction")) or now.direction,
            effort=_effort(given["effort"], now.effort) if "effort" in given else now.effort,
            assignment=_assignment(given.get("assignment"), seats) or now.assignment,
        ),
        _stops(given.get("stop")),
    )


def _fields(text: str) -> dict[str, Json]:
    """The fields of the first JSON object that has any, else those under headings, by our names."""
    for found in objects(text):
        known = {_FIELD[key.casefold()]: v for key, v in found.items() if key.casefold() in _FIELD}
        if known:
            return known
    return _headed(text)


def _headed(text: str) -> dict[str, Json]:
    fields: dict[str, list[str]] = {}
    name = ""
    for line in text.splitlines():
        heading = _HEADING.match(line.strip())
        if heading is not None:
            name = _FIELD[(heading[1] or heading[3]).casefold()]
            fields[name] = [heading[2] or ""]
        elif name:
            fields[name].append(line)
    return {name: "\n".join(lines).strip() for name, lines in fields.items()}


def _text(value: Json) -> str:
    return clip(" ".join(value.split()), DIRECTION_TOKENS) if isinstance(value, str) else ""


def _effort(value: Json, now: int | None) -> int | None:
    word = value.strip().strip("*_`\"'. ").casefold() if isinstance(value, str) else ""
    if word in _EFFORTS:
        return _EFFORTS[word]
    tokens = whole_number(value)
    return now if tokens is None or tokens < 1 else max(LEAST_EFFORT, tokens)


def _assignment(value: Json, seats: int) -> tuple[tuple[int, str], ...]:
    """Texts by seat, from a list in order, an object by number, or lines `2: …`."""
    pairs: list[tuple[Json, Json]] = []
    if isinstance(value, str):
        pairs.extend(re.findall(r"^\W*(\d{1,4})\W+(.+)$", value, re.MULTILINE))
    elif isinstance(value, Mapping):
        pairs.extend(value.items())
    elif isinstance(value, Sequence):
        pairs.extend(enumerate(value, 1))
    texts = {
        seat: clip(" ".join(text.split()), ASSIGNMENT_TOKENS)
        for number, text in pairs
        if isinstance(text, str) and (seat := whole_number(number)) and 1 <= seat <= seats
    }
    return tuple(sorted((seat, text) for seat, text in texts.items() if text))


def _stops(value: Json) -> bool:
    """Whether the first word that says stop or continue says stop: `Stop, do not continue` does."""
    if isinstance(value, bool):
        return value
    if not isinstance(value, str):
        return False
    found = re.search(
        r"(\bnot|n't|\bnever)?\s*\b(stop|true|yes|continue|false|no)\b", value, re.IGNORECASE
    )
    if found is None:
        return False
    return (found[2].casefold() in ("stop", "true", "yes")) != bool(found[1])
