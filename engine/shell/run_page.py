"""The page of a run: all that its events tell, in one file. Pure; its parts are in the modules beside it."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from podium.dsl.program import Budget, Program

from ..early import early, is_lost
from ..fold import Fold, Node
from ..notes import Note
from ..plan import Plan
from ..reduce import order
from ..workspace import File
from .calls import Tried
from .charts import leaderboard, timeline
from .course import Course
from .early_view import saved_and_wasted
from .ending import answer_text
from .page import Part, clipped, document, markup, table, tag
from .run_plan import budgets, planned
from .run_talk import Kept, transcripts
from .run_tree import price, topology
from .safe import safe_line
from .summary import (
    against_baseline,
    best_team,
    dollars,
    failure_lines,
    headline,
    one_agent,
    problems,
    suspicions,
    unsafe,
)
from .units import counted, show_count, show_seconds
from .winner import ranked, won

MAX_ANSWER = 20_000  # characters
MAX_ROWS = 20  # of a table of budgets, attempts, losers or tasks


@dataclass(frozen=True, slots=True)
class Shown:
    """What a page is made of. name, created: the run's. program, plan: None where they are not known.

    limits: the run's budgets by the names that people know them by. speakers: the nodes whose transcripts are on
    the page, and calls: theirs. files: that came with the answer, by path.
    """

    run: str
    name: str
    created: float
    course: Course
    program: Program | None
    plan: Plan | None
    limits: Mapping[str, Budget]
    notes: Sequence[Note]
    speakers: Sequence[Node]
    calls: Iterable[Tried]
    kept: Kept
    files: Mapping[str, File]

    @property
    def folded(self) -> Fold:
        return self.course.folded

    @property
    def is_alone(self) -> bool:
        """Whether it has one task, so that there is one best attempt."""
        return not self.folded.tasks and (self.program is None or len(self.program.tasks) < 2)


def run_page(shown: Shown) -> str:
    """The page as text: one file without a script, which a browser opens from anywhere."""
    title = f"Run {shown.run}"
    return document(title, (markup(part) for part in _parts(shown)))


def _parts(shown: Shown) -> Iterator[Element]:
    yield from _top(shown)
    yield from _section("Why the winner won" if shown.is_alone else "Tasks", _winner(shown))
    scores = "Best so far over spend" if shown.is_alone else "Scores over spend"
    yield from _section(scores, _drawn(leaderboard(shown.course, alone=shown.is_alone)))
    yield from _section("Budgets", budgets(shown.folded, shown.limits))
    if shown.plan is not None:
        yield from _section("Planned and spent", planned(shown.folded, shown.plan))
    yield from _section("Saved and wasted", _early(shown.folded))
    yield from _section("Timeline", _timeline(shown.course))
    anchors = {node.address: f"t{i}" for i, node in enumerate(shown.speakers)}
    yield from _section("Topology", _topology(shown.folded, anchors))
    said = transcripts(shown.course, shown.speakers, shown.calls, shown.kept)
    yield from _section("Transcripts", said)


def _section(title: str, parts: Iterable[Element]) -> Iterator[Element]:
    """The parts under a heading; nothing where there are none."""
    if inside := list(parts):
        yield tag("h2", title)
        yield from inside


def _p(*words: Part) -> Element:
    return tag("p", *words)


# --- the top ----------------------------------------------------------------------------------------


def _top(shown: Shown) -> Iterator[Element]:
    folded = shown.folded
    started = time.strftime("%Y-%m-%d %H:%M", time.localtime(shown.created))
    yield tag("h1", f"{safe_line(shown.name, 120)}: {headline(folded)}")
    lives = (
        f", {counted(len(shown.course.lives), 'life', 'lives')}"
        if len(shown.course.lives) > 1
        else ""
    )
    yield tag("p", f"Run {shown.run}, started {started}{lives}", class_="dim")
    yield tag(
        "div",
        *(tag("div", tag("b", value), name) for name, value in _cards(folded)),
        class_="cards",
    )
    for words in filter(None, (unsafe(folded), *suspicions(folded), *failure_lines(folded))):
        yield tag("p", words, class_="failed")
    for words in filter(None, (against_baseline(folded), one_agent(folded), best_team(folded))):
        yield _p(words)
    for note in shown.notes:
        yield _p(tag("span", f"Note of {note.day}: ", class_="dim"), clipped(note.text, MAX_ANSWER))
    if (answer := answer_text(folded)) is not None:
        yield tag("h2", "Answer" if folded.ended is not None else "Best answer so far")
        yield tag("pre", clipped(answer, MAX_ANSWER))
    yield from _files(shown.files)


def _files(files: Mapping[str, File]) -> Iterator[Element]:
    """The names of what came with the answer; what is in them is written by `podium show RUN --out`."""
    rows = [(safe_line(path, 200), f"{len(file.data):,}") for path, file in sorted(files.items())]
    if rows:
        yield table(("file", "bytes"), rows[: 10 * MAX_ROWS])
        yield tag("p", f"{counted(len(rows), 'file')} came with the answer.", class_="dim")


def _cards(folded: Fold) -> Iterator[tuple[str, str]]:
    ended, best, amount = folded.ended, folded.best, folded.total.amount
    final = ended if ended is not None else best
    if final is not None and final.score is not None:
        yield "score", f"{final.score:.6g}"
    yield "spent", dollars(folded.total)
    yield "tokens", show_count(amount.tokens)
    yield "calls", show_count(amount.calls)
    yield "live time", show_seconds(folded.seconds)
    yield "attempts judged", show_count(len({address for address, _ in folded.scores}))


# --- why --------------------------------------------------------------------------------------------


def _winner(shown: Shown) -> Iterator[Element]:
    if not shown.is_alone:
        yield from _tasks(shown.folded)
        return
    for words in won(shown.course, shown.program):
        yield _p(words)
    best = ranked(shown.course)
    if len(best) < 2:
        return
    totals, whole = shown.folded.totals(), shown.folded.total
    rows: list[list[Part]] = []
    for place, one in enumerate(best[:MAX_ROWS], 1):
        verdict, owner = one.verdict, shown.folded.owner(one.address)
        passed = {None: "", True: "passed", False: "not passed"}[verdict.passed]
        score = "" if verdict.score is None else f"{verdict.score:.6g}"
        cost = price(totals[owner], whole) if owner is not None else ""
        rows.append([f"{place}", safe_line(one.address, 200), passed, score, cost])
    yield table(("", "attempt", "", "score", "its node took"), rows, left=3)
    if len(best) > MAX_ROWS:
        yield tag("p", f"The best {MAX_ROWS} of {len(best):,} judged attempts.", class_="dim")


def _tasks(folded: Fold) -> Iterator[Element]:
    if said := problems(folded):
        yield _p(said)
    ended = sorted(folded.tasks.values(), key=lambda one: order(one.address))
    rows: list[list[Part]] = []
    for one in ended[: 10 * MAX_ROWS]:
        score = "" if one.score is None else f"{one.score:.6g}"
        rows.append([safe_line(one.task, 80), one.outcome, score, safe_line(one.reason, 120)])
    if rows:
        yield table(("task", "outcome", "score", "reason"), rows, left=4)
    if len(ended) > len(rows):
        yield tag("p", f"The first {len(rows)} of {len(ended):,} tasks.", class_="dim")


# --- what was saved ----------------------------------------------------------------------------------


def _early(folded: Fold) -> Iterator[Element]:
    found = early(folded)
    if not (said := saved_and_wasted(found)):
        return
    yield _p(said)
    totals = folded.totals()
    lost = [
        node
        for node in folded.nodes.values()
        if is_lost(node) and node.began and not _within_lost(folded, node)
    ]
    lost.sort(key=lambda node: totals[node.address].amount, reverse=True)
    rows = [
        (safe_line(n.address, 200), price(totals[n.address], folded.total)) for n in lost[:MAX_ROWS]
    ]
    if rows:
        yield table(("lost its race", "what it had taken"), rows)
    if len(lost) > MAX_ROWS:
        yield tag("p", f"The dearest {MAX_ROWS} of {counted(len(lost), 'loser')}.", class_="dim")


def _within_lost(folded: Fold, node: Node) -> bool:
    above = folded.parent(node.address)
    return above is not None and is_lost(folded.nodes[above])


# --- drawings ---------------------------------------------------------------------------------------


def _drawn(chart: tuple[Element, str] | None) -> Iterator[Element]:
    if chart is not None:
        drawing, said = chart
        yield tag("p", said, class_="dim")
        yield tag("div", drawing, class_="wide")


_LEGEND = (
    ("answered", "model"),
    ("judged", "verifier"),
    ("tool", "tool"),
    ("wrong", "failed"),
    ("gone", "cancelled, lost, or in flight"),
)


def _timeline(course: Course) -> Iterator[Element]:
    chart = timeline(course)
    yield from _drawn(chart)
    if chart is not None:
        marks: list[Part] = []
        for kind, name in _LEGEND:
            box = tag("rect", class_=kind, width=10, height=10)
            marks += [tag("svg", box, class_="share", width=10, height=10), f"{name} "]
        yield tag("p", *marks, class_="dim")


def _topology(folded: Fold, anchors: Mapping[str, str]) -> Iterator[Element]:
    if folded.nodes:
        yield tag(
            "p",
            "A bar is a node's share of what the run spent; the way to the winner is marked.",
            class_="dim",
        )
        yield topology(folded, anchors)
    outside = folded.outside.amount
    if outside.calls or outside.usd:
        yield tag(
            "p", f"Outside of all nodes: {price(folded.outside, folded.total)}.", class_="dim"
        )
