"""What can be told of a flow from its form alone. Pure."""

from podium.dsl.program import (
    Agent,
    Fallback,
    Flow,
    ForEach,
    Lift,
    Limited,
    Parallel,
    Reduce,
    Repeat,
    Role,
    Route,
    Same,
    Team,
    Then,
    Verifier,
    subflows,
    verifier_of,
)


def segment(flow: Flow) -> str:
    """A flow's segment of the address where it has no number: none for a plain chain of steps."""
    inner = flow
    while isinstance(inner, Limited):
        inner = inner.flow
    return "" if isinstance(inner, Then) and flow.label == "then" else flow.label


def kind_of(flow: Flow) -> str:
    """The flow's form, as events name it."""
    match flow:
        case Reduce(how=how):
            return how
        case Limited(flow=inner):
            return kind_of(inner)
        case ForEach():
            return "for_each"
        case _:
            return type(flow).__name__.lower()


def gives_many(flow: Flow) -> bool:
    """Whether flow's value is Many, as far as its form says."""
    match flow:
        case Parallel() | Lift() | ForEach():
            return True
        case Agent(role=role):
            return {"attempt", "attempts"} <= role.takes
        case Reduce(how=how):
            return how in ("top", "sample", "score")
        case Then(steps=steps):
            return gives_many(steps[-1])
        case Limited(flow=inner) | Repeat(flow=inner):
            return gives_many(inner)
        case Fallback(options=options):
            return gives_many(options[0])
        case Route(cases=cases):
            return gives_many(cases[0][1])
        case Team() | Same():
            return False


def verifiers_in(flow: Flow) -> tuple[Verifier, ...]:
    """The verifiers that flow and what is in it name, each once, in the order of the text."""
    found: list[Verifier] = []
    seen = set[int]()
    waiting = [flow]
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        own = verifier_of(one)
        if own is not None and own not in found:
            found.append(own)
        waiting.extend(reversed(subflows(one)))
    return tuple(found)


def first_role(flow: Flow) -> Role | None:
    """The role that speaks first in flow; None where no model is asked first."""
    match flow:
        case Agent(role=role) | Route(by=role) | ForEach(by=role):
            return role
        case Team(ceo=ceo, recruit=recruit, members=members):
            return recruit or (ceo.role if ceo is not None else members[0].role)
        case Parallel(branches=branches):
            return first_role(branches[0].flow)
        case Then(steps=steps):
            return next(filter(None, map(first_role, steps)), None)
        case Fallback(options=options):
            return first_role(options[0])
        case Lift(flow=inner) | Repeat(flow=inner) | Limited(flow=inner):
            return first_role(inner)
        case Same() | Reduce():
            return None
