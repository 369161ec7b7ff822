"""What each part of a run is set to, defaults included: models, caps, rounds, how many must answer. Pure.

Values are those in force, as JSON values: tokens and counts are numbers, a condition is its text.
"""

from collections.abc import Iterator, Mapping, Sequence

from podium.dsl.model import Model, Price, Rent
from podium.dsl.program import (
    Agent,
    AllOf,
    AnyOf,
    Budget,
    Ceo,
    Compare,
    Condition,
    Fallback,
    Flag,
    Limited,
    Not,
    Parallel,
    Plateau,
    Program,
    Reduce,
    Repeat,
    Role,
    Team,
)

from ..agent.act import DEFAULT_WINDOW, cap_of
from ..spend import MICRO
from ..team.ceo import DEFAULT_OUTPUT
from ..value import Json
from .asks import Models
from .nodes import Node

Settings = Mapping[str, Json]


def of_run(program: Program) -> Settings:
    return {
        "budget": of_budget(program.budget),
        "by": [str(moment) for moment in program.by],
        "on_exhausted": program.on_exhausted,
        "split": program.split,
        "max_agents": program.max_agents,
        "seed": program.seed,
    }


def of_models(program: Program) -> dict[str, Settings]:
    """The run's models by name."""
    return {name: _model(model) for name, model in program.models.items()}


def of_node(program: Program, node: Node) -> Settings:
    """What the part is set to; its budgets too, where it has any of its own."""
    found = dict(_form(Models(program), node))
    if node.budgets:
        found |= {"budget": [of_budget(one.budget) for one in node.budgets]}
        found |= {"on_exhausted": _policy(node.budgets)}
    return found


def of_budget(budget: Budget) -> dict[str, Json]:
    """The bounds there are: dollars, tokens, calls, live seconds, a share of those around."""
    usd = None if budget.usd is None else budget.usd / MICRO
    bounds: dict[str, Json] = {
        "usd": usd,
        "tokens": budget.tokens,
        "calls": budget.calls,
        "seconds": budget.seconds,
        "share": budget.share,
    }
    return {name: bound for name, bound in bounds.items() if bound is not None}


def _policy(budgets: Sequence[Limited]) -> list[Json]:
    return [one.on_exhausted or "best" for one in budgets]


def _model(model: Model) -> Settings:
    price = model.price
    longer = () if price is None else price.longer
    return {
        "context": model.context or DEFAULT_WINDOW,
        "assumed": model.context is None,
        "usd_per_million": None if price is None else _rates(price),
        **(
            {"longer": [{"above": above, **_rates(one)} for above, one in longer]} if longer else {}
        ),
        "inflight": model.limits.inflight,
        **({"priced_by": model.priced_by} if model.priced_by else {}),
        **({} if model.rent is None else {"rent": _rent(model, model.rent)}),
    }


def _rent(model: Model, rent: Rent) -> str:
    count = len(model.endpoints)
    each = f" for each of {count} replicas" if count > 1 else ""
    return f"${rent.usd / MICRO * 3600 / rent.seconds:g} per 1h{each}"


def _rates(price: Price) -> dict[str, Json]:
    rates = (price.input, price.cached, price.cache_write, price.output)
    names = ("input", "cached", "cache_write", "output")
    return {name: rate / MICRO for name, rate in zip(names, rates, strict=True)}


def _form(models: Models, node: Node) -> Iterator[tuple[str, Json]]:
    match node.flow:
        case Agent(role=role):
            yield from _role(models, role, None).items()
        case Team() as team:
            yield from _team(models, team)
        case Parallel() as flow:
            yield "stop", _stop(flow.passes)
            yield "need", flow.need
            yield "split", flow.split
            yield "inflight", flow.inflight or "all"
            yield "migrate", "none" if flow.migrate is None else f"every({flow.migrate})"
        case Fallback(accept=accept):
            yield "accept", "passed, if there is a pass rule" if accept is None else text(accept)
        case Repeat(max=rounds, until=until):
            yield "max", rounds
            yield "until", "none" if until is None else text(until)
        case Reduce(how="best" | "top" | "score", by=by):
            yield "by", "the task's verifier" if by is None else by.name
        case _:
            pass


def _stop(passes: int | None) -> str:
    return "none" if passes is None else "first_pass" if passes == 1 else f"pass({passes})"


def _role(models: Models, role: Role, model: str | None) -> dict[str, Json]:
    """Whom a role is asked on, how long its reply may be, in tokens, and what it has to work with."""
    asking = models.of(role, model)
    found: dict[str, Json] = {
        "model": role.model or model or models.program.default_model,
        "context": asking.window,
        "max_output": cap_of(role, asking.window),
    }
    if role.tools:  # without, an agent is asked once
        found |= {"tools": _tools(role), "turns": role.turns, "when_full": role.context}
    return found


def _tools(role: Role) -> list[Json]:
    """As they are written; of functions their names."""
    return [
        f"submit({tool.args['times']})" if "times" in tool.args else tool.name
        for tool in role.tools
    ]


def _team(models: Models, team: Team) -> Iterator[tuple[str, Json]]:
    yield "rounds", team.rounds
    yield "order", team.order
    yield "sees", f"last({team.last})" if team.sees == "last" else team.sees
    yield "style", team.style
    yield "until", "none" if team.until is None else text(team.until)
    members = [
        {"count": member.count, "role": member.role.name, **_role(models, member.role, team.model)}
        for member in team.members
    ]
    yield "members", members
    yield "ceo", "none" if team.ceo is None else _ceo(models, team.ceo, team.model)
    yield "recruit", _outside(models, team.recruit, team.model)
    yield "cycles", team.cycles
    yield "execute", "none" if team.execute is None else team.execute.name
    yield "evaluate", _outside(models, team.evaluate, team.model)
    yield "claims", f"lease({team.lease:g}s)" if team.lease else "none"
    yield "workspace", team.workspace
    yield "compat", team.compat or "none"


def _outside(models: Models, role: Role | None, model: str | None) -> Json:
    return "none" if role is None else {"role": role.name, **_role(models, role, model)}


def _ceo(models: Models, ceo: Ceo, model: str | None) -> dict[str, Json]:
    found = _role(models, ceo.role, model)
    window = models.of(ceo.role, model).window
    cap = ceo.role.max_output or min(DEFAULT_OUTPUT, window // 4)
    return {
        "mode": ceo.mode,
        "role": ceo.role.name,
        **found,
        "max_output": max(1, min(cap, window)),
        "sets": sorted(ceo.sets),
    }


def text(condition: Condition) -> str:
    """A condition as it is written in the language."""
    match condition:
        case Compare(name="spent_usd", operator=sign, value=value):
            return f"spent {sign} ${_number(value / MICRO)}"
        case Compare(name=name, operator=sign, value=value) if name.startswith("spent_"):
            return f"spent {sign} {_number(value)} {name.removeprefix('spent_')}"
        case Compare(name=name, operator=sign, value=value):
            return f"{name} {sign} {_number(value)}"
        case Flag(name=name):
            return name
        case Plateau(rounds=rounds):
            return f"plateau({rounds})"
        case AllOf(parts=parts):
            return " and ".join(_inside(part) for part in parts)
        case AnyOf(parts=parts):
            return " or ".join(_inside(part) for part in parts)
        case Not(part=part):
            return f"not {_inside(part)}"


def _number(value: float) -> str:
    return str(int(value)) if value.is_integer() else repr(value)


def _inside(condition: Condition) -> str:
    simple = isinstance(condition, Compare | Flag | Plateau | Not)
    return text(condition) if simple else f"({text(condition)})"
