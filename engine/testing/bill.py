"""What servers generated against what the books say was paid: nothing is missing, nothing is paid twice. Pure."""

from collections.abc import Iterable

from ..event import CallAnswered, CallIntended, Stamped
from ..ledger import Amount
from .invariants import Violation


def billed(spent: Amount, generated: int) -> tuple[Violation, ...]:
    """The servers' bill is in the books. generated: tokens read and written, answered or not."""
    if generated <= spent.tokens:
        return ()
    text = f"{generated} tokens were generated, {spent.tokens} are in the books"
    return (Violation("bill", "", text),)


def overcharged(events: Iterable[Stamped], generated: int) -> Iterable[Violation]:
    """No answer is charged more than once: what servers told of their answers is within their bill."""
    answers = (s.event for s in events if isinstance(s.event, CallAnswered))
    told = sum(one.spent.tokens for one in answers if not one.usage.estimated)
    if told > generated:
        yield Violation("bill", "", f"{told} tokens are charged for answers, {generated} generated")


def paid_once(events: Iterable[Stamped]) -> Iterable[Violation]:
    """No call is sent again where an answer to it is on record."""
    answered: set[str] = set()
    for stamped in events:
        event = stamped.event
        if isinstance(event, CallAnswered):
            answered.add(event.address)
        elif not isinstance(event, CallIntended) or event.kind != "model":
            continue
        elif event.address in answered:
            yield Violation("bill", event.address, "sent again after an answer", stamped.number)
