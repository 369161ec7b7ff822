"""What a run did, without when: equal for a run and its replay, whatever the latencies were.

In it: every node with how it ended, every verdict, what was said, every answered model call, and the end of
the run. Not in it: times, failed tries, replicas, waits, and what lies below a branch that lost a race or was
cut by a deadline, since how far such a branch got is chance. A verdict counts where it was used, since who
asked for it first is chance too.
"""

from collections.abc import Iterable

from .call import canonical, digest
from .event import (
    CallAnswered,
    CallIntended,
    Decided,
    Event,
    NodeEnded,
    NodeStarted,
    RunEnded,
    Said,
    Scored,
    Stamped,
)
from .outcome import ended_by_rule
from .value import Json

# How a node ended that was cancelled in the middle of what it did.
_CUT = ("stopped", "cancelled")
_TIME_UP = ("time budget", "deadline `by`", "budget: ")


def transcript_hash(events: Iterable[Stamped]) -> str:
    """The SHA-256 of the transcript, in hex. Of a run with several lives, its last one and all its answers."""
    return digest(transcript(events))


def transcript(events: Iterable[Stamped]) -> list[Json]:
    """The lines of the transcript, in an order that no timing changes."""
    lines: dict[tuple[str, str], Json] = {}
    requests: dict[tuple[str, int], CallIntended] = {}
    cut: set[str] = set()
    timed: set[str] = set()
    for stamped in events:
        event = stamped.event
        if isinstance(event, CallIntended):
            requests[event.address, event.try_] = event
        elif isinstance(event, NodeStarted):
            cut.discard(event.address)
        elif isinstance(event, NodeEnded) and _is_cut(event):
            cut.add(event.address)
        elif isinstance(event, Decided) and event.name.startswith("time_up"):
            timed.add(event.address)  # its node may have ended well all the same
        lines.update(_lines(event, requests))
    cut |= timed
    kept = [(key, line) for key, line in lines.items() if not _below(key[0], cut)]
    return [line for _, line in sorted(kept, key=lambda pair: (pair[0], canonical(pair[1])))]


def _is_cut(event: NodeEnded) -> bool:
    """Whether it was cancelled, or cancelled what was below: a race, a deadline, `on_exhausted = fail`."""
    if ended_by_rule(event.outcome, event.reason):
        return False
    return event.outcome in _CUT or event.reason.startswith(_TIME_UP)


def _below(address: str, cut: set[str]) -> bool:
    """Whether address lies strictly below a node that was cut."""
    above = address.rpartition("/")[0]
    while above:
        if above in cut:
            return True
        above = above.rpartition("/")[0]
    return False


def _lines(
    event: Event, requests: dict[tuple[str, int], CallIntended]
) -> Iterable[tuple[tuple[str, str], Json]]:
    """What event adds or replaces, by address and subject."""
    match event:
        case NodeEnded(address=address):
            ended: Json = ["node", address, event.outcome, event.reason, event.score]
            yield (address, "node"), ended
        case NodeStarted(address=address):
            yield (address, "form"), ["form", address, event.kind, event.label]
        case Scored(address=address):
            where = f"{address}/v.{event.verifier}"
            yield (where, "score"), ["score", where, event.score, event.passed]
        case Said(address=address):
            where = f"{address}/r{event.round}.m{event.seat}"
            yield (where, "said"), ["said", where, event.role, event.text]
        case CallAnswered(address=address):
            intent = requests.get((address, event.try_))
            if intent is not None and intent.kind == "model":
                text = [event.reply.get("text"), event.reply.get("finish")]
                yield (address, "call"), ["call", address, intent.request, *text]
        case RunEnded():
            end: list[Json] = [event.outcome, event.reason, event.answer, event.score, event.passed]
            yield ("", "end"), ["end", *end]
        case _:
            pass
