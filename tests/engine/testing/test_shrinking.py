"""Failures made small: the smallest program and the fewest faults that still break the same promise."""

import re
from functools import cache

from hypothesis import given, settings

from podium.dsl.compile import Choice
from podium.dsl.format import format_text
from podium.dsl.library import MemoryLibrary
from podium.dsl.parse import parse
from podium.dsl.source import Source
from podium.engine.testing.cases import Tried, case_of, subjects, tried
from podium.engine.testing.shrinking import Shrunk, shrunk
from podium.engine.testing.smaller import smaller
from podium.engine.testing.strategies import Generated, programs
from podium.engine.testing.trees import printed
from podium.engine.testing.words import told_fault

CHOICE = Choice(allow=lambda kind, value: True)
TEXT = '''edition 2026
from std.roles import critic

## How many.
param k: int = 4
role writer { prompt = """{{ task.statement }}""" }
role editor { prompt = r"""Edit {{ this }}.""" }
task sum { statement = "2 + 2?"  verify = exact("4") }
task other { statement = "3 + 3?"  verify = exact("6") }

flow squad(size: int = 3, ways: int = 3) = parallel(ways) of team(size, ceo = adaptive) -> best
flow checked = parallel(2) of critic -> best

test bounded {
  flow    = squad(5, k)
  task    = sum
  given   = [busy(10s, after = 20s), slow(10s), cut(10%)]
  always  = [spent <= 9M tokens, held < 900 calls]
  never   = outcome == failed
  at_most = [10 calls, 9h]
}

test strict { flow = writer  task = sum  given = [slow(5s), refused(1 calls)]  never = outcome == failed }
run main { flow = squad  task = other  budget = [90k tokens] }
'''


@cache
def small(text: str, name: str) -> tuple[Tried, Shrunk]:
    """The first failure of the test of that name, and its smallest form."""
    source, library = Source("x.team", text), MemoryLibrary()
    ((one,), _) = subjects(source, library, CHOICE, [name])
    for number in range(1, 30):
        found = tried(one, case_of(one, 0, number))
        if found.broken:
            return found, shrunk(source, library, CHOICE, one, found)
    raise AssertionError(f"{name} keeps its promises")


def test_a_bound_on_calls_needs_neither_faults_nor_a_ceo() -> None:
    _, made = small(TEXT, "bounded")
    assert made.tried.case.faults == ()
    assert "ceo" not in made.text
    assert "import" not in made.text
    assert "main" not in made.text
    assert "always" not in made.text
    assert "at_most = [10 calls]" in made.text
    assert len(made.text.splitlines()) < 12


def test_the_fault_that_matters_stays_with_the_file() -> None:
    _, made = small(TEXT, "strict")
    assert [told_fault(fault) for fault in made.tried.case.faults] == ["refused(1 calls)"]
    assert "refused(1 calls)" in made.text
    assert "slow" not in made.text


def test_the_smallest_file_breaks_the_same_promise_by_itself() -> None:
    found, made = small(TEXT, "bounded")
    ((one,), _) = subjects(Source("y.team", made.text), MemoryLibrary(), CHOICE)
    again = tried(one, case_of(one, made.tried.case.seed, 1))
    assert again.broken == made.tried.broken
    assert again.broken[0].who == found.broken[0].who
    assert format_text(Source("y.team", made.text)) == made.text


def test_a_raw_prompt_survives() -> None:
    _, made = small(TEXT.replace("flow = writer", "flow = editor"), "strict")
    assert 'r"""Edit {{ this }}."""' in made.text


def test_expectations_keep_their_numbers_and_tasks_their_words() -> None:
    trees = list(smaller(parse(Source("x.team", TEXT))[0], "bounded"))
    texts = [printed(tree) for tree in trees]
    assert all("bounded" in text for text in texts)
    kept = [found for text in texts if (found := re.search(r"at_most = .*", text))]
    assert {found[0] for found in kept} == {
        "at_most = [10 calls, 9h]",
        "at_most = [10 calls]",
        "at_most = [9h]",
    }
    assert all("4" in t for t in texts if "task sum" in t)
    assert any("ways: int = 1" in t for t in texts)


@settings(max_examples=30)
@given(made=programs())
def test_every_step_leaves_less(made: Generated) -> None:
    size = len(printed(made.tree))
    for less in smaller(made.tree, "main"):
        assert printed(less) != printed(made.tree)
        assert len(printed(less)) <= size + len("$0.000001")
