"""The difference of two plans for people and for programs. Pure: styled lines, and the JSON object."""

import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from podium.dsl.program import Program

from ..plan import Diff
from ..plan.amounts import Amounts, Range
from ..plan.diff import Changed, Part, Seen
from ..plan.plan import Plan
from .plan_view import (
    UNKNOWN,
    amounts_json,
    binding_json,
    bound,
    described,
    dollars,
    figures,
    node_json,
    parameter,
    span,
    total_json,
)
from .safe import safe_line
from .settings_view import show_value
from .units import counted, show_count, show_seconds, show_usd

_MARKS = {"added": "+", "removed": "-", "changed": "~", "same": " "}
_STYLES = {"added": "green", "removed": "red", "changed": "yellow", "same": "dim"}
_FIGURES = 10  # how far figures stand to the right of their part's name
_DEEPEST = 12  # levels of indentation: deeper parts would leave no room on a line


class Line(NamedTuple):
    text: str
    style: str = ""


class Figure(NamedTuple):
    """A value before and after as text, "" where there is none, and the difference."""

    name: str
    old: str
    new: str
    difference: str = ""


def lines(found: Diff, width: int) -> Iterator[Line]:
    """The difference on a screen of so many columns, unchanged parts left out."""
    old, new = (_titled(side.program) for side in (found.old, found.new))
    yield Line(f"{old} -> {new}: at least / expected / at most", "bold")
    if found.empty:
        yield Line("No difference.")
        return
    yield from _tree(found.parts, width)
    yield Line("total", "bold")
    for figure in totals(found.old.plan, found.new.plan):
        yield from _wrapped(figure, 2, width)
    yield from _around(found, width)


def _titled(program: Program) -> str:
    """The run with its file, as the command line names it."""
    file = program.sources[0].name if program.sources else ""
    return f"{safe_line(file, 60)}#{program.name}" if file else program.name


def _tree(parts: Sequence[Part], width: int) -> Iterator[Line]:
    hidden = 0
    for part, shown in zip(parts, _shown(parts), strict=True):
        hidden += not shown
        if shown:
            yield from _part(part, width)
    if hidden:
        yield Line(f"  ({counted(hidden, 'unchanged part')} not shown)", "dim")


def _shown(parts: Sequence[Part]) -> list[bool]:
    """Whether each part is drawn: it changed, or something below it did."""
    shown: list[bool] = []
    needed = 0  # a part at a depth below this has a changed part under it
    for part in reversed(parts):
        changed = part.change != "same"
        shown.append(changed or part.depth < needed)
        needed = part.depth if shown[-1] else min(needed, part.depth)
    return shown[::-1]


def _part(part: Part, width: int) -> Iterator[Line]:
    style = _STYLES[part.change]
    margin = 2 * min(part.depth, _DEEPEST)
    old, new = (None if seen is None else _name(seen) for seen in (part.old, part.new))
    name = " -> ".join(dict.fromkeys(text for text in (old, new) if text is not None))
    yield Line(f"{_MARKS[part.change]} {' ' * margin}{name}", style)
    if part.change != "same":
        for figure in _figures_of(part):
            yield from _wrapped(figure, margin + 6, width)


def _name(seen: Seen) -> str:
    times = f"{seen.node.count:,} x " if seen.node.count > 1 else ""
    return times + safe_line(described(seen.node), 60)


def _figures_of(part: Part) -> Iterator[Figure]:
    """What changed of the part; all of it where it is new or gone, but for what it is set to."""
    old, new = part.old, part.new
    if old is not None and new is not None:
        yield from (one for one in _both(old, new) if one.old != one.new or one.difference)
        for name in dict.fromkeys((*old.settings, *new.settings)):
            yield from _setting(name, old.settings.get(name), new.settings.get(name))
        return
    one = old or new
    assert one is not None
    for figure in _each(one.node.agents, one.node.amounts, one.node.seconds):
        yield figure if new is None else figure._replace(old="", new=figure.old)


def _both(old: Seen, new: Seen) -> Iterator[Figure]:
    was, now = old.node, new.node
    yield from compared(
        (was.agents, was.amounts, was.seconds), (now.agents, now.amounts, now.seconds)
    )


def _setting(name: str, old: Any, new: Any) -> Iterator[Figure]:
    if old != new:
        yield Figure(name, show_value(name, old), show_value(name, new))


def totals(old: Plan, new: Plan) -> Iterator[Figure]:
    return compared((old.agents, old.total, old.seconds), (new.agents, new.total, new.seconds))


Measured = tuple[int, Amounts, float | None]


def compared(old: Measured, new: Measured) -> Iterator[Figure]:
    """Agents, calls, tokens, dollars and time before and after; no difference where they are the same."""
    agents = signed(new[0] - old[0], show_count)
    change = new[1].minus(old[1])
    usd = UNKNOWN if change.usd is None else _signed(change.usd, show_usd)
    both_unknown = old[1].usd is None and new[1].usd is None
    differences = (
        agents,
        _signed(change.calls, show_count),
        _signed(change.tokens, show_count),
        "" if both_unknown else usd,
        _seconds(old[2], new[2]),
    )
    for was, now, difference in zip(_each(*old), _each(*new), differences, strict=True):
        yield Figure(was.name, was.old, now.old, difference)


def _each(agents: int, amounts: Amounts, seconds: float | None) -> Iterator[Figure]:
    yield Figure("agents", show_count(agents), "")
    yield Figure("calls", figures(amounts.calls), "")
    yield Figure("tokens", figures(amounts.tokens), "")
    yield Figure("dollars", dollars(amounts.usd), "")
    yield Figure("time", span(seconds), "")


def _signed(change: Range, show: Callable[[int], str]) -> str:
    """ "" where nothing changes; once where the three are alike."""
    if not any(change):
        return ""
    each = [signed(figure, show) or "0" for figure in change]
    return each[0] if len(set(change)) == 1 else " / ".join(each)


def signed(change: int, show: Callable[[int], str]) -> str:
    """`+3`, `-40k`, "" for nothing."""
    return "" if change == 0 else ("+" if change > 0 else "-") + show(abs(change))


def _seconds(old: float | None, new: float | None) -> str:
    if old is None or new is None:
        return "" if old == new else UNKNOWN
    return "" if old == new else ("+" if new > old else "-") + show_seconds(abs(new - old))


def _wrapped(figure: Figure, margin: int, width: int) -> Iterator[Line]:
    """`tokens    1k -> 2k  (+1k)`; what does not fit goes on below, at the arrow and the bracket first."""
    pieces = [figure.old] if figure.old else []
    if figure.new and figure.new != figure.old:
        pieces.append(f"-> {figure.new}" if figure.old else figure.new)
    if figure.difference:
        pieces.append(f"({figure.difference})")
    before = " " * margin + f"{figure.name:<{_FIGURES}}"
    room = max(20, width - len(before))
    rows: list[str] = []
    for piece in pieces:
        if rows and len(rows[-1]) + 2 + len(piece) <= room:
            rows[-1] += f"  {piece}" if piece.startswith("(") else f" {piece}"
        else:
            rows.extend(textwrap.wrap(piece, room, break_long_words=False, break_on_hyphens=False))
    for number, row in enumerate(rows):
        yield Line((before if number == 0 else " " * len(before)) + row)


def _around(found: Diff, width: int) -> Iterator[Line]:
    """Below the tree: what binds, what else changed, what is touched."""
    was, now = found.old.plan.binding, found.new.plan.binding
    old, new = ("none" if one is None else bound(one) for one in (was, now))
    yield Line(f"Binding budget: {old if was == now else f'{old} -> {new}'}.")
    for one in found.params:
        yield Line(f"Parameter {one.name} = {_value(one, one.old)} -> {_value(one, one.new)}")
    for one in found.settings:
        old, new = show_value(one.name, one.old), show_value(one.name, one.new)
        name = one.name if one.where == "run" else f"{one.where}: {one.name}"
        yield from _wrapped(Figure(f"Setting {name} = ", old, new), 0, width)
    for kind, names in found.gained.items():
        yield Line(f"+ {kind}: {', '.join(names)}", "green")
    for kind, names in found.lost.items():
        yield Line(f"- {kind}: {', '.join(names)}", "red")


def _value(one: Changed, value: Any) -> str:
    return "not there" if value is None else parameter(value)


# --- JSON ------------------------------------------------------------------------------------------


def as_json(found: Diff) -> dict[str, Any]:
    """The difference as one object; differences are null where a figure is unknown."""
    old, new = found.old, found.new
    total = new.plan.total.minus(old.plan.total)
    return {
        "schema": 1,
        "runs": {"before": old.program.name, "after": new.program.name},
        "nodes": [_part_json(found, part) for part in found.parts],
        "total": {
            "before": total_json(old.plan),
            "after": total_json(new.plan),
            "difference": amounts_json(new.plan.agents - old.plan.agents, total),
        },
        "own": _own_json(found.own),
        "binding": {
            "before": binding_json(old.plan.binding),
            "after": binding_json(new.plan.binding),
        },
        "parameters": [_changed_json(one) for one in found.params],
        "settings": [{"of": one.where, **_changed_json(one)} for one in found.settings],
        "touches": {
            "added": {kind.lower(): names for kind, names in found.gained.items()},
            "removed": {kind.lower(): names for kind, names in found.lost.items()},
        },
    }


def _part_json(found: Diff, part: Part) -> dict[str, Any]:
    old, new = part.old, part.new
    return {
        "change": part.change,
        "before": None if old is None else _seen_json(found.old.program, old),
        "after": None if new is None else _seen_json(found.new.program, new),
        "own": _own_json(part.own),
    }


def _seen_json(program: Program, seen: Seen) -> dict[str, Any]:
    return {**node_json(program, seen.node), "times": seen.times}


def _own_json(amounts: Amounts) -> dict[str, Any]:
    whole = amounts_json(0, amounts)
    return {name: whole[name] for name in ("calls", "tokens", "usd")}


def _changed_json(one: Changed) -> dict[str, Any]:
    return {"name": one.name, "before": one.old, "after": one.new}
