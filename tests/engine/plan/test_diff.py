"""The difference of two plans: aligned part by part, and the same read backwards."""

from dataclasses import replace
from functools import reduce

from hypothesis import given, settings
from hypothesis import strategies as st

from podium.dsl.model import Price
from podium.dsl.program import (
    Branch,
    Budget,
    Ceo,
    Fallback,
    Flow,
    ForEach,
    Lift,
    Limited,
    OutputField,
    Parallel,
    Program,
    Repeat,
    Route,
    Task,
)
from podium.engine.plan import Diff, diff
from podium.engine.plan.amounts import Amounts, Range
from podium.engine.plan.diff import Part
from podium.engine.testing.handmade import (
    HERE,
    agent,
    parallel,
    program,
    reduce_by,
    role,
    team,
    then,
)

PRICE = Price(input=20_000_000, cached=2_000_000, cache_write=20_000_000, output=80_000_000)
WRITER = replace(role("writer", "Write: ", "{task.statement}"), max_output=100)
SHAPED = replace(role("shaped"), output=(OutputField("answer", "text"),), max_output=80)
MENDS = replace(role("mends", "Mend: ", "{attempt.answer}"), max_output=50)
CHOOSES = replace(WRITER, name="chooses", output=(OutputField("choice", ("a", "b")),))
LISTS = replace(WRITER, name="lists", output=(OutputField("parts", "text", is_list=True),))
CHIEF = Ceo("adaptive", role("ceo", "Lead"))

LEAVES = st.sampled_from(
    [
        *map(agent, (WRITER, SHAPED, MENDS)),
        team(2, rounds=1),
        team((3, WRITER), ceo=CHIEF, rounds=2),
        team((1, WRITER), (1, SHAPED), rounds=3),
        reduce_by("best"),
        reduce_by("vote"),
    ]
)
BUDGETS = st.sampled_from(
    [Budget(), Budget(tokens=900), Budget(calls=3), Budget(usd=9_000), Budget(share=0.5)]
)


@st.composite
def _wider(draw: st.DrawFn, inner: st.SearchStrategy[Flow]) -> Flow:
    flows = tuple(draw(st.lists(inner, min_size=1, max_size=3)))
    count, flow = draw(st.integers(1, 4)), flows[0]
    forms: list[Flow] = [
        Parallel("parallel", HERE, tuple(Branch(count, one) for one in flows)),
        then(*flows),
        Fallback("fallback", HERE, flows),
        Repeat("repeat", HERE, count, flow),
        Route("route", HERE, CHOOSES, (("a", flow), ("b", flows[-1]))),
        ForEach("for_each", HERE, LISTS, count, flow),
        Lift("lift", HERE, flow),
        Limited("squad", HERE, flow, draw(BUDGETS)),
    ]
    return draw(st.sampled_from(forms))


FLOWS = st.recursive(LEAVES, _wider, max_leaves=6)
TASKS = (Task("one", "What is 2 + 2?"), Task("two", "What is 3 + 3, and why is it so?"))


@st.composite
def programs(draw: st.DrawFn) -> Program:
    made = program(draw(FLOWS), price=draw(st.sampled_from([PRICE, PRICE, Price(), None])))
    budget = draw(BUDGETS.filter(lambda one: one.share is None))
    return replace(made, budget=budget, tasks=TASKS[: draw(st.integers(1, 2))])


QUICK = settings(max_examples=60, deadline=None)


def addresses(part: Part) -> tuple[str | None, str | None]:
    old, new = part.old, part.new
    return (None if old is None else old.node.address, None if new is None else new.node.address)


@QUICK
@given(programs())
def test_a_plan_does_not_differ_from_itself(one: Program) -> None:
    found = diff(one, one)
    assert found.empty
    assert all(a == b for a, b in map(addresses, found.parts))
    assert len(found.parts) == len(list(found.old.plan.root.walk()))


@QUICK
@given(programs(), programs())
def test_every_part_of_both_plans_stands_in_the_difference_once(a: Program, b: Program) -> None:
    found = diff(a, b)
    for side, plan in enumerate((found.old.plan, found.new.plan)):
        seen = sorted(pair[side] or "" for pair in map(addresses, found.parts) if pair[side])
        assert seen == sorted(node.address for _, node in plan.root.walk())


@QUICK
@given(programs(), programs())
def test_a_difference_read_backwards_is_its_mirror(a: Program, b: Program) -> None:
    there, back = diff(a, b), diff(b, a)
    turned = {"added": "removed", "removed": "added"}
    mirrored = {addresses(p)[::-1]: turned.get(p.change, p.change) for p in back.parts}
    assert {addresses(part): part.change for part in there.parts} == mirrored
    assert (there.gained, there.lost) == (back.lost, back.gained)
    assert [(one.name, one.old, one.new) for one in there.settings] == [
        (one.name, one.new, one.old) for one in back.settings
    ]
    assert there.empty == back.empty


@QUICK
@given(programs(), programs())
def test_the_parts_own_differences_add_up_to_that_of_the_totals(a: Program, b: Program) -> None:
    found = diff(a, b)
    added = reduce(Amounts.plus, (part.own for part in found.parts), found.own)
    whole = found.new.plan.total.minus(found.old.plan.total)
    assert (added.calls, added.tokens) == (whole.calls, whole.tokens)
    if added.usd is not None:
        assert added.usd == whole.usd


# --- by example ------------------------------------------------------------------------------------


def changes(old: Flow, new: Flow) -> list[tuple[str, str | None, str | None]]:
    found = diff(program(old, price=PRICE), program(new, price=PRICE))
    return [(part.change, *addresses(part)) for part in found.parts]


def test_a_renumbered_sibling_is_the_same_part_and_one_between_is_new() -> None:
    old = then(parallel(3, agent(WRITER)), reduce_by("best"))
    new = then(parallel(3, agent(WRITER)), Lift("lift", HERE, agent(MENDS)), reduce_by("best"))
    assert changes(old, new) == [
        ("changed", "main", "main"),
        ("same", "main/1.parallel", "main/1.parallel"),
        ("same", "main/1.parallel/1-3.writer", "main/1.parallel/1-3.writer"),
        ("added", None, "main/2.lift"),
        ("added", None, "main/2.lift/1-3.mends"),
        ("same", "main/2.best", "main/3.best"),
    ]


def test_siblings_of_one_name_find_the_one_with_their_figures_first() -> None:
    old = parallel(1, agent(WRITER))
    small, large = team((2, WRITER)), team((5, WRITER))
    old = replace(old, branches=(Branch(1, small), Branch(1, large)))
    new = replace(old, branches=(Branch(1, large),))
    assert changes(old, new)[1:] == [
        ("removed", "main/parallel/1.team", None),
        ("same", "main/parallel/2.team", "main/parallel/1.team"),
    ]


def test_another_role_is_another_part_and_more_copies_are_a_change() -> None:
    old, new = parallel(3, agent(WRITER)), parallel(5, agent(WRITER))
    assert [change for change, *_ in changes(old, new)] == ["changed", "changed"]
    other = parallel(3, agent(SHAPED))
    assert [change for change, *_ in changes(old, other)] == ["changed", "removed", "added"]


def priced(price: Price | None, copies: int) -> Diff:
    old = program(parallel(2, agent(WRITER)), price=PRICE)
    return diff(old, program(parallel(copies, agent(WRITER)), price=price))


def test_a_new_price_is_named_and_an_unknown_one_makes_the_difference_unknown() -> None:
    found = priced(Price(), 2)
    assert [(one.where, one.name) for one in found.settings] == [("model m", "usd_per_million")]
    assert found.own.usd == Range()
    unknown = priced(None, 4)
    assert all(part.own.usd is None for part in unknown.parts)
    assert unknown.parts[1].own.calls == Range(2, 2, 2)


def test_parameters_and_what_is_touched_are_compared_too() -> None:
    old = replace(program(agent(WRITER)), params=(("k", 3, "default"), ("gone", 1, "default")))
    new = replace(old, params=(("k", 5, "--set"),))
    found = diff(old, new)
    assert [(one.name, one.old, one.new) for one in found.params] == [
        ("k", 3, 5),
        ("gone", 1, None),
    ]
    assert not found.empty
