"""The formatter on generated programs, with comments and line breaks anywhere."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from podium.dsl.format import format_text, same
from podium.dsl.lex import lex
from podium.dsl.parse import parse
from podium.dsl.source import Source

NAMES = st.sampled_from(["a", "b1", "squad", "best", "a_rather_long_name_for_a_thing", "x"])
ATOMS = st.one_of(
    NAMES,
    st.sampled_from(
        [
            *("3", "0.25", "10k", "$2.50", "400k tokens", "500 calls", "1h30m", "20%", "true"),
            *("07:00", "2026-12-01 07:00"),
            *("none", '"text"', '"a # b"', '"\\" {{"', '"""one {{ x }} line"""', "{}", "[]"),
            '"""\n      two\n        lines {{ task.name | clip(3) }}\n      """',
            'r"""\n    {{ raw }}\n\n    text\n    """',
            '"a long text that takes much of the room that there is on a line of this width, or more"',
        ]
    ),
)


def _joined(parts: list[str]) -> str:
    return " ".join(parts)


def _expressions(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    args = st.lists(
        st.one_of(inner, st.tuples(NAMES, inner).map(lambda t: f"{t[0]} = {t[1]}")), max_size=4
    )
    fields = st.lists(st.tuples(NAMES, inner).map(lambda t: f"{t[0]} = {t[1]}"), max_size=4)
    typed = st.tuples(NAMES, TYPES).map(lambda t: f"{t[0]} : {t[1]}")
    operators = st.sampled_from(["+", "-", "*", "/", "and", "or", "->", "of"])
    return st.one_of(
        st.tuples(NAMES, args).map(lambda t: f"{t[0]} ( {' , '.join(t[1])} )"),
        st.lists(inner, min_size=1, max_size=4).map(lambda xs: f"[ {' , '.join(xs)} , ]"),
        fields.map(lambda fs: f"{{ {_joined(fs)} }}"),
        typed.map(lambda f: f"{{ {f} , }}"),
        st.tuples(NAMES, fields).map(lambda t: f"{t[0]} with {{ {' , '.join(t[1])} }}"),
        inner.map(lambda x: f"( {x} )"),
        inner.map(lambda x: f"( - ( {x} ) )"),
        st.tuples(inner, operators, inner).map(lambda t: f"( ( {t[0]} ) {t[1]} ( {t[2]} ) )"),
        st.tuples(NAMES, NAMES, NAMES).map(lambda t: f"( {' -> '.join(t)} )"),
        st.tuples(inner, inner, inner).map(lambda t: f"( if {t[0]} then {t[1]} else {t[2]} )"),
    )


TYPES = st.sampled_from(
    ["int", "int ( 1 to 64 )", '"low" | "high"', "[ text ]", "Many ( Attempt , [ T ] )"]
)
EXPRESSIONS = st.recursive(ATOMS, _expressions, max_leaves=8)
DECLARATIONS = st.one_of(
    st.tuples(NAMES, EXPRESSIONS).map(lambda t: f"flow {t[0]} = {t[1]}"),
    st.tuples(NAMES, EXPRESSIONS, NAMES).map(lambda t: f"flow {t[0]} = {t[1]} -> {t[2]} -> x"),
    st.tuples(NAMES, TYPES, EXPRESSIONS).map(
        lambda t: f"flow {t[0]} ( p : {t[1]} = {t[2]} , q ) of inner : Many = inner"
    ),
    st.tuples(NAMES, EXPRESSIONS, EXPRESSIONS, EXPRESSIONS).map(
        lambda t: f"run {t[0]} {{ flow = {t[1]} budget = {t[2]} , a_longer_name = {t[3]} }}"
    ),
    st.tuples(NAMES, TYPES).map(lambda t: f"param {t[0]} : {t[1]}"),
    st.just("from std.roles import a , b as c"),
    st.just('import "./x.team" as house'),
    st.just("from std.flows import ( debate , )"),
)
PROGRAMS = st.lists(DECLARATIONS, max_size=5)


@st.composite
def spaced(draw: st.DrawFn) -> str:
    """A program whose blanks became line breaks and comments here and there."""
    lines: list[str] = []
    for declaration in draw(PROGRAMS):
        lines.append(draw(st.sampled_from(["", "\n", "## doc\n", "# note\n\n", "\n  # in\n"])))
        lines.append(_respaced(declaration, draw))
        lines.append(draw(st.sampled_from(["\n", "  # end\n", "\n\n\n"])))
    return "".join(lines) + draw(st.sampled_from(["", "# last", "\n# last\n"]))


def _respaced(declaration: str, draw: st.DrawFn) -> str:
    """The tokens of a declaration with gaps between them that a formatter has to clear up."""
    gaps = draw(st.lists(st.sampled_from(_GAPS), min_size=6, max_size=6))
    tokens = [str(token) for token in lex(declaration).tokens]
    return (
        "".join(token + gaps[at % len(gaps)] for at, token in enumerate(tokens[:-1])) + tokens[-1]
    )


_GAPS = [" ", " ", "  ", "\n  ", "\n\n    ", " # why\n  ", "\n  # own\n  ", "\n\n  # apart\n\n  "]


@pytest.mark.parametrize(
    "count",
    [pytest.param(40, marks=pytest.mark.slow), pytest.param(300, marks=pytest.mark.long)],
)
def test_format_keeps_tree_and_comments_and_is_stable(count: int) -> None:
    sample = settings(
        max_examples=count,
        deadline=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.too_slow],  # a busy machine is no mistake
    )
    sample(given(spaced())(keeps_tree_and_comments_and_is_stable))()


def keeps_tree_and_comments_and_is_stable(text: str) -> None:
    result = format_text(Source("x", text))
    assert same(parse(Source("x", text))[0], parse(Source("x", result))[0])
    assert lex(text).comments == lex(result).comments
    assert format_text(Source("x", result)) == result
    assert not any(line.endswith(" ") for line in result.splitlines() if '"' not in line)
