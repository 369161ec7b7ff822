"""The page of a run: whole, harmless, and with the same figures as the run's fold."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from html.parser import HTMLParser
from time import perf_counter
from typing import Any
from xml.etree.ElementTree import Element

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from podium.dsl.compile import Choice, compile_run
from podium.dsl.library import MemoryLibrary
from podium.dsl.program import Budget
from podium.dsl.source import Source
from podium.engine.call import Usage
from podium.engine.event import (
    CallAnswered,
    CallFailed,
    CallIntended,
    Event,
    Improved,
    NodeEnded,
    NodeStarted,
    RunEnded,
    RunStarted,
    Scored,
    Stamped,
)
from podium.engine.fold import Fold
from podium.engine.ledger import Amount
from podium.engine.notes import Note
from podium.engine.plan import plan
from podium.engine.shell import charts, run_page, run_talk, run_tree
from podium.engine.shell.calls import tries
from podium.engine.shell.course import course_of
from podium.engine.shell.page import clipped
from podium.engine.shell.run_page import Shown
from podium.engine.shell.run_plan import by_part
from podium.engine.shell.run_talk import Kept, only, speakers
from podium.engine.shell.winner import won
from podium.engine.testing.faults import Schedule, schedule
from podium.engine.testing.simulate import simulate
from podium.engine.testing.strategies import Generated, programs
from podium.engine.workspace import File

ATTACK = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\x1b[2J\u202eevil\x00 \"' onload='x"
_VOID = {"meta", "link", "br", "hr", "img", "input"}
_HARMFUL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]"
)


class Read(HTMLParser):
    """A page as a browser reads it: the elements with their attributes, balanced, and the text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.all: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.all.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] != "style":
            self.text.append(data)

    @property
    def words(self) -> str:
        return "".join(self.text)

    def ids(self) -> list[str]:
        return [found for _, named in self.all if (found := named.get("id"))]


def stamped(events: Iterable[Event], each_s: float = 1.0) -> list[Stamped]:
    return [Stamped(i, 1000.0 + i * each_s, event) for i, event in enumerate(events)]


def page_of(
    events: Sequence[Stamped],
    text: Callable[[str], str] = lambda name: f"asked {name}",
    notes: Sequence[Note] = (),
    limits: dict[str, Budget] | None = None,
    program: Any = None,
    name: str = "main",
) -> str:
    course = course_of(events, Fold())
    chosen = speakers(course)
    calls = tries(only(events, course.folded, chosen), frozenset())
    planned = None if program is None else plan(program)
    shown = Shown(
        "2026-a", name, 1000.0, course, program, planned, limits or {}, notes, chosen, calls, Kept(list, text),
        {"<b>.py": File(b"1234")},
    )  # fmt: skip
    return run_page.run_page(shown)


def call(address: str, text: str, spent: Amount, kind: str = "model", try_: int = 0) -> list[Event]:
    reply: dict[str, Any] = {
        "text": text,
        "finish": "stop",
        "usage": {},
        "served": "m",
        "replica": "r",
        "reasoning": "",
    }
    usage = Usage(input=spent.tokens // 2, output=spent.tokens // 2)
    intent = CallIntended(address, try_, "a", kind, "d", spent, "m", "r", ("user:1",))
    return [intent, CallAnswered(address, try_, "a", spent, usage, reply, 1.0)]


def agents(count: int, text: str = "yes", score: Callable[[int], float] = float) -> Iterator[Event]:
    """A run of a `parallel` of agents, of which the last is best."""
    yield RunStarted(1, 1, "h", "0")
    yield NodeStarted("main", "parallel", "parallel")
    for i in range(1, count + 1):
        address = f"main/{i}.agent"
        yield NodeStarted(address, "agent", "agent")
        yield from call(f"{address}/c1", text, Amount(1_000 * i, 10 * i, 1))
        yield Scored(address, "v", score(i), i == count)
        yield Improved(address, score(i), i == count, text)
        yield NodeEnded(address, "passed" if i == count else "finished", "", score(i))
    yield NodeEnded("main", "passed", "")
    yield RunEnded("passed", "", False, text, score(count), True, 5.0)


# --- harmless ---------------------------------------------------------------------------------------


def test_no_text_of_a_model_becomes_markup_or_turns_what_is_around_it() -> None:
    events: list[Event] = [
        RunStarted(1, 1, "h", "0"),
        NodeStarted("main", ATTACK, ATTACK),
        NodeStarted(f"main/{ATTACK}", "agent", ATTACK),
        *call(f"main/{ATTACK}/c1", ATTACK, Amount(1, 2, 1)),
        Scored(f"main/{ATTACK}", ATTACK, 1.0, True, flags=(ATTACK,)),
        Improved(f"main/{ATTACK}", 1.0, True, ATTACK),
        NodeEnded(f"main/{ATTACK}", ATTACK, ATTACK, 1.0),
        NodeEnded("main", "failed", ATTACK),
        RunEnded("failed", ATTACK, False, ATTACK, 1.0, True, 1.0),
    ]
    note = Note("2026-a", 0.0, ATTACK)
    limits = {ATTACK: Budget(usd=5), "run main": Budget(usd=5)}
    page = page_of(stamped(events), lambda _: ATTACK, [note], limits, name=ATTACK)
    read = Read(page)
    assert not {name for name, _ in read.all} & {
        "script",
        "img",
        "iframe",
        "object",
        "form",
        "base",
        "a:href",
    }
    assert not [
        key for _, named in read.all for key in named if key.startswith("on") or key == "style"
    ]
    assert not _HARMFUL.search(page)
    assert all(
        named["href"].startswith("#t") for tag, named in read.all if tag == "a" and named["href"]
    )
    assert read.words.count("<script>alert(1)</script>") > 5  # it is there, as text
    assert "<b>.py" in read.words


def test_nothing_is_run_or_loaded_and_only_the_own_styles_are_let_in() -> None:
    page = page_of(stamped(agents(2)))
    policy = next(v["content"] for t, v in Read(page).all if t == "meta" and "http-equiv" in v)
    assert policy is not None
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    assert "http://" not in page
    assert "https://" not in page


def test_a_huge_text_is_cut_in_its_middle_and_says_so() -> None:
    text = "a" * 500_000 + "b" * 500_000
    page = page_of(stamped(agents(1, text)), lambda _: text)
    assert len(page) < 100_000
    cut = Read(page).words
    assert f"[… {1_000_000 - run_talk.MAX_MESSAGE:,} characters left out …]" in cut
    assert "aaa" in cut
    assert "bbb" in cut
    assert clipped("short", 5) == "short"
    assert "short" not in clipped("short", 0)


# --- what is on it ------------------------------------------------------------------------------------


def test_the_page_says_why_the_winner_won_and_who_came_next() -> None:
    read = Read(page_of(stamped(agents(3))))
    for words in (
        "The best attempt is main/3.agent: score 3, passed.",
        "3 attempts were judged, 2 of them before it.",
        "Next best: main/2.agent (score 2, did not pass), 1 behind.",
    ):
        assert words in read.words


def test_an_equal_attempt_is_told() -> None:
    events = stamped([*agents(1), Scored("main/2.agent", "v", 1.0, True)])
    said = [*won(course_of(events, Fold()), None)]
    assert "1 other attempt is as good: main/2.agent (score 1, passed)." in said


def test_an_answer_that_is_not_the_best_attempt_is_told() -> None:
    events = [*agents(2)]
    events[-1] = RunEnded("finished", "", False, "another", 1.0, False, 5.0)
    said = " ".join(won(course_of(stamped(events), Fold()), None))
    assert "The run gave another answer (score 1, did not pass): its flow chose it." in said


def test_a_best_attempt_of_a_branch_that_lost_its_race_is_told() -> None:
    events = [*agents(2)]
    events[-3] = NodeEnded("main/2.agent", "stopped", "lost", 2.0)
    events[-1] = RunEnded("passed", "", False, "another", 1.0, True, 5.0)
    said = " ".join(won(course_of(stamped(events), Fold()), None))
    assert "the best attempt is of main/2.agent, which was stopped when others won its race" in said
    assert "1 branch was stopped when others won their race." in said


def test_budgets_stand_beside_what_was_used_the_fullest_first() -> None:
    limits = {"run main": Budget(usd=60_000, tokens=1_000), "main/1.agent": Budget(calls=1)}
    words = Read(page_of(stamped(agents(3)), limits=limits)).words
    assert words.index("main/1.agent1 calls1 calls") < words.index("run main$0.0600$0.0060")


def test_only_the_time_that_the_run_was_live_is_on_the_timeline() -> None:
    """A day lies between its two lives."""
    first = stamped([*agents(1)][:4])
    lost = CallFailed("main/1.agent/c1", 0, "a", "lost", "", Amount(1, 1, 1), Usage(), True, 0.0)
    later = stamped(
        [lost, RunStarted(2, 1, "h", "0"), *call("main/1.agent/c1", "x", Amount(1, 1, 1), try_=1)]
    )
    events = first + [Stamped(4 + s.number, s.time + 86_400, s.event) for s in later]
    course = course_of(events, Fold())
    assert [(w.began, w.ended, w.end) for w in course.works] == [
        (3.0, 3.0, "lost"),
        (4.0, 5.0, "answered"),
    ]
    assert course.lives == [0.0, 3.0]


def test_a_run_without_calls_or_an_end_has_a_page_too() -> None:
    read = Read(page_of(stamped([RunStarted(1, 1, "h", "0"), NodeStarted("main", "agent", "a")])))
    assert "No attempt was judged" in read.words
    Read(page_of([]))


# --- bounded ------------------------------------------------------------------------------------------


def test_more_than_there_is_room_for_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(charts, "MAX_MARKS", 3)
    monkeypatch.setattr(charts, "MAX_DOTS", 3)
    monkeypatch.setattr(charts, "MAX_LANES", 2)
    monkeypatch.setattr(run_talk, "MAX_ATTEMPTS", 2)
    monkeypatch.setattr(run_tree, "MAX_NODES", 4)
    monkeypatch.setattr(run_page, "MAX_ROWS", 2)
    words = Read(page_of(stamped(agents(8)))).words
    for said in (
        "a bar is how many of its lane were at work",
        "3 of 8 dots are drawn",
        "main/1.agent … 4.agent",
        "and 5 more here",
        "6 more attempts asked models",
        "The best 2 of 8 judged attempts.",
    ):
        assert said in words


@pytest.mark.long
def test_a_run_of_ten_thousand_calls_has_a_page_of_some_megabytes_in_seconds() -> None:
    events = stamped(agents(10_000, "a reply of some length " * 40), 0.01)
    began = perf_counter()
    page = page_of(events)
    assert perf_counter() - began < 20
    assert len(page) < 8_000_000
    assert len([one for one in Read(page).ids() if one.startswith("n")]) == 10_001


# --- any run ------------------------------------------------------------------------------------------


@pytest.mark.long
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(programs(), st.integers(0, 1_000))
def test_any_run_has_a_page_with_each_node_once_and_the_figures_of_its_fold(
    made: Generated, seed: int
) -> None:
    program, _ = compile_run(made.source, made.library, Choice())
    faults = schedule(seed) if seed % 2 else Schedule(seed)
    found = simulate(program, schedule=faults, replay=False)
    agrees(page_of(found.events, program=program), found.events)


def test_the_page_of_a_run_with_resends_has_the_figures_of_its_fold() -> None:
    events = [*agents(3)]
    failed = CallFailed(
        "main/2.agent/c1", 0, "a", "endpoint", "down", Amount(5, 5, 1), Usage(), True, 1.0
    )
    intent = CallIntended("main/2.agent/c1", 0, "a", "model", "d", Amount(9, 9, 1), "m", "r")
    resent = stamped([*events[:6], intent, failed, *events[6:]])
    agrees(page_of(resent), resent)


def agrees(page: str, events: Sequence[Stamped]) -> None:
    """The page is whole and harmless, with each node once, beside what it and all below it took."""
    ids, course = Read(page).ids(), course_of(events, Fold())
    folded = course.folded
    assert len(ids) == len(set(ids))
    assert len([one for one in ids if one.startswith("n")]) == len(folded.nodes)
    assert dict(figures(run_tree.topology(folded, {}))) == {
        address: run_tree.price(spend, folded.total) for address, spend in folded.totals().items()
    }
    assert len(course.works) == sum(isinstance(one.event, CallIntended) for one in events)
    assert not _HARMFUL.search(page)


def figures(element: Element, above: str = "") -> Iterator[tuple[str, str | None]]:
    """The address of each node of a topology, and the figures beside it."""
    for node in element:
        head = node.find("summary") if node.tag == "details" else node
        if node.get("id") and head is not None:
            address = above + "".join(head[0].itertext())
            yield address, next(one.text for one in head if one.get("class") == "dim")
            yield from figures(node, f"{address}/")


FLOW = """edition 2026
task sums { statement = "Add."  verify = exact("3") }
run main { flow = parallel(3) of team(2, rounds = 1) -> best  task = sums  budget = [1M tokens] }
"""


ROWS = """edition 2026
task sums = rows("sums.jsonl") with { statement = row.q, verify = exact(row.a) }
run main { flow = parallel(2) of agent -> best  task = sums  budget = [1M tokens] }
"""


def test_the_parts_of_a_run_of_several_tasks_are_those_of_its_rows() -> None:
    rows = "".join(f'{{"q": "{n} + 1", "a": "{n + 1}"}}\n' for n in range(3))
    library = MemoryLibrary(files={"sums.jsonl": rows})
    program, _ = compile_run(Source("main.team", ROWS), library, Choice())
    events = simulate(program, seed=1, replay=False).events
    parts = by_part(course_of(events, Fold()).folded, plan(program).root)
    assert sorted(len(ran) for ran in parts.values()) == [3, 3, 3, 6]
    assert "Problems: " in Read(page_of(events, program=program)).words


def test_each_part_of_the_plan_stands_beside_what_its_copies_took() -> None:
    program, _ = compile_run(Source("main.team", FLOW), MemoryLibrary(), Choice())
    events = simulate(program, seed=1, replay=False).events
    parts = by_part(course_of(events, Fold()).folded, plan(program).root)
    assert sorted(parts["main/1.parallel/1-3.team"]) == [
        f"main/1.parallel/{n}.team" for n in (1, 2, 3)
    ]
    words = Read(page_of(events, program=program)).words
    assert "team of 2, 1 round3" in words
