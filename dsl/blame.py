"""Who is to blame for a mistake that shows in several places, or in another than where it was made."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from . import syntax
from .problem import Label, Problem
from .source import Place
from .values import Scope

CALLED = "called here"
_USED = " is used here"
OF_TYPES = frozenset({"E120", "E121", "E125", "E211", "E308"})
"""What is told where a value is of a wrong type."""


_MOST_USES = 3  # of a name that nothing has; shown beside the first


def as_one(
    found: list[Problem], items: Sequence[syntax.Expr], scope: Scope, *, alike: bool = True
) -> list[Problem]:
    """What was found in a list or chain: where every item is of a wrong type, it is, and that is told once.

    alike: all in the same way.
    """
    places = [scope.place(item.span) for item in items]
    wrong = [
        p.place for p in found if p.code in OF_TYPES and (not alike or p.code == found[0].code)
    ]
    if len(places) < 2 or wrong != places or len(found) > len(wrong):
        return found
    others = tuple(Label(place, "and this") for place in places[1:])
    return [replace(found[0], secondary=(*found[0].secondary, *others))]


def wrong_callee(found: list[Problem], call: syntax.Call, scope: Scope) -> list[Problem]:
    """What was found in a call, without what a wrong callee makes of its arguments: none of them fits."""
    places = {scope.place(a.name_span or a.value.span): a for a in call.args}
    strange = [p for p in found if p.code in ("E111", "E113") and p.place in places]
    values = [scope.place(a.value.span) for a in call.args]
    misfits = [p for p in found if p.code in OF_TYPES and p.place in values]
    others = [label.place for p in strange for label in p.secondary if label.place in places]
    unfit = {*others, *(p.place for p in strange + misfits)}
    if len(unfit) < max(2, len(call.args)):
        return found
    if not strange:
        return as_one(found, [a.value for a in call.args], scope, alike=False)
    return [p for p in found if p not in misfits and p not in strange[1:]]


def shown_directly(problems: Sequence[Problem]) -> Iterator[Problem]:
    """Without what is told of an argument and is told already where the argument is used."""
    direct = {(p.code, p.place) for p in problems}
    for problem in problems:
        used = problem.secondary[:1]
        inside = used and used[0].text.endswith(_USED)
        if not (inside and (problem.code, used[0].place) in direct):
            yield problem


def named_once(problems: Iterable[Problem]) -> Iterator[Problem]:
    """The problems in order; a name that nothing has is told where it is used first, with the next few uses."""
    uses: dict[tuple[str, str], list[Problem]] = {}
    for problem in problems:
        key = (problem.place.source.name, problem.about or str(id(problem)))
        uses.setdefault(key, []).append(problem)
    for first, *others in uses.values():
        labels = tuple(Label(other.place, "and here") for other in others[:_MOST_USES])
        yield replace(first, secondary=(*first.secondary, *labels)) if labels else first


def at_argument(problem: Problem, given: Mapping[str, Place]) -> Problem:
    """A value that a call gives and a parameter's type allows, but not its use: the call is to blame."""
    inside = problem.place
    name = inside.source.text[inside.span.start : inside.span.end]
    if problem.code not in OF_TYPES or name not in given or problem.secondary:
        return problem
    label = Label(inside, f"`{name}`{_USED}")
    return replace(problem, place=given[name], secondary=(label,), edits=())


def at_call(problem: Problem, place: Place) -> Problem:
    """A mistake that shows inside the standard library is the caller's: it is told at the call."""
    inside = problem.place
    if not inside.source.name.startswith("std.") or place.source == inside.source:
        return problem
    where = Label(inside, f"seen in {inside.source.name}")
    return replace(problem, place=place, secondary=(where, *problem.secondary), edits=())


def called(problem: Problem, place: Place) -> Problem:
    """A mistake that a call brings into a flow shows the call, beside what it goes against."""
    inside = problem.place
    if inside.source == place.source and place.span.start <= inside.span.start < place.span.end:
        return problem
    if is_called(problem):
        return problem
    return replace(problem, secondary=(*problem.secondary, Label(place, CALLED)))


def is_called(problem: Problem) -> bool:
    """Whether a call brought it; what a flow's own text brings is told without one."""
    return any(label.text == CALLED for label in problem.secondary)


def ruled(found: Sequence[Problem], at: Place, rule: Label) -> list[Problem]:
    """What was found at an argument; of a wrong type, with the rule that says what is wanted."""
    return [
        replace(p, secondary=(rule,))
        if p.place == at and p.code in OF_TYPES and not p.secondary
        else p
        for p in found
    ]
