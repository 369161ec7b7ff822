"""A program's flow as boxes and arrows, as Mermaid and as SVG."""

import re
from itertools import combinations
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from podium.dsl.model import Endpoint, Model
from podium.dsl.program import (
    Agent,
    Branch,
    Budget,
    Ceo,
    Fallback,
    Flow,
    ForEach,
    Lift,
    Limited,
    Member,
    Parallel,
    Program,
    Reduce,
    Repeat,
    Role,
    Route,
    Same,
    Team,
    Template,
    Text,
    Then,
)
from podium.dsl.source import Place, Source, Span
from podium.engine.shell.graph_model import drawing
from podium.engine.shell.graph_text import layers, layout, mermaid, mermaid_label, svg

AT = Place(Source("a.team", ""), Span(0, 0))
NASTY = 'a"b<c>&#]] --> x\x1b|`\u202e'


def role(name: str) -> Role:
    return Role(name, Template((Text("hi"),)))


def program(flow: Flow) -> Program:
    model = Model("m", (Endpoint("openai", "m"),))
    return Program("main", flow, (), {"m": model}, "m", budget=Budget(usd=5_000_000))


def agent(name: str) -> Flow:
    return Agent(name, AT, role(name))


TEAM = Team(
    "squad",
    AT,
    3,
    (Member(2, role("fixer")), Member(1, role("critic"))),
    ceo=Ceo("fixed", role("c")),
)
PARALLEL = Parallel("parallel", AT, (Branch(10, TEAM), Branch(2, agent("solo"))), passes=1)

leaves = st.sampled_from([agent(NASTY), TEAM, Same("same", AT), Reduce("best", AT, "best")])


def wrapped(inner: st.SearchStrategy[Flow]) -> st.SearchStrategy[Flow]:
    several = st.lists(inner, min_size=1, max_size=3).map(tuple)
    return st.one_of(
        several.map(lambda flows: Then("then", AT, flows)),
        several.map(lambda flows: Fallback("fallback", AT, flows)),
        several.map(lambda fs: Parallel("parallel", AT, tuple(Branch(2, f) for f in fs))),
        several.map(
            lambda fs: Route("route", AT, role("r"), tuple((f"k{i}", f) for i, f in enumerate(fs)))
        ),
        inner.map(lambda flow: Repeat("repeat", AT, 3, flow)),
        inner.map(lambda flow: ForEach("for_each", AT, role("s"), 4, flow)),
        inner.map(lambda flow: Lift("lift", AT, flow)),
        inner.map(lambda flow: Limited("l", AT, flow, Budget(calls=5))),
    )


flows = st.recursive(leaves, wrapped, max_leaves=8)


def test_a_flow_is_drawn_from_its_task_to_its_answer() -> None:
    drawn = drawing(program(Then("then", AT, (PARALLEL, Reduce("best", AT, "best")))))
    assert mermaid(drawn).splitlines() == [
        "flowchart TD",
        '  n0(["task"])',
        '  n1{{"parallel(12)<br/>stops once 1 passed"}}',
        '  n2[["squad#58; team of 3<br/>2 fixer, 1 critic<br/>fixed CEO"]]'.replace("#58;", ":"),
        '  n3["solo"]',
        '  n4[/"best"\\]',
        '  n5(["answer<br/>$5.00"])',
        "  n0 --> n1",
        '  n1 -->|"10 x"| n2',
        '  n1 -->|"2 x"| n3',
        "  n2 --> n4",
        "  n3 --> n4",
        "  n4 --> n5",
    ]


def test_a_loop_leads_back_and_a_budget_stands_where_it_holds() -> None:
    inner = Limited("x", AT, agent("x"), Budget(usd=1_000_000))
    text = mermaid(drawing(program(Repeat("repeat", AT, 3, inner))))
    assert 'n2["x<br/>$1.00"]' in text
    assert 'n2 -.->|"again"| n1' in text


@given(flows)
def test_every_box_lies_on_a_way_from_task_to_answer(flow: Flow) -> None:
    drawn = drawing(program(flow))
    last = len(drawn.boxes) - 1
    into = {arrow.end for arrow in drawn.arrows if not arrow.back}
    out_of = {arrow.start for arrow in drawn.arrows if not arrow.back}
    assert into == set(range(1, last + 1))
    assert out_of == set(range(last))


@given(flows)
def test_boxes_stand_below_what_leads_to_them_and_apart_from_each_other(flow: Flow) -> None:
    drawn = drawing(program(flow))
    depth = {box.number: row for row, boxes in enumerate(layers(drawn)) for box in boxes}
    assert all(depth[a.start] < depth[a.end] for a in drawn.arrows if not a.back)
    for a, b in combinations(layout(drawn).values(), 2):
        apart_x = abs(a.x - b.x) >= (a.width + b.width) / 2
        apart_y = abs(a.y - b.y) >= (a.height + b.height) / 2
        assert apart_x or apart_y


@given(flows)
def test_the_picture_is_well_formed_whatever_names_a_program_has(flow: Flow) -> None:
    picture = ElementTree.fromstring(svg(drawing(program(flow))))
    texts = [text.text or "" for text in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert not any("\x1b" in text or "\u202e" in text for text in texts)


def test_names_cannot_break_out_of_a_label() -> None:
    picture = ElementTree.fromstring(svg(drawing(program(agent(NASTY)))))
    texts = [text.text for text in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert 'a"b<c>&#]] --> x\\x1b|`\\u202e' in texts
    assert re.fullmatch(r"(?:[\w .,:()\-/$%]|#\d+;)*", mermaid_label(NASTY))
