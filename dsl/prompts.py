"""Prompts, from syntax to `Template`: what is constant is filled in, what is known only later is a slot."""

import json
import re

from . import syntax
from .calls import Form
from .context import Context
from .kinds import FILTERS, PROMPT_NAMES
from .names import SURELY, did_you_mean, either, near
from .program import FilterCall, Slot, Template, Text
from .reading import as_text, scalar, show, written
from .source import Place, Span
from .types import ANY
from .values import BAD, Items, Quantity, Row, Scope, Unknown, Value, Word


def template(context: Context, prompt: syntax.Prompt, scope: Scope) -> Template:
    """A role's prompt: the names of a running agent are known in it."""
    parts = [_part(context, part, scope, running=True) for part in prompt.parts]
    for part in prompt.parts if not prompt.raw else ():
        if isinstance(part, syntax.PromptText):
            _seeming_slots(context, scope, part.span)
    return Template(_merged(parts))


_ROOTS = "|".join(PROMPT_NAMES)
_SEEMS = re.compile(
    rf"(?<![{{\\])\{{\s*((?:{_ROOTS})(?:\.[a-z]+)*)\s*\}}(?!\}})|\{{%[^\n{{}}]*%\}}"
)


def _seeming_slots(context: Context, scope: Scope, span: Span) -> None:
    """W608 for the first `{task.statement}` and `{% if x %}` of a prompt's text, which agents would read."""
    found = _SEEMS.search(scope.source.text, span.start, span.end)
    if found is None:
        return
    path = found[1]
    context.error(
        "W608",
        f"`{found[0]}` is no slot: agents will read it as it stands",
        scope.place(Span(found.start(), found.end())),
        help=f"write `{{{{ {path} }}}}`"
        if path
        else "a prompt has no statements; a role for each case, and `if c then f else g` in a flow, choose",
        instead=f"{{{{ {path} }}}}" if path else "",
        severity="warning",
    )


def constant(context: Context, prompt: syntax.Prompt, scope: Scope) -> Value:
    """A text written as a prompt, where nothing of a running agent is known."""
    parts = [_part(context, part, scope, running=False) for part in prompt.parts]
    return "".join(part.text for part in parts if isinstance(part, Text))


def plain(context: Context, text: syntax.String, scope: Scope) -> Value:
    """A prompt written as a string, which has no slots; W608 where it seems to have one."""
    if "{{" in text.value or _SEEMS.search(text.value):
        context.error(
            "W608",
            "a string has no slots: agents will read the braces",
            scope.place(text.span),
            help='write the prompt between `"""`',
            severity="warning",
        )
    return text.value


def roots(parts: Template | None) -> set[str]:
    """The first names of a template's slots: task, self, team, round, attempt, attempts."""
    return set() if parts is None else {p.path[0] for p in parts.parts if isinstance(p, Slot)}


def _merged(parts: list[Text | Slot]) -> tuple[Text | Slot, ...]:
    merged: list[Text | Slot] = []
    for part in parts:
        last = merged[-1] if merged else None
        if isinstance(part, Text) and isinstance(last, Text):
            merged[-1] = Text(last.text + part.text)
        else:
            merged.append(part)
    return tuple(merged)


def _part(
    context: Context,
    part: syntax.PromptText | syntax.PromptSlot,
    scope: Scope,
    *,
    running: bool,
) -> Text | Slot:
    if isinstance(part, syntax.PromptText):
        return Text(part.text)
    if context.full:
        return Text("")
    path = dotted(part.value)
    filters = tuple(call for f in part.filters if (call := _filter(context, f, scope)) is not None)
    if path is not None and path[0] in PROMPT_NAMES and path[0] not in scope.locals:
        if running:
            _check_path(context, path, scope.place(part.value.span))
            return Slot(path, filters, part.column)
        context.error(
            "E214",
            f"`{path[0]}` is known only in a role's prompt",
            scope.place(part.value.span),
            help="write it into the role's `prompt`; here only parameters and constants are known",
        )
        return Text("")
    found = context.find(path[0], scope) if path is not None and running else None
    if path is not None and running and (found is None or isinstance(found.value, Form)):
        _unknown_root(context, path[0], scope, part.value.span)
        return Text("")
    value = context.value(part.value, scope, ANY)
    text = _text(context, value, filters, scope.place(part.span))
    return Text(text.replace("\n", "\n" + " " * part.column))


def dotted(expr: syntax.Expr) -> tuple[str, ...] | None:
    """`task.statement` as its words; None for anything that is no dotted name."""
    names: list[str] = []
    while isinstance(expr, syntax.Attribute):
        names.append(expr.name)
        expr = expr.value
    return (expr.name, *reversed(names)) if isinstance(expr, syntax.Name) else None


_INSTEAD = {
    "score": "write `attempt.score`",
    "spent": "what is left of the budget is `team.left`",
}


def _unknown_root(context: Context, root: str, scope: Scope, span: Span) -> None:
    if root in scope.module.file.lost:
        return
    place = scope.place(Span(span.start, span.start + len(root)))
    params = [name for name, d in scope.module.declared.items() if d.kind == "param"]
    known = [*PROMPT_NAMES, *scope.locals, *params]
    owners = [f"{owner}.{root}" for owner, parts in PROMPT_NAMES.items() if root in parts]
    if owners and root not in _INSTEAD:
        context.error(
            "E105",
            f"a prompt knows no `{root}`",
            place,
            help="write " + either([f"`{path}`" for path in owners]),
            instead=owners[0] if len(owners) == 1 else "",
        )
        return
    if (
        "" in scope.module.file.lost
        and root not in _INSTEAD
        and not near(root, known, 1, enough=SURELY)
    ):
        return
    context.error(
        "E105",
        f"a prompt knows no `{root}`",
        place,
        help=_INSTEAD.get(root, "")
        or did_you_mean(root, known)
        or "it knows " + ", ".join(f"`{name}`" for name in PROMPT_NAMES) + " and parameters",
        instead="".join(near(root, known, 1)),
    )


def _check_path(context: Context, path: tuple[str, ...], place: Place) -> None:
    root, *rest = path
    known = PROMPT_NAMES[root]
    free = root == "attempt" and len(rest) > 1 and rest[0] in ("answer", "before")
    if free or (not rest and (not known or root == "attempt")):
        return
    if len(rest) == 1 and rest[0] in known:
        return
    wrong = rest[0] if rest else ""
    guesses = near(wrong, known) or list(known)
    context.error(
        "E215",
        f"`{root}` has no `{'.'.join(rest)}`" if rest else f"`{root}` is no text by itself",
        place,
        help="write " + " or ".join(f"`{root}.{name}`" for name in guesses)
        if known
        else f"write `{root}`",
        instead=f"{root}.{near(wrong, known)[0]}" if len(rest) == 1 and near(wrong, known) else "",
    )


def _filter(context: Context, call: syntax.Filter, scope: Scope) -> FilterCall | None:
    place = scope.place(call.span)
    specs = FILTERS.get(call.name)
    if specs is None:
        guesses = near(call.name, FILTERS)
        context.error(
            "E216",
            f"there is no filter `{call.name}`",
            place,
            help=did_you_mean(call.name, FILTERS)
            or "filters are " + ", ".join(f"`{name}`" for name in FILTERS),
            instead="".join(guesses[:1]) if not call.args else "",
        )
        return None
    if len(call.args) != len(specs):
        wanted = "takes nothing in parentheses" if not specs else "takes `to`: `clip(8k tokens)`"
        context.error("E112", f"`{call.name}` {wanted}", place)
        return None
    values = (
        context.value(arg.value, scope, spec.type)
        for arg, spec in zip(call.args, specs, strict=True)
    )
    return FilterCall(call.name, tuple(scalar(value) for value in values))


def _text(context: Context, value: Value, filters: tuple[FilterCall, ...], place: Place) -> str:
    """A constant as it stands in a prompt, filters applied."""
    if value == BAD:
        return ""
    for call in filters:
        if call.name == "clip":
            context.error(
                "E216",
                "`clip` is for what is known only at run time",
                place,
                help="shorten the constant itself",
            )
            return ""
        value = _bullets(value) if call.name == "bullets" else _json(value)
    match value:
        case Unknown():
            return ""
        case str():
            return value
        case Row(value=inner):
            return inner if isinstance(inner, str) else json.dumps(inner, ensure_ascii=False)
        case Word(name=name):
            return name
        case None | bool() | int() | float() | Quantity():
            return written(value)
        case Items(items=items):
            return ", ".join(as_text(item, written(item)) for item in items)
        case _:
            context.error(
                "E120", f"{show(value)} is no text", place, help="a prompt shows texts and numbers"
            )
            return ""


def _bullets(value: Value) -> Value:
    match value:
        case Items(items=items):
            return "\n".join(f"- {as_text(item, written(item))}" for item in items)
        case Row(value=list() as rows):
            return "\n".join(f"- {row}" for row in rows)
        case _:
            return value


def _json(value: Value) -> Value:
    match value:
        case Row(value=inner):
            return json.dumps(inner, ensure_ascii=False)
        case Items(items=items):
            return json.dumps([scalar(item) for item in items], ensure_ascii=False)
        case None | bool() | int() | float() | str():
            return json.dumps(value, ensure_ascii=False)
        case _:
            return value if not isinstance(value, Unknown) else BAD
