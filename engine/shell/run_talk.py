"""What was asked and said in a run, attempt by attempt, for its page: bounded in all, the winner's first. Pure."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from ..event import CallAnswered, CallFailed, CallIntended, Event, Stamped
from ..fold import Fold, Node
from ..reduce import Rank, order, rank
from .calls import Tried
from .course import Course
from .page import add, clipped, tag
from .run_tree import price
from .safe import safe_line
from .units import counted

MAX_ATTEMPTS = 60
MAX_CALLS = 40  # of one attempt
MAX_MESSAGE = 6_000  # characters of one message
MAX_TEXT = 1_500_000  # characters on the page; with the rest of it some megabytes


@dataclass(frozen=True, slots=True)
class Kept:
    """How to come by messages: `listed` gives the names of a call's, `text` what is kept under one."""

    listed: Callable[[Sequence[str]], list[str]]
    text: Callable[[str], str]


def speakers(course: Course) -> list[Node]:
    """The nodes that asked models themselves, at most MAX_ATTEMPTS: the winner's, then the better scored ones."""
    folded = course.folded
    best = None if folded.best is None else folded.owner(folded.best.address)
    ranks = _ranks(course)
    spoke = sorted(_spoke(course), key=lambda node: order(node.address))
    spoke.sort(key=lambda node: ranks.get(node.address, rank(None, "higher")), reverse=True)
    spoke.sort(key=lambda node: node.address != best)
    return spoke[:MAX_ATTEMPTS]


def _spoke(course: Course) -> list[Node]:
    owners = {course.folded.owner(one.address) for one in course.works if one.kind == "model"}
    return [node for address, node in course.folded.nodes.items() if address in owners]


def _ranks(course: Course) -> dict[str, Rank]:
    """The best verdict on what each node made."""
    found: dict[str, Rank] = {}
    for one in course.judged:
        owner = course.folded.owner(one.address)
        if owner is not None:
            mine = rank(one.verdict, course.folded.better)
            found[owner] = max(mine, found.get(owner, rank(None, "higher")))
    return found


def concerns(event: Event, folded: Fold, addresses: frozenset[str]) -> bool:
    """Whether event is part of a call that one of these nodes made itself."""
    if not isinstance(event, CallIntended | CallAnswered | CallFailed):
        return False
    return folded.owner(event.address) in addresses


def only(events: Iterable[Stamped], folded: Fold, nodes: Sequence[Node]) -> Iterator[Stamped]:
    """The events of the calls that these nodes made."""
    addresses = frozenset(node.address for node in nodes)
    return (stamped for stamped in events if concerns(stamped.event, folded, addresses))


def transcripts(
    course: Course, nodes: Sequence[Node], calls: Iterable[Tried], kept: Kept
) -> Iterator[Element]:
    """A fold for each of nodes, `t0` and so on, with its calls; what there is no room for is said."""
    folded = course.folded
    own: dict[str, list[Tried]] = {node.address: [] for node in nodes}
    for call in calls:
        if (owner := folded.owner(call.address)) in own:
            own[owner].append(call)
    page = _Room(MAX_TEXT)
    for number, node in enumerate(nodes):
        yield _attempt(folded, node, own[node.address], kept, page, f"t{number}")
    if left := len(_spoke(course)) - len(nodes):
        said = (
            f"{counted(left, 'more attempt')} asked models; `podium show RUN ADDRESS` prints what."
        )
        yield tag("p", said, class_="dim")


@dataclass(slots=True)
class _Room:
    """left: characters that the page still has room for."""

    left: int

    def cut(self, text: str) -> str:
        """text, as far as there is room for it."""
        shown = clipped(text, min(MAX_MESSAGE, max(self.left, 0)))
        self.left -= len(shown)
        return shown


def _attempt(
    folded: Fold, node: Node, calls: Sequence[Tried], kept: Kept, page: _Room, id_: str
) -> Element:
    score = "" if node.score is None else f", score {node.score:.6g}"
    outcome = node.outcome or "running"
    head = tag("summary", tag("b", safe_line(node.address, 200)), " ",
               tag("span", outcome, class_=outcome), score, " ",
               tag("span", price(node.own, folded.total), class_="dim"))  # fmt: skip
    fold = tag("details", head, id=id_)
    seen: set[str] = set()
    shown = 0
    for call in calls[:MAX_CALLS]:
        if page.left <= 0:
            break
        add(fold, *_call(folded, node, call, kept, page, seen))
        shown += 1
    if left := len(calls) - shown:
        add(
            fold,
            tag("p", f"{counted(left, 'more call')} that this page has no room for.", class_="dim"),
        )
    return fold


def _call(
    folded: Fold, node: Node, call: Tried, kept: Kept, page: _Room, seen: set[str]
) -> Iterator[Element]:
    where = call.address.removeprefix(node.address).lstrip("/") or node.address
    again = f" (try {call.number + 1})" if call.number else ""
    told = f": {call.told}, {price(call.spend, folded.total)}, {call.seconds:.1f}s"
    yield tag("h3", safe_line(f"{where}{again}", 120), tag("span", told, class_="dim"))
    names = kept.listed(call.messages)
    new = [name for name in names if name not in seen]
    seen.update(names)
    if before := len(names) - len(new):
        yield tag("p", f"{counted(before, 'message')} as above", class_="dim")
    for name in new:
        yield tag("div", name.partition(":")[0], class_="dim")
        yield tag("pre", page.cut(_text(kept, name)))
    if call.text:
        yield tag("div", "reply" if call.state == "answered" else call.state, class_="dim")
        yield tag("pre", page.cut(call.text))


def _text(kept: Kept, name: str) -> str:
    try:
        return kept.text(name)
    except KeyError:
        return "(not kept)"
