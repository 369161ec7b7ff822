"""What one call, and one agent outside a team, may cost. Pure."""

from dataclasses import dataclass, field
from typing import NamedTuple

import orjson

from podium.dsl.bounds import asks
from podium.dsl.model import Price
from podium.dsl.program import OutputField, Program, Role, Template, Text

from ..agent.act import DEFAULT_SYSTEM, DEFAULT_WINDOW, cap_of
from ..agent.prompt import CLIP_BYTES_PER_TOKEN
from ..agent.shape import schema
from ..tokens import PER_CALL, PER_MESSAGE, SCHEMA_FACTOR
from .amounts import NOTHING, Amounts, Range, charge
from .repeats import NEW, Beginnings, Known
from .texts import BYTES_PER_TOKEN, BYTES_PER_TOKEN_MOST, UNBOUNDED, Size, Words, known, reply

# Asked again, an agent is shown the beginning of its reply (200 tokens) and told what is wrong with it.
_SHOWN_AGAIN = 200 * CLIP_BYTES_PER_TOKEN
_COMPLAINT = 200
_FRAMES = 12  # tokens around a message, as templates have them
# What is expected of agents with tools: turns, bytes that telling of a tool takes, bytes of a result.
EXPECTED_TURNS, _OFFER, _RESULT = 4, 300, 2000


class Asking(NamedTuple):
    """A model as a plan knows it. window in tokens; reads: what one call of it is charged for at most."""

    name: str
    window: int
    price: Price | None
    reads: int


@dataclass(slots=True)
class Models:
    """assumed: models whose window nobody told, which are planned with the engine's own assumption.

    holds: count what the ledger holds before a call, not what a server may then report. A hold knows bytes
    alone, of which a reply may have many to a token, and nothing of windows.
    """

    program: Program
    holds: bool = False
    assumed: set[str] = field(default_factory=set[str])
    sent: Beginnings = field(default_factory=Beginnings)

    def of(self, role: Role, model: str | None = None) -> Asking:
        """The model that role is asked on: its own, else model, else the run's."""
        name = role.model or model or self.program.default_model
        found = self.program.models[name]
        if found.context is None:
            self.assumed.add(name)
        window = found.context or DEFAULT_WINDOW
        return Asking(name, window, found.price, UNBOUNDED if self.holds else window)

    def text(self, role: Role, model: str | None = None) -> int:
        """How many tokens a reply of the role is read again as, at most."""
        cap = cap_of(role, self.of(role, model).window)
        return cap * BYTES_PER_TOKEN_MOST if self.holds else cap


def asked(
    asking: Asking,
    prompt: Size,
    cap: int,
    output: tuple[OutputField, ...] | None,
    messages: int,
    known: Known = NEW,
) -> Amounts:
    """One call of so many messages under a cap of so many tokens; its server never reads more than its window.

    At least its reply costs nothing: one that is empty is a reply too.
    """
    shape = 0 if output is None else SCHEMA_FACTOR * len(orjson.dumps(schema(output)))
    most = prompt.most + messages * PER_MESSAGE + shape + PER_CALL
    into = Range(
        max(1, prompt.least // BYTES_PER_TOKEN_MOST),
        -(-(prompt.expected + shape) // BYTES_PER_TOKEN) + messages * _FRAMES,
        most,
    )
    into = Range(into.least, max(into.least, min(into.expected, most)), most)
    out = Range(0, -(-cap // 2), cap)
    return charge(into.within(asking.reads), out, asking.price, known, prompt.expected)


def agent(asking: Asking, prompt: Size, cap: int, role: Role, known: Known) -> Amounts:
    """One agent's calls: a structured reply that cannot be read is asked for once more, at most. known: of the
    first one."""
    if role.tools:
        return _working(asking, prompt, cap, role, known)
    once = asked(asking, prompt, cap, role.output, 2, known)
    if role.output is None:
        return once
    longer = prompt.plus(Size(0, 0, _SHOWN_AGAIN + _complaint(role.output)))
    again = asked(asking, longer, cap, role.output, 4)
    return once.plus(again.perhaps())


def _working(asking: Asking, prompt: Size, cap: int, role: Role, known: Known) -> Amounts:
    """The turns of an agent with tools. What these say of themselves and give back is only bounded by the window;
    what is expected is a guess at an agent that looks a few things up."""
    offers = len(role.tools) * _OFFER
    told, known = prompt.plus(Size(0, offers, UNBOUNDED)), known.longer(offers)
    total, most = NOTHING, asks(role)
    expected = min(role.turns, EXPECTED_TURNS)
    for turn in range(expected):
        grown = told.plus(reply(cap).plus(Size(0, _RESULT, 0)).times(turn))
        if turn:  # all but the last result was there in the turn before, or is its reply
            known = Known(grown.expected - _RESULT)
        once = asked(asking, grown, cap, role.output, 2 + 2 * turn, known)
        total = total.plus(once.or_least(NOTHING) if turn else once)
    rest = asked(asking, told, cap, role.output, 2)
    return total.plus(rest.perhaps().times(most - expected))


def lone(models: Models, role: Role, words: Words) -> Amounts:
    """One agent outside a team."""
    asking = models.of(role)
    begins = words.begins(
        written(DEFAULT_SYSTEM) if role.system is None else role.system, role.prompt
    )
    known_ = models.sent.known(asking.name, begins.text, begins.alike)
    return agent(asking, lone_prompt(role, words), cap_of(role, asking.window), role, known_)


def lone_prompt(role: Role, words: Words) -> Size:
    """The system text and the prompt."""
    system = known(DEFAULT_SYSTEM) if role.system is None else words.of(role.system)
    return system.plus(words.of(role.prompt))


def written(text: str) -> Template:
    return Template((Text(text),))


def _complaint(output: tuple[OutputField, ...]) -> int:
    """What is wrong with a reply names one field and what it may be."""
    return _COMPLAINT + max(
        len(one.name.encode()) + sum(len(c.encode()) + 4 for c in _choices(one)) for one in output
    )


def _choices(field_: OutputField) -> tuple[str, ...]:
    return field_.type if isinstance(field_.type, tuple) else (field_.type,)
