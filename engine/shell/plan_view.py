"""A plan for people and for programs. Pure: rows, sentences, and the JSON object."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from podium.dsl.program import (
    Agent,
    EnvRef,
    Flow,
    ForEach,
    Lift,
    Model,
    Parallel,
    Program,
    Reduce,
    Repeat,
    Route,
    Task,
    Team,
    Verifier,
    subflows,
)
from podium.dsl.verifiers import VENDOR_HOST, host_of

from ..agent.act import DEFAULT_WINDOW
from ..plan import Binding, Node, Plan
from ..plan.amounts import Amounts, Range
from ..spend import MICRO
from .safe import safe_line
from .units import show_count, show_seconds, show_usd

UNKNOWN = "unknown"


class Row(NamedTuple):
    """A row of the plan's tree; figures are at least, expected and at most."""

    name: str
    agents: str
    calls: str
    tokens: str
    usd: str
    seconds: str


def rows(planned: Plan) -> Iterator[Row]:
    """The parts from the top down, a part's copies as one row with the figures of one, then the total."""
    for depth, node in planned.root.walk():
        times = f"{node.count:,} x " if node.count > 1 else ""
        name = "  " * depth + times + safe_line(described(node), 60)
        yield _row(name, node.agents, node.amounts, node.seconds)
        if node.binding is not None:
            yield Row("  " * depth + f"! binds: {safe_line(bound(node.binding), 80)}", *[""] * 5)
    yield _row("total", planned.agents, planned.total, planned.seconds)


def described(node: Node) -> str:
    """What a part is, in the words of the language."""
    flow = node.flow
    match flow:
        case Parallel(branches=branches):
            what = f"parallel({sum(branch.count for branch in branches)})"
        case Team(size=size, rounds=rounds, ceo=ceo):
            chief = "" if ceo is None else f", {ceo.mode} CEO"
            what = f"team of {size}, {rounds} rounds{chief}"
        case Repeat(max=most):
            what = f"repeat, at most {most}"
        case Route(by=by):
            what = f"route, by {by.name}"
        case ForEach(by=by, max=most):
            what = f"for_each, by {by.name}, at most {most}"
        case Lift():
            what = "for each attempt"
        case Reduce(how="top" | "sample" as how, k=k):
            what = f"{how}({k})"
        case Agent(role=role):
            return role.name
        case _:
            what = node.kind
    return what if node.label in (node.kind, "lift", "then") else f"{node.label}: {what}"


def _row(name: str, agents: int, amounts: Amounts, seconds: float | None) -> Row:
    usd = amounts.usd
    return Row(
        name,
        show_count(agents),
        _figures(amounts.calls),
        _figures(amounts.tokens),
        UNKNOWN if usd is None else " / ".join(map(show_usd, usd)) if any(usd) else show_usd(0),
        UNKNOWN if seconds is None else f"<= {show_seconds(seconds)}",
    )


def _figures(figures: Range) -> str:
    return " / ".join(map(show_count, figures)) if len(set(figures)) > 1 else show_count(figures[0])


def bound(binding: Binding) -> str:
    """Which budget binds: `the tokens of main (400k)`."""
    limit = show_usd(binding.limit) if binding.dimension == "usd" else show_count(binding.limit)
    name = "dollars" if binding.dimension == "usd" else binding.dimension
    return f"the {name} of {binding.address} ({limit})"


# --- below the tree --------------------------------------------------------------------------------


def notes(program: Program, planned: Plan) -> Iterator[str]:
    """What else there is to say, a line each."""
    if planned.binding is not None:
        yield f"Binding budget: {bound(planned.binding)}."
    else:
        yield "No budget binds: all that is planned fits."
    unpriced = sorted(name for name, model in program.models.items() if model.price is None)
    if unpriced:
        yield f"Unknown price: {', '.join(unpriced)}; dollars that hang on it are unknown."
    if planned.assumed:
        names = ", ".join(planned.assumed)
        yield (
            f"Assumed: {names} reads {DEFAULT_WINDOW:,} tokens; only its server knows. "
            "`context` in the model says it."
        )
    if baselines := sum(task.baseline is not None for task in program.tasks):
        what = "The baseline is" if baselines == 1 else f"{baselines} baselines are"
        yield f"{what} scored before anything is sent."
    for name, value, origin in program.params:
        yield f"Parameter {name} = {value!r} ({origin})"
    yield from (f"{kind}: {', '.join(names)}" for kind, names in touched(program).items() if names)


def touched(program: Program) -> dict[str, list[str]]:
    """What a run of program would touch besides its own text, by kind; variables by name, never by value."""
    hosts, variables = set[str](), set[str]()
    for model in program.models.values():
        for host, names in map(_reached, _addresses(model)):
            hosts.add(host)
            variables |= names
    python = {str(v.args.get("ref")) for v in _verifiers(program) if v.kind == "python"}
    files = [source.name for source in program.sources if not source.name.startswith("std.")]
    return {
        "Hosts": sorted(hosts),
        "Variables": sorted(variables),
        "Files": files,
        "Python": sorted(python),
    }


class _Address(NamedTuple):
    kind: str
    url: str | EnvRef | None
    key: EnvRef | None


def _addresses(model: Model) -> Iterator[_Address]:
    return (_Address(one.kind, one.base_url, one.key) for one in model.endpoints)


def _reached(address: _Address) -> tuple[str, set[str]]:
    """The host that an endpoint is on, and the variables that its address and key are read from."""
    names = {ref.name for ref in (address.url, address.key) if isinstance(ref, EnvRef)}
    if address.kind == "local":
        return "this machine (embedded model)", names
    match address.url:
        case None:
            keys = set[str]() if address.key is not None else {"OPENAI_API_KEY"}
            return f"{VENDOR_HOST}, or that of OPENAI_BASE_URL", names | keys | {"OPENAI_BASE_URL"}
        case EnvRef(name=name):
            return f"that of {name}", names
        case str(url):
            host = host_of(url) or url
            keys = {"OPENAI_API_KEY"} if host == VENDOR_HOST and address.key is None else set[str]()
            return host, names | keys


def _verifiers(program: Program) -> Iterator[Verifier]:
    tasks: tuple[Task, ...] = program.tasks
    yield from (task.verify for task in tasks if task.verify is not None)
    yield from (
        flow.by for flow in _flows(program.flow) if isinstance(flow, Reduce) and flow.by is not None
    )


def _flows(flow: Flow) -> Iterator[Flow]:
    seen = set[int]()
    waiting = [flow]
    while waiting:
        one = waiting.pop()
        if id(one) not in seen:
            seen.add(id(one))
            yield one
            waiting.extend(subflows(one))


# --- JSON ------------------------------------------------------------------------------------------


def as_json(planned: Plan) -> dict[str, Any]:
    """The plan as one object; dollars are null where a price is unknown."""
    binding = planned.binding
    return {
        "schema": 1,
        "nodes": [
            {
                "address": node.address,
                "kind": node.kind,
                **_amounts_json(node.agents, node.amounts),
            }
            for _, node in planned.root.walk()
        ],
        "total": _amounts_json(planned.agents, planned.total),
        "binding": None
        if binding is None
        else {
            "address": binding.address,
            "dimension": binding.dimension,
            "limit": _dollars(binding.limit) if binding.dimension == "usd" else binding.limit,
        },
    }


def _amounts_json(agents: int, amounts: Amounts) -> dict[str, Any]:
    usd = amounts.usd
    return {
        "agents": agents,
        "calls": _range_json(amounts.calls),
        "tokens": _range_json(amounts.tokens),
        "usd": _range_json(None if usd is None else [_dollars(micro) for micro in usd]),
    }


def _range_json(figures: Sequence[float] | None) -> dict[str, float | None]:
    names = ("at_least", "expected", "at_most")
    return dict.fromkeys(names) if figures is None else dict(zip(names, figures, strict=True))


def _dollars(micro: int) -> float:
    return micro / MICRO
