"""A plan for people and for programs. Pure: rows, sentences, and the JSON object."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from podium.dsl.model import Price
from podium.dsl.program import (
    Agent,
    ForEach,
    Lift,
    Parallel,
    Program,
    Reduce,
    Repeat,
    Route,
    Team,
)

from ..agent.act import DEFAULT_WINDOW
from ..call import CallError
from ..folders import begun
from ..plan import Binding, Node, Plan
from ..plan.amounts import NOTHING, Amounts, Range
from ..plan.rents import Rents
from ..plan.settings import of_models, of_node, of_run
from ..plan.touched import touched
from ..spend import MICRO, unpriced
from ..workspace import read
from .safe import safe, safe_json, safe_line
from .settings_view import in_force
from .units import counted, show_calls, show_count, show_seconds, show_tokens, show_usd

UNKNOWN = "unknown"
# The dollars of a part that asks rented models alone.
BY_TIME = "by time"


class Row(NamedTuple):
    """A row of the plan's tree; figures are at least, expected and at most. cached: of what is expected."""

    name: str
    agents: str
    calls: str
    tokens: str
    cached: str
    usd: str
    seconds: str


def rows(program: Program, planned: Plan) -> Iterator[Row]:
    """The parts from the top down, a part's copies as one row with the figures of one, then the total."""
    by_time = planned.rents is not None and _has_none_free(program)
    for depth, node in planned.root.walk():
        times = f"{node.count:,} x " if node.count > 1 else ""
        name = "  " * depth + times + safe_line(described(node), 60)
        row = _row(name, node.agents, node.amounts, node.seconds)
        has_calls = node.amounts.calls.most > 0 and node.amounts.usd == NOTHING.usd
        yield row._replace(usd=BY_TIME) if by_time and has_calls else row
        if node.binding is not None:
            yield Row("  " * depth + f"! binds: {safe_line(bound(node.binding), 80)}", *[""] * 6)
    yield _row("total", planned.agents, planned.total, planned.seconds)


def _has_none_free(program: Program) -> bool:
    """Whether each of its models costs something, by its tokens or by time."""
    models = program.models.values()
    return all(one.rent is not None or one.price not in (None, Price()) for one in models)


def described(node: Node) -> str:
    """What a part is, in the words of the language."""
    flow = node.flow
    match flow:
        case Parallel(branches=branches):
            what = f"parallel({sum(branch.count for branch in branches)})"
        case Team(size=size, rounds=rounds, ceo=ceo, cycles=cycles):
            chief = "" if ceo is None else f", {ceo.mode} CEO"
            each = f"{cycles} cycles of " if cycles > 1 else ""
            what = f"team of {size}, {each}{counted(rounds, 'round')}{chief}"
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
    return Row(
        name,
        show_count(agents),
        figures(amounts.calls),
        figures(amounts.tokens),
        up_to(amounts.repeats.again.tokens),
        dollars(amounts.usd),
        span(seconds),
    )


def up_to(count: int) -> str:
    return f"<= {show_count(count)}" if count else "0"


def figures(these: Range) -> str:
    """`3`, or `1 / 3 / 6` where they differ."""
    return " / ".join(map(show_count, these)) if len(set(these)) > 1 else show_count(these[0])


def dollars(these: Range | None) -> str:
    if these is None:
        return UNKNOWN
    return " / ".join(map(show_usd, these)) if any(these) else show_usd(0)


def span(seconds: float | None) -> str:
    return UNKNOWN if seconds is None else f"<= {show_seconds(seconds)}"


def stacked(row: Row) -> Iterator[str]:
    """The row for a narrow terminal: its name, and its figures below."""
    yield row.name
    if row.agents:
        margin = " " * (len(row.name) - len(row.name.lstrip()) + 4)
        yield f"{margin}{row.agents} agents, {row.calls} calls,"
        yield f"{margin}{row.tokens} tokens, {row.cached} of them cached,"
        yield f"{margin}{row.usd}, {row.seconds}"


def bound(binding: Binding) -> str:
    """Which budget binds: `the tokens of main (400k)`."""
    limit = show_usd(binding.limit) if binding.dimension == "usd" else show_count(binding.limit)
    name = "dollars" if binding.dimension == "usd" else binding.dimension
    return f"the {name} of {binding.address} ({limit})"


def amount(dimension: str, number: int) -> str:
    """`$0.50`, `10k tokens`, `1 call`."""
    if dimension == "usd":
        return show_usd(number)
    return show_calls(number) if dimension == "calls" else show_tokens(number)


# --- below the tree --------------------------------------------------------------------------------


def notes(program: Program, planned: Plan, needed: str = "") -> Iterator[str]:
    """What else there is to say, a line each. needed: what the run lacks, as a clause of help."""
    yield _binding(planned, needed)
    for one in planned.small:
        yield (
            f"Too small: an even part at {one.address} is {amount(one.dimension, one.part)}, and"
            f" {one.branch.removeprefix(one.address + '/')} needs about"
            f" {amount(one.dimension, one.needs)}; it would end in the midst of its work."
        )
    yield f"One after another: {show_calls(planned.depth)} at most."
    if cached := from_cache(planned.total):
        yield cached
    if planned.rents is not None:
        yield f"Rent: {rent(planned.rents)}; in the total alone, for all of that time."
    if unknown := sorted(unpriced(program)):
        yield f"Unknown price: {', '.join(unknown)}; dollars that hang on it are unknown."
    if planned.assumed:
        names = ", ".join(planned.assumed)
        yield (
            f"Assumed: {names} reads {DEFAULT_WINDOW:,} tokens; only its server knows. "
            "`context` in the model says it."
        )
    for clock in program.by:
        yield f"Ends by {clock}{'' if clock.day else ', the next after its start'}."
    if baselines := sum(task.baseline is not None for task in program.tasks):
        what = "The baseline is" if baselines == 1 else f"{baselines} baselines are"
        yield f"{what} scored before anything is sent."
    yield from _given(program)
    for name, value, origin in program.params:
        yield f"Parameter {name} = {parameter(value)} ({origin})"
    yield "In force, defaults included:"
    yield from (f"  {line}" for line in in_force(program, planned))
    yield from (f"{kind}: {', '.join(names)}" for kind, names in touched(program).items() if names)


def _binding(planned: Plan, needed: str) -> str:
    """Which budget binds, or that none does."""
    if needed:
        why = "a price is not known" if planned.total.usd is None else "the model is not free"
        return f"No budget, and {why}: {needed}."
    if planned.binding is not None:
        return f"Binding budget: {bound(planned.binding)}."
    if planned.seconds is not None:
        spare = f"the time ({show_seconds(planned.seconds)}), which no plan can tell"
        return f"No budget binds, but perhaps {spare}: all else that is planned fits."
    return "No budget binds: all that is planned fits."


def _given(program: Program) -> Iterator[str]:
    """What the folders of agents begin with; of several tasks each with its own, how many there are."""
    try:
        folders = [read(text) for text in begun(program).values()]
    except CallError as error:  # a run is refused
        yield f"It will not run: {safe_line(error.message, 300)}."
        return
    if not folders:
        return
    files = counted(sum(map(len, folders)), "file")
    size = sum(len(file.data) for tree in folders for file in tree.values())
    what = "files of its task" if len(folders) == 1 else f"files of its task, {len(folders)} sets"
    yield f"Each agent's folder begins with the {what}: {files}, {size:,} bytes."


def from_cache(amounts: Amounts) -> str:
    """How many tokens may come from caches, and what that would make of the dollars; empty where none may."""
    repeats = amounts.repeats
    if not repeats.again.tokens:
        return ""
    again, whole = show_count(repeats.again.tokens), show_count(repeats.input)
    told = f"From caches: up to {again} of {whole} input tokens expected, which repeat an earlier call's beginning"
    usd, cached = amounts.usd, amounts.usd_cached
    if usd is None or cached is None:
        return f"{told}."
    return f"{told}; expected is {show_usd(usd.expected)} without, {show_usd(cached)} with all of them."


def rent(rents: Rents) -> str:
    """`at most $3.00, by live time, 1h00m of it at most`; unknown where nothing bounds the time."""
    if rents.seconds is None or rents.most is None:
        return f"{UNKNOWN}, by live time, which no budget bounds"
    seconds = show_seconds(rents.seconds)
    return f"at most {show_usd(rents.most)}, by live time, {seconds} of it at most"


def parameter(value: str | float | bool | None) -> str:
    """A parameter's value as --set takes it, in quotes only where its ends could not be seen without."""
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value)
    is_plain = text != "" and text == " ".join(text.split()) and safe(text) == text
    return text if is_plain else safe_json(text)


# --- JSON ------------------------------------------------------------------------------------------


def as_json(program: Program, planned: Plan, needed: str = "") -> dict[str, Any]:
    """The plan as one object; dollars are null where a price is unknown."""
    return {
        "schema": 1,
        "run": program.name,
        "nodes": [node_json(program, node) for _, node in planned.root.walk()],
        "total": total_json(planned),
        "binding": binding_json(planned.binding),
        "rent": rent_json(planned.rents),
        "settings": of_run(program),
        "models": of_models(program),
        "parameters": [
            {"name": name, "value": value, "source": origin}
            for name, value, origin in program.params
        ],
        "touches": {kind.lower(): names for kind, names in touched(program).items()},
        "unknown": {"prices": sorted(unpriced(program)), "windows": list(planned.assumed)},
        "baselines": sum(task.baseline is not None for task in program.tasks),
        "lacks": needed or None,
    }


def node_json(program: Program, node: Node) -> dict[str, Any]:
    """One part: its figures are those of one copy."""
    return {
        "address": node.address,
        "kind": node.kind,
        "label": node.label,
        "count": node.count,
        **amounts_json(node.agents, node.amounts),
        **cached_json(node.amounts),
        "depth": node.depth,
        "seconds": node.seconds,
        "binding": binding_json(node.binding),
        "settings": of_node(program, node),
    }


def total_json(planned: Plan) -> dict[str, Any]:
    return {
        **amounts_json(planned.agents, planned.total),
        **cached_json(planned.total),
        "depth": planned.depth,
        "seconds": planned.seconds,
    }


def rent_json(rents: Rents | None) -> dict[str, float | None] | None:
    """What the rent may come to; null without one. Its figures are null where nothing bounds the time."""
    if rents is None:
        return None
    most = None if rents.most is None else _dollars(rents.most)
    hourly = _dollars(round(rents.per_s * 3600))
    return {"usd_per_hour": hourly, "at_most": most, "seconds": rents.seconds}


def binding_json(binding: Binding | None) -> dict[str, Any] | None:
    if binding is None:
        return None
    limit = _dollars(binding.limit) if binding.dimension == "usd" else binding.limit
    return {"address": binding.address, "dimension": binding.dimension, "limit": limit}


def amounts_json(agents: int, amounts: Amounts) -> dict[str, Any]:
    usd = amounts.usd
    return {
        "agents": agents,
        "calls": range_json(amounts.calls),
        "tokens": range_json(amounts.tokens),
        "usd": range_json(None if usd is None else [_dollars(micro) for micro in usd]),
    }


def cached_json(amounts: Amounts) -> dict[str, Any]:
    """What may come from caches; the dollars are null where no price tells of them."""
    repeats, cached = amounts.repeats, amounts.usd_cached
    return {
        "input": repeats.input,
        "cached": range_json((0, repeats.again.tokens, repeats.most)),
        "usd_cached": None if cached is None else _dollars(cached),
    }


def range_json(figures: Sequence[float] | None) -> dict[str, float | None]:
    names = ("at_least", "expected", "at_most")
    return dict.fromkeys(names) if figures is None else dict(zip(names, figures, strict=True))


def _dollars(micro: int) -> float:
    return micro / MICRO
