"""Generated programs: well typed, quick, and readable once shrunk; and what parser, formatter, checker and plan
must keep for each of them."""

import re
import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, find, given, settings
from hypothesis import strategies as st

from podium.dsl.budgets import tighter
from podium.dsl.compile import Choice, check, compile_run
from podium.dsl.format import format_text, same
from podium.dsl.lex import lex
from podium.dsl.library import MemoryLibrary
from podium.dsl.parse import parse
from podium.dsl.program import Budget, Program
from podium.dsl.source import Source
from podium.engine.plan import plan
from podium.engine.plan.amounts import Amounts
from podium.engine.testing.strategies import (
    Generated,
    commented,
    garbled,
    programs,
)
from podium.engine.testing.trees import printed

QUICK = settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],  # a busy machine is no mistake
)
# What a program may be told without being wrong: budgets that can never bind, or that share too little, files and
# folders that nobody opens, and judges on the only model there is.
ALLOWED = {"W604", "N302", "W601", "W610", "W611"}


def compiled(made: Generated) -> Program:
    program, _ = compile_run(made.source, made.library, Choice())
    return program


# --- the programs --------------------------------------------------------------------------------


@QUICK
@given(programs())
def test_the_checker_accepts_every_generated_program(made: Generated) -> None:
    assert {problem.code for problem in check(made.source, made.library)} <= ALLOWED
    assert compiled(made).name == made.run


@QUICK
@given(programs())
def test_a_printed_tree_is_read_as_that_tree(made: Generated) -> None:
    for text in (printed(made.tree), made.text):
        read, problems = parse(Source("x", text))
        assert problems == []
        assert same(read, made.tree)


@QUICK
@given(programs(budgets=False, teams=False, verifiers=["exact"], flows=["repeat"]))
def test_what_is_left_out_is_in_no_program(made: Generated) -> None:
    for word in ("budget", "team(", "contains(", "fallback", "route", "for_each", "std.flows"):
        assert word not in made.text


def test_a_form_or_verifier_that_does_not_exist_is_refused() -> None:
    for wrong in (programs(flows=["loop"]), programs(verifiers=["oracle"])):
        with pytest.raises(ValueError, match=r"there is no '(loop|oracle)'"):
            find(wrong, lambda _: True)


@pytest.mark.long
def test_a_program_with_a_team_inside_a_parallel_shrinks_to_a_few_lines() -> None:
    made = find(
        programs(),
        lambda made: re.search(r"parallel\([^)]*\) of team", printed(made.tree)) is not None,
        settings=settings(QUICK, max_examples=2_000, database=None),
    )
    # A model, a role, a task and a run: a judge's role stays, where the search is over before it is tried without.
    assert len(made.text.splitlines()) <= 20, made


# --- what is done with them ----------------------------------------------------------------------


@QUICK
@given(commented(programs()))
def test_a_layout_keeps_tree_and_comments_and_is_stable(text: str) -> None:
    source = Source("x", text)
    result = format_text(source)
    assert same(parse(source)[0], parse(Source("x", result))[0])
    assert [c.rstrip() for c in lex(text).comments] == [c.rstrip() for c in lex(result).comments]
    assert format_text(Source("x", result)) == result


@QUICK
@given(st.one_of(garbled(programs()), st.text(), st.text(alphabet='(){}[]"#\n ->=,$%.abr0')))
def test_any_text_gives_problems_and_never_an_exception(text: str) -> None:
    source = Source("x", text)
    _, problems = parse(source)
    every = [*problems, *check(source, MemoryLibrary())]
    assert all(0 <= p.place.span.start <= p.place.span.end for p in every)


@QUICK
@given(programs())
def test_a_plan_is_in_order_and_its_parts_are_within_it(made: Generated) -> None:
    """At least <= expected <= at most of the whole and of every part; no part may need more than the whole may."""
    found = plan(compiled(made))
    for amounts in (found.total, *(node.amounts for _, node in found.root.walk())):
        assert_in_order(amounts)
    for _, node in found.root.walk():
        if node.count == 1:
            assert node.amounts.calls.least <= found.total.calls.most


@QUICK
@given(programs(), st.integers(1, 9))
def test_a_tighter_budget_plans_no_more(made: Generated, calls: int) -> None:
    program = compiled(made)
    free = plan(program).total
    tight = plan(replace(program, budget=tighter(program.budget, Budget(calls=calls)))).total
    assert tight.calls.most <= min(calls, free.calls.most)
    if not any(
        task.verify and any(leaf.judges for leaf in task.verify.leaves()) for task in program.tasks
    ):
        # Where a budget may run out any attempt may be the answer, and a judge may be asked about more of them.
        assert tight.tokens.most <= free.tokens.most


def assert_in_order(amounts: Amounts) -> None:
    for each in (amounts.calls, amounts.tokens, amounts.usd):
        if each is not None:
            assert each.least <= each.expected <= each.most


def test_the_fakes_need_no_hypothesis_and_the_strategies_say_that_they_do() -> None:
    code = (
        "import sys\n"
        "sys.modules['hypothesis'] = None\n"
        "import podium.engine.testing\n"
        "try:\n"
        "    import podium.engine.testing.strategies\n"
        "except ImportError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "needs Hypothesis: install it with `pip install hypothesis`" in done.stdout
