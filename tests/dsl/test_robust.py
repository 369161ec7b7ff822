"""Whatever the text is, nothing but ProgramError comes out, and soon."""

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.dsl.compile import Choice, check, compile_run
from podium.dsl.problem import Problem, ProgramError
from podium.dsl.program import (
    Program,
)
from podium.dsl.source import Source

from .made import LIBRARY, NOUNS, refused


def test_doubling_flows_are_refused_by_size_without_being_written_out() -> None:
    doubles = "".join(f"flow f{i} = parallel of [f{i - 1}, f{i - 1}]\n" for i in range(1, 25))
    text = f'flow f0 = agent\n{doubles}run r {{ flow = f24  task = family("words") }}'
    assert [p.code for p in refused(text)] == ["E305"]


def test_flows_that_double_their_arguments_are_stopped() -> None:
    doubles = "".join(f"flow g{i} of x = g{i - 1} of (g{i - 1} of x)\n" for i in range(1, 30))
    text = f"flow g0 of x = x -> editor\n{doubles}flow h = g29 of agent\n{NOUNS}"
    assert "E405" in [p.code for p in check(Source("x.team", text), LIBRARY)]


@pytest.mark.parametrize(
    "text",
    [
        "flow f = " + "(" * 150 + "agent" + ")" * 150,
        "flow f = agent" + " -> agent" * 490,
        "flow f = same" + " -> same" * 490,
        "flow f = agent -> repeat(2, until = score >= 1" + " or score >= 1" * 490 + ") of same",
        "param n: int = 1" + " + 1" * 490,
        "flow f = " + "if true then agent else " * 150 + "agent",
        "flow f = " + "parallel of [" * 150 + "agent" + "]" * 150,
        "".join(f"flow f{i} = f{i + 1}\n" for i in range(300)) + "flow f300 = agent",
        "".join(f"role r{i} = r{i + 1}\n" for i in range(300)) + 'role r300 { prompt = "x" }',
        "".join(f"role r{i} = r{i + 1} with {{ turns = 3 }}\n" for i in range(300))
        + "role r300 = agent",
        "".join(f"flow f{i} = parallel of [f{i + 1}]\n" for i in range(300)) + "flow f300 = agent",
        "".join(f"flow f{i} of x = parallel of [f{i + 1} of x]\n" for i in range(300))
        + "flow f300 = agent",
        "".join(f"param p{i} = (p{i + 1})\n" for i in range(300)) + "param p300 = 1",
        'flow f = agent\ntask t { statement = "x"  pass = ' + "not " * 490 + "score >= 1 }",
    ],
)
def test_deep_and_long_programs_never_raise(text: str) -> None:
    def below(frames: int) -> tuple[Problem, ...]:
        return below(frames - 1) if frames else check(Source("x.team", text), LIBRARY)

    assert isinstance(below(200), tuple)


ATOMS = st.sampled_from(
    ["agent", "team(2)", "best", "same", "3", "$5", "4k tokens", "20%", "none", "true", '"x"', "[$1]",
     "score", "passed", "adaptive", "n", "m", "r", "t", "v", "f", "f()", "parallel(2)", "{ a = agent }",
     "env(\"X\")", "plateau(2)", "h.taste", "rows(\"set.jsonl\")", "file(\"issue.md\")", "last(2)"]
)  # fmt: skip


def _grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pair = st.tuples(inner, inner)
    return st.one_of(
        pair.map(lambda p: f"{p[0]} -> {p[1]}"),
        pair.map(lambda p: f"({p[0]}) of {p[1]}"),
        pair.map(lambda p: f"parallel({p[0]}) of {p[1]}"),
        pair.map(lambda p: f"repeat(2, until = {p[0]}) of ({p[1]})"),
        pair.map(lambda p: f"fallback of [{p[0]}, 2 of {p[1]}]"),
        pair.map(lambda p: f"team({p[0]}, members = [{p[1]}])"),
        pair.map(lambda p: f"({p[0]}) >= ({p[1]})"),
        pair.map(lambda p: f"({p[0]}) + ({p[1]})"),
        pair.map(lambda p: f"({p[0]}) per ({p[1]})"),
        pair.map(lambda p: f"(if {p[0]} then {p[1]} else {p[1]})"),
        inner.map(lambda e: f"({e}) with {{ prompt = {e} }}"),
        inner.map(lambda e: f"best(by = {e})"),
        inner.map(lambda e: f"f(size = {e}, budget = {e})"),
        inner.map(lambda e: f"({e}).a"),
        inner.map(lambda e: f"({e})(1)"),
        inner.map(lambda e: f"not ({e})"),
    )


FRAME = """
import "./house.team" as h
param n: int = 3
model m {{ endpoint = local("x") }}
role r {{ prompt = {0}  budget = {0} }}
task t {{ statement = {0}  verify = {0}  pass = {0} }}
verifier v = exact("4")
flow f(size: int = 2) = team(size, until = {0})
flow g(x) of y = ({0}) -> y
run main {{ flow = {0}  task = t  budget = {0}  seed = {0} }}
"""


@pytest.mark.parametrize(
    "count",
    [pytest.param(50, marks=pytest.mark.slow), pytest.param(300, marks=pytest.mark.long)],
)
def test_nothing_but_a_program_error_ever_comes_out(count: int) -> None:
    settings(max_examples=count, deadline=None)(
        given(st.recursive(ATOMS, _grow, max_leaves=5))(only_program_errors)
    )()


def only_program_errors(expression: str) -> None:
    text = FRAME.format(expression)
    problems = check(Source("x.team", text), LIBRARY)
    assert len({(p.place.source.name, p.place.span.start, p.code) for p in problems}) == len(
        problems
    )
    for choice in (Choice(), Choice(expression=expression, task="words")):
        source = Source("x.team", text if choice.expression is None else "")
        with suppress(ProgramError):
            assert isinstance(compile_run(source, LIBRARY, choice)[0], Program)
