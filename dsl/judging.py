"""Judges: a role, and all that is added to its prompt so that it judges."""

from dataclasses import replace

from .context import Bound, Context
from .program import OutputField, Role, Slot, Template, Text
from .reading import as_text, as_word, items
from .values import Counted, Value

_SCALE = "Give a score from 0, which is worthless, to 1, which is perfect."
_BETTER = "Say which of both answers is better, `first` or `second`; `same` where neither is."
_WHY = OutputField("why", "text", required=False, default="")
_SCORE = (OutputField("score", "float"), _WHY)
_CHOICE = (OutputField("better", ("first", "second", "same")), _WHY)


def judges(context: Context, bound: Bound) -> tuple[Role, ...]:
    """The roles of a `judge` or a `panel` as they are asked, each as often as the list says."""
    both = as_word(bound.value("against"), "none") == "baseline"
    rubric = as_text(bound.value("rubric")) if bound.known("rubric") else ""
    found: list[Role] = []
    for value in items(bound.value("by")):
        role, count = _counted(value)
        if isinstance(role, Role) and _may_judge(context, bound, role, both=both):
            found += [_asked(role, rubric, both=both)] * count
    return tuple(found)


def _counted(value: Value) -> tuple[Value, int]:
    return (value.value, value.count or 1) if isinstance(value, Counted) else (value, 1)


def _may_judge(context: Context, bound: Bound, role: Role, *, both: bool) -> bool:
    at = bound.at("by")
    if role.tools or role.budget is not None:
        what = "tools" if role.tools else "a budget of its own"
        told = f"role `{role.name}` has {what}, and a judge is asked once"
        context.error("E120", told, at, help="name a role without it")
        return False
    wanted = "better" if both else "score"
    names = {field.name: field.type for field in role.output or ()}
    kinds: tuple[object, ...] = (_CHOICE[0].type,) if both else ("float", "int")
    if role.output is not None and names.get(wanted) not in kinds:
        says = '"first" | "second" | "same"' if both else "float"
        context.error(
            "E120",
            f"the `output` of role `{role.name}` has no `{wanted}` that says what it judged",
            at,
            help=f"add `{wanted}: {says}` to it, or leave `output` out",
        )
        return False
    return True


def _asked(role: Role, rubric: str, *, both: bool) -> Role:
    """role with the answer, unless its prompt shows it, and what it judges by."""
    parts: list[Text | Slot] = list(role.prompt.parts)
    shown = {part.path[0] for part in parts if isinstance(part, Slot)}
    if both and "attempts" not in shown:
        parts += [Text("\n\nThe first answer, then the second:\n"), Slot(("attempts",))]
    elif not both and "attempt" not in shown:
        parts += [Text("\n\nThe answer to judge:\n"), Slot(("attempt",))]
    ask = _BETTER if both else "" if rubric else _SCALE
    parts.append(Text("\n\n" + "\n".join(filter(None, (rubric, ask)))))
    output = role.output or (_CHOICE if both else _SCORE)
    return replace(role, prompt=Template(tuple(parts)), output=output)
