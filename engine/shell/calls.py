"""The calls of a run, one record a try, for showing. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..call import ModelReply, reply_of
from ..event import CallAnswered, CallFailed, CallIntended, Stamped
from ..fold import Spend
from .safe import safe_line
from .summary import dollars
from .units import show_count


@dataclass(frozen=True, slots=True)
class Tried:
    """One try. state: answered, or the failure's kind, or `in flight`; text: the reply's or the error's."""

    address: str
    number: int
    model: str
    messages: tuple[str, ...]
    state: str
    text: str
    spend: Spend
    seconds: float

    def as_json(self) -> Mapping[str, Any]:
        return {
            "address": self.address,
            "try": self.number,
            "model": self.model,
            "state": self.state,
            "text": self.text,
            "seconds": self.seconds,
            "spent": self.spend.as_json(),
        }


def tries(events: Iterable[Stamped]) -> list[Tried]:
    """Every try of the run, in the order they were sent."""
    sent: dict[tuple[str, int], CallIntended] = {}
    ended: dict[tuple[str, int], CallAnswered | CallFailed] = {}
    for stamped in events:
        match stamped.event:
            case CallIntended() as event:
                sent[(event.address, event.try_)] = event
            case CallAnswered() | CallFailed() as event:
                ended[(event.address, event.try_)] = event
            case _:
                pass
    return [_tried(intent, ended.get(key)) for key, intent in sent.items()]


def line(tried: Tried, *, width: int) -> str:
    """The try on one line: where, what came of it, what it cost, the beginning of its text."""
    amount = tried.spend.amount
    price = f"{show_count(amount.tokens)} tokens, {dollars(tried.spend)}, {tried.seconds:.1f}s"
    again = f" (try {tried.number})" if tried.number > 1 else ""
    head = f"{safe_line(tried.address, 90)}{again}  {safe_line(tried.state, 20)}  {price}"
    room = max(20, width - len(head) - 4)
    return f"{head}  {safe_line(tried.text, room)}".rstrip()


def _tried(intent: CallIntended, end: CallAnswered | CallFailed | None) -> Tried:
    state, text = "in flight", ""
    spend, seconds = Spend(), 0.0
    match end:
        case CallAnswered():
            state, text = "answered", _text(end.reply)
            spend = Spend(end.spent, end.usage, unknown=int(end.usage.estimated))
            seconds = end.seconds
        case CallFailed():
            state, text = end.kind, end.message
            spend = Spend(end.spent, end.usage, unknown=int(end.estimated or end.usage.estimated))
            seconds = end.seconds
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
    )


def _text(body: Mapping[str, Any]) -> str:
    reply = reply_of(body)
    if isinstance(reply, ModelReply):
        return reply.text
    verdict = reply.verdict
    said = "" if verdict.passed is None else ", passed" if verdict.passed else ", not passed"
    score = "no score" if verdict.score is None else f"score {verdict.score:.6g}"
    return f"{score}{said}" + (f": {verdict.evidence}" if verdict.evidence else "")
