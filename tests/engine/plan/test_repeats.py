"""What a plan says of repeated beginnings, against servers that keep all they have read."""

import random
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import anyio
import pytest
import trio.testing
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.dsl.compile import Choice, compile_run
from podium.dsl.library import MemoryLibrary
from podium.dsl.model import Price
from podium.dsl.program import Program
from podium.dsl.source import Source
from podium.engine.call import ModelCall, Usage
from podium.engine.plan import plan
from podium.engine.plan.amounts import Amounts, Range, charge
from podium.engine.plan.repeats import Beginnings, Known, Repeats, Share
from podium.engine.testing import Say

from .test_promise import HEADER, PRICE, QUICK, Server, flows, played

BLOCK = 64  # characters, 16 tokens


@dataclass
class Warm(Server):
    """Keeps all it has read, for all who ask; 4 bytes a token, replies of half their caps."""

    read: set[int] = field(default_factory=set[int])
    input: int = 0
    cached: int = 0

    def answer(self, call: ModelCall) -> Say:
        prompt = "\0".join(message.content for message in call.messages)
        marks = [hash(prompt[:end]) for end in range(BLOCK, len(prompt) + 1, BLOCK)]
        hits = next((n for n, mark in enumerate(marks) if mark not in self.read), len(marks))
        self.read.update(marks)
        chance = random.Random(call.address)
        text, half = self._text(call, chance), call.max_output // 2
        if call.schema is None:
            text = (text + "".join(chance.choices("abcdefgh ", k=4 * half)))[: 4 * half]
        usage = Usage(input=-(-len(prompt) // 4), cached=hits * BLOCK // 4, output=half)
        self.input += usage.input
        self.cached += usage.cached
        return Say(text, usage=usage, delay=chance.uniform(1, 3))


def made(flow: str, price: str = "none") -> Program:
    header = HEADER.replace("PRICE", price).replace("= 2000 tokens", "= 30000 tokens")
    text = f"{header}run main {{\n  task = hello\n  flow = {flow}\n  budget = [$900]\n}}\n"
    return compile_run(Source("x.team", text), MemoryLibrary(), Choice())[0]


def served(program: Program, folder: Path) -> Warm:
    server = Warm(random.Random(1), hard=False, window=30_000)
    options = {"clock": trio.testing.MockClock(autojump_threshold=0)}
    work = partial(played, folder, program, server)
    anyio.run(work, backend="trio", backend_options=options)
    return server


@pytest.mark.slow
@settings(QUICK, max_examples=5)
@given(flow=flows(budgets=False))
def test_no_more_comes_from_a_cache_than_the_plan_says(
    tmp_path_factory: pytest.TempPathFactory, flow: str
) -> None:
    holds(flow, tmp_path_factory.mktemp("run"))


@pytest.mark.long
@settings(QUICK, max_examples=100)
@given(flow=flows(budgets=False))
def test_no_more_of_many_programs_comes_from_a_cache_than_the_plan_says(
    tmp_path_factory: pytest.TempPathFactory, flow: str
) -> None:
    holds(flow, tmp_path_factory.mktemp("run"))


def holds(flow: str, folder: Path) -> None:
    """What is read beyond what was expected, as by a fallback's second option, may repeat too."""
    program = made(flow)
    server, planned = served(program, folder), plan(program).total.repeats
    beyond = max(0, server.input - planned.input)
    assert server.cached <= planned.again.tokens + beyond
    assert server.cached <= planned.most


@pytest.mark.parametrize(
    ("flow", "off"),
    [
        ("team(4, rounds = 3, order = in_turn)", 0.1),
        ("parallel(3) of team(4, rounds = 2) -> best", 0.25),
        ("team(2, members = [2 of member], sees = last(2), rounds = 9)", 0.1),
    ],
)
def test_the_transcripts_of_teams_repeat_as_planned(tmp_path: Path, flow: str, off: float) -> None:
    program = made(flow)
    planned = plan(program).total.repeats.again.tokens
    assert 0 <= planned - served(program, tmp_path).cached <= off * planned


def again(flow: str) -> int:
    return plan(made(flow)).total.repeats.again.tokens


def test_one_call_repeats_nothing_and_copies_repeat_all_of_it_but_once() -> None:
    one = plan(made("writer")).total.repeats
    assert (one.again.tokens, one.most > 0) == (0, True)
    assert again("parallel(8) of writer -> best") == 7 * one.input


def test_a_step_that_is_given_other_attempts_repeats_its_head_alone() -> None:
    chain = plan(made("parallel(8) of (writer -> reviser) -> best"))
    read = {node.label: node.amounts.repeats for _, node in chain.root.walk()}
    writers = 7 * read["writer"].input
    assert writers < chain.total.repeats.again.tokens < writers + 7 * read["reviser"].input


def test_dollars_are_told_without_and_with_the_rate_of_cached_tokens() -> None:
    total = plan(made("parallel(8) of writer -> best", PRICE)).total
    assert total.usd is not None
    assert total.usd_cached is not None
    # $20 a million against $2.
    assert total.usd.expected - total.usd_cached == 18 * total.repeats.again.tokens
    same_rate = PRICE.replace("cached = $2 per", "cached = $20 per")
    assert plan(made("parallel(8) of writer -> best", same_rate)).total.usd_cached is None


sizes = st.integers(1, 500)


@given(sizes, sizes, st.integers(0, 500), st.integers(0, 500), st.integers(0, 9), st.booleans())
def test_copies_never_repeat_more_than_they_read(
    into: int, size: int, again: int, head: int, count: int, alike: bool
) -> None:
    again = min(again, size)
    head = min(head, size - again)
    known = Known(again, size - again, head)
    one = charge(Range(1, into, into), Range(), Price(10, 1, 10, 10), known, size)
    copies = one.times(count, alike=alike)
    for each in (copies, copies.times(2), copies.times(2, alike=True), copies.plus(one), Amounts()):
        assert 0 <= each.repeats.again.tokens <= each.repeats.input <= each.repeats.most


def test_no_copies_repeat_nothing() -> None:
    assert Repeats(5, 9, Share(1), Share(4), Share(2)).times(0) == Repeats()


def test_beginnings_are_known_by_model_and_by_what_they_share() -> None:
    sent = Beginnings()
    assert sent.known("m", "You solve. A", 12) == Known(0, 12, 12)
    assert sent.known("m", "You solve. B", 20) == Known(11, 9, 1)
    assert sent.known("m", "You", 3) == Known(3, 0, 0)
    assert sent.known("other", "You", 3) == Known(0, 3, 3)
