"""The calls of a run, one record a try, for showing. Pure."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..call import ModelReply, ToolReply, reply_of
from ..event import CallAnswered, CallFailed, CallIntended, Stamped
from ..fates import Fates
from ..spend import NO_SPEND, Spend, spend_of
from .safe import safe_line
from .summary import dollars
from .units import show_tokens


@dataclass(frozen=True, slots=True)
class Tried:
    """One try. state: answered, or the failure's kind, or `in flight`; text: the reply's or the error's.

    became: what became of it in the end, in a word of `FATES`; empty while it is in flight, and of a verifier.
    """

    address: str
    number: int
    model: str
    messages: tuple[str, ...]
    state: str
    text: str
    spend: Spend
    seconds: float
    became: str = ""

    @property
    def told(self) -> str:
        """What became of it, with the kind of its failure."""
        if self.became in ("", self.state):
            return self.state
        return self.became if self.state == "answered" else f"{self.became}: {self.state}"

    def as_json(self) -> Mapping[str, Any]:
        return {
            "address": self.address,
            "try": self.number,
            "model": self.model,
            "state": self.state,
            "became": self.became,
            "text": self.text,
            "seconds": self.seconds,
            "spent": self.spend.as_json(),
        }


def tries(events: Iterable[Stamped], unpriced: Collection[str]) -> list[Tried]:
    """Every try of the run, in the order they were sent. unpriced: the models without a known price."""
    sent: dict[tuple[str, int], CallIntended] = {}
    ended: dict[tuple[str, int], CallAnswered | CallFailed] = {}
    became: dict[tuple[str, int], str] = {}
    last: dict[str, tuple[str, int]] = {}  # the last try of each call
    fates = Fates()
    for stamped in events:
        match stamped.event:
            case CallIntended() as event:
                if (changed := fates.begun(event)) is not None:
                    became[last[changed[0]]] = changed[2]
                last[event.address] = event.address, event.try_
                sent[(event.address, event.try_)] = event
            case CallAnswered() | CallFailed() as event:
                key = event.address, event.try_
                ended[key] = event
                became[key] = fates.ended(sent.get(key), event) or ""
            case _:
                pass
    return [_tried(sent[key], ended.get(key), became.get(key, ""), unpriced) for key in sent]


def line(tried: Tried, *, width: int) -> str:
    """The try on one line: where, what came of it, what it cost, the beginning of its text."""
    amount = tried.spend.amount
    price = f"{show_tokens(amount.tokens)}, {dollars(tried.spend)}, {tried.seconds:.1f}s"
    again = f" (try {tried.number + 1})" if tried.number else ""
    head = f"{safe_line(tried.address, 90)}{again}  {safe_line(tried.told, 30)}  {price}"
    room = max(20, width - len(head) - 4)
    return f"{head}  {safe_line(tried.text, room)}".rstrip()


def _tried(
    intent: CallIntended,
    end: CallAnswered | CallFailed | None,
    became: str,
    unpriced: Collection[str],
) -> Tried:
    state, text = "in flight", ""
    spend, seconds = NO_SPEND, 0.0
    if end is not None:
        spend, seconds = spend_of(end, intent.model, unpriced), end.seconds
    match end:
        case CallAnswered():
            state, text = "answered", _text(end.reply)
        case CallFailed():
            state, text = end.kind, end.message
        case None:
            pass
    return Tried(
        intent.address,
        intent.try_,
        intent.model or intent.kind,
        intent.messages,
        state,
        text,
        spend,
        seconds,
        became,
    )


def _text(body: Mapping[str, Any]) -> str:
    reply = reply_of(body)
    if isinstance(reply, ModelReply):
        calls = (f"{call.name} {call.text}" for call in reply.tool_calls)
        return "\n".join((*((reply.text,) if reply.text else ()), *calls))
    if isinstance(reply, ToolReply):
        return reply.text
    verdict = reply.verdict
    said = "" if verdict.passed is None else ", passed" if verdict.passed else ", not passed"
    score = "no score" if verdict.score is None else f"score {verdict.score:.6g}"
    suspected = f" (suspected: {'; '.join(verdict.flags)})" if verdict.flags else ""
    return f"{score}{said}{suspected}" + (f": {verdict.evidence}" if verdict.evidence else "")
