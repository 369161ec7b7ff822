"""The tool calls of one reply: which are run, what the others are answered, and results fit to be read. Pure.

The rule for a batch: it is counted before any of it is run; the first so many are run, in their order, and each of
the others is told why it was not. So the next request has a result for each id.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

from ..call import Message, ModelReply, Offer, ToolCall
from ..plain import clean, excerpt
from ..schema import misfit
from .prompt import CLIP_BYTES_PER_TOKEN

# How many calls of one reply are run.
MOST_CALLS = 16
# How much of one result a model is shown, in tokens of 4 bytes.
MOST_RESULT = 4000
# Even of many results each keeps so much.
LEAST_RESULT = 100
# How much is repeated to a model of what it wrote and cannot be used.
_ECHO = 200


@dataclass(frozen=True, slots=True)
class Step:
    """A call, under an id that no other has. refusal: why it is not run, for the model; empty where it is."""

    call: ToolCall
    refusal: str = ""


def steps(
    reply: ModelReply, offers: Sequence[Offer], taken: Collection[str], most: int = MOST_CALLS
) -> tuple[Step, ...]:
    """What becomes of the calls of reply, all of them decided before one is run. taken: ids in use so far."""
    ids = set(taken)
    found: list[Step] = []
    for number, call in enumerate(reply.tool_calls, 1):
        own = replace(call, id=_free(call.id, ids))
        ids.add(own.id)
        too_many = f"not run: of one reply only the first {most} calls are"
        found.append(Step(own, too_many if number > most else _refusal(own, offers)))
    return tuple(found)


def _free(wanted: str, ids: Collection[str]) -> str:
    """Some servers count their ids from 0 in each reply."""
    if wanted not in ids:
        return wanted
    return next(one for n in range(2, len(ids) + 3) if (one := f"{wanted}_{n}") not in ids)


def _refusal(call: ToolCall, offers: Sequence[Offer]) -> str:
    offer = next((one for one in offers if one.name == call.name), None)
    if offer is None:
        return _unknown(call.name, [one.name for one in offers])
    if call.arguments is None:
        return f"not run: the arguments are no JSON object: {excerpt(call.text, _ECHO)}"
    wrong = misfit(offer.parameters, call.arguments)
    if wrong is None:
        return ""
    return f"not run: {excerpt(wrong, _ECHO)}. The arguments were: {excerpt(call.text, _ECHO)}"


def _unknown(name: str, known: Sequence[str]) -> str:
    if not name:
        return f"not run: the call names no tool; there are {', '.join(known)}"
    near = get_close_matches(name, known, n=1)
    told = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
    return f"not run: there is no tool {excerpt(name, 60)}: {told}"


def said(reply: ModelReply, found: Sequence[Step]) -> Message:
    """The reply as it is said again in later requests."""
    return Message("assistant", reply.text, tuple(step.call for step in found))


def result(step: Step, text: str, tokens: int) -> Message:
    """What came of a call, as the model reads it: without control characters, clipped in the middle."""
    shown = middle(clean(text), tokens * CLIP_BYTES_PER_TOKEN)
    return Message("tool", shown or "(nothing)", answers=step.call.id)


def share(window: int, count: int) -> int:
    """How long each of so many results may be, in tokens: all of one reply take a quarter of the window."""
    return max(LEAST_RESULT, min(MOST_RESULT, window // 4 // max(1, count)))


def middle(text: str, limit: int) -> str:
    """text in about limit bytes: its beginning and its end, and between them how much was left out."""
    raw = text.encode()
    if len(raw) <= limit:
        return text
    half = limit // 2
    head, tail = raw[:half].decode(errors="ignore"), raw[-half:].decode(errors="ignore")
    out = len(text) - len(head) - len(tail)
    lines = text[len(head) : len(text) - len(tail)].count("\n")
    return f"{head}\n… [{out} characters in {lines + 1} lines left out here] …\n{tail}"
