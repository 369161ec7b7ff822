"""Names: what stands for what, and what to say of a name that stands for nothing."""

import re
from collections.abc import Iterator
from functools import cache
from itertools import chain

from . import syntax
from .calls import FORMS, all_words
from .context import Context
from .kinds import CONDITION_NAMES, OUTCOMES, PROMPT_NAMES, TEAM_CONDITION_NAMES, TEST_NAMES
from .library import modules, standard
from .names import ENOUGH, SURELY, did_you_mean, either, near
from .parse import parse
from .reading import show
from .source import Place
from .types import (
    ANY,
    BOOL,
    BUDGET,
    CONDITION,
    FLOW,
    MODEL,
    NONE,
    ROLE,
    RUN,
    TASK,
    TOOL,
    VERIFIER,
    WRITTEN,
    Plain,
    Type,
    accepts,
    describe,
    example,
    options,
    words,
)
from .values import BAD, Fields, ModuleName, Row, Scope, Unknown, Value, Word, type_of

_NOUNS = (MODEL, ROLE, VERIFIER, TASK, FLOW, RUN)
_KIND_GIVES = {
    "model": MODEL,
    "role": ROLE,
    "verifier": VERIFIER,
    "task": TASK,
    "flow": FLOW,
    "run": RUN,
}


def name(context: Context, expr: syntax.Name, scope: Scope, want: Type) -> Value:
    """What a bare name stands for where a want is expected."""
    if expr.name not in scope.locals and expr.name in words(want):
        return Word(expr.name)
    found = context.find(expr.name, scope)
    if found is not None:
        return found.value
    literal = _LITERALS.get(expr.name)
    if (
        literal in _BOOLS
        and expr.name.lower() in _BOOLS
        and want != ANY
        and BOOL not in options(want)
    ):
        return literal == "true"
    if not scope.module.file.lost & {expr.name, "*"}:
        _unknown(context, expr, scope, want)
    return BAD


def attribute(context: Context, expr: syntax.Attribute, scope: Scope) -> Value:
    """`module.name`, or a field of a record or a row."""
    value = context.raw(expr.value, scope, ANY)
    place = scope.place(expr.name_span)
    match value:
        case Unknown():
            return BAD
        case ModuleName(module=module) if not module.is_known:
            return BAD
        case ModuleName(module=module):
            inner = Scope(module, module.source, {})
            found = context.find(expr.name, inner) if _has(inner, expr.name) else None
            if found is not None:
                return found.value
            if module.file.lost & {expr.name, ""}:
                return BAD
            known: list[str] = [*module.declared]
            what = module.source.name
        case Fields(values=values):
            if expr.name in values:
                return values[expr.name]
            known, what = list(values), "the record"
        case Row(value=dict() as fields):
            if expr.name in fields:
                return Row(fields[expr.name])
            known, what = list(fields), "the row"
        case _:
            context.error("E115", f"{show(value)} has no parts to name", place)
            return BAD
    context.error(
        "E115",
        f"{what} has no `{expr.name}`",
        place,
        help=did_you_mean(expr.name, known) or _among(known),
        instead="".join(near(expr.name, known, 1)),
    )
    return BAD


_MANY = 12  # names; more help nobody to choose


def _among(known: list[str]) -> str:
    return f"it has {_quoted(known)}" if 0 < len(known) <= _MANY else ""


def _has(scope: Scope, name: str) -> bool:
    return name in scope.module.declared or name in scope.module.imported


def _unknown(context: Context, expr: syntax.Name, scope: Scope, want: Type) -> None:
    """Report a name that nothing has where a want is expected."""
    place, name = scope.place(expr.span), expr.name
    if _elsewhere(context, name, want, place):
        return
    enough = SURELY if "" in scope.module.file.lost else ENOUGH
    fitting = chain(words(want), _fitting(context, scope, want))
    guesses = near(name, fitting, enough=enough)
    if words(want) and (not _nouns(want) or (guesses and guesses[0] in words(want))):
        allowed = guesses or list(words(want))
        context.error(
            "E125",
            f"`{name}` is not {describe(want)}",
            place,
            help=f"did you mean {_quoted(allowed[:3])}?",
            instead="".join(guesses[:1]),
        )
    elif guesses or "" not in scope.module.file.lost:
        context.error(
            "E105",
            f"there is no {_noun(want)} `{name}`",
            place,
            help=_imported(name)
            or (f"did you mean {_quoted(guesses)}?" if guesses else "")
            or _declare(want, name),
            instead="".join(guesses[:1]),
            about=name,
        )


def _elsewhere(context: Context, name: str, want: Type, place: Place) -> bool:
    """E105 for a name that means something in another place, or in another language; whether it does."""
    everywhere = all_words()
    instead = ""
    if instead := _other_spelling(name, want):
        said, help_ = f"nothing is called `{name}`: it is written `{instead}`", f"write `{instead}`"
    elif name in OUTCOMES and CONDITION in options(want):
        instead = f"outcome == {name}"
        said = f"`{name}` is how a run ends, not a condition"
        help_ = f"in a test write `{instead}`"
    elif name in _VENDORS:
        said = f"there is no endpoint `{name}`"
        help_ = (
            "any server that speaks the OpenAI protocol is "
            '`openai("model", base_url = "https://…/v1", key = env("NAME"))`'
        )
    elif name in everywhere and not words(want):
        said = f"`{name}` is a value for `{everywhere[name]}`, not {describe(want)}"
        help_ = f"write `{everywhere[name]} = {name}` where it belongs"
    elif name in _AT_WORK and TOOL in tuple(options(want)):
        said = f"`{name}` is a tool of teams at work, and no `tools` list it"
        help_ = f"delete it: `team(…, style = work{_AT_WORK[name]})` gives it to its members"
    elif where := _belongs(name):
        said, help_ = f"`{name}` is known only in {where}", ""
    else:
        return False
    context.error("E105", said, place, help=help_, instead=instead)
    return True


_LITERALS = {
    **dict.fromkeys(("True", "TRUE", "yes", "Yes"), "true"),
    **dict.fromkeys(("False", "FALSE", "no", "No"), "false"),
    **dict.fromkeys(("None", "NONE", "null", "Null", "nil", "undefined"), "none"),
}
_BOOLS = {"true", "false"}
_LOWER = {*_BOOLS, "none"}
_VENDORS = {
    *("anthropic", "claude", "gemini", "google", "mistral", "azure", "bedrock", "openrouter"),
    *("ollama", "vllm", "sglang", "groq", "together", "deepseek", "huggingface"),
}

# What gives members of a team at work a tool, beside its style.
_AT_WORK = {
    **dict.fromkeys(("board", "post", "leaderboard"), ""),
    **dict.fromkeys(("claim", "release"), ", claims = lease(10m)"),
    "pull": ", workspace = branches",
}


def _other_spelling(name: str, want: Type) -> str:
    """How the language writes a literal that other languages write as name; of `free`, where none fits."""
    if name == "free" and NONE in options(want):
        return "none"
    meant = _LITERALS.get(name, "")
    plain = name.lower() in _LOWER or name in ("null", "Null", "nil", "undefined")
    return meant if plain or BOOL in options(want) else ""


def hyphened(context: Context, expr: syntax.Binary, scope: Scope) -> bool:
    """E105 for `full-disk`, two names that nothing has with a `-` between them: one name was meant."""
    text = scope.source.text[expr.span.start : expr.span.end]
    if expr.operator != "-" or not _HYPHENED.fullmatch(text):
        return False
    if any(context.find(part, scope) is not None for part in text.split("-")):
        return False
    meant = text.replace("-", "_")
    found = context.find(meant, scope) is not None
    help_ = f"write `{meant}`" if found else f"names have `_` where others have `-`: `{meant}`"
    context.error(
        "E105",
        f"there is no name `{text}`, and `-` subtracts",
        scope.place(expr.span),
        help=f'{help_}; a text stands in quotes: `"{text}"`',
        instead=meant if found else "",
        about=text,
    )
    return True


_HYPHENED = re.compile(r"[A-Za-z_][0-9A-Za-z_]*(?:-[A-Za-z_][0-9A-Za-z_]*)+")


def astray(context: Context, expr: syntax.Expr, scope: Scope) -> None:
    """Report the names in expr that nothing anywhere has: no more is sure of what an unknown form is given."""
    waiting: list[syntax.Node] = [expr]
    while waiting:
        node = waiting.pop()
        if isinstance(node, syntax.Name) and not (_belongs(node.name) or node.name in all_words()):
            context.raw(node, scope, ANY)
        waiting.extend(syntax.children(node))


def _belongs(name: str) -> str:
    if name == "attempts":
        return "a role's prompt and `tools`"
    if name in PROMPT_NAMES and name != "team":
        return "a role's prompt" if name != "round" else "prompts and conditions"
    if name in (*CONDITION_NAMES, *TEST_NAMES, "consensus", "accepted"):
        return "a condition, such as `until = …`"
    return "the fields of `rows(…) with { … }`" if name == "row" else ""


def _nouns(want: Type) -> list[Plain]:
    return [k for k in options(want) if isinstance(k, Plain) and k in _NOUNS]


def _imported(name: str) -> str:
    """How to come by a name of the standard library."""
    for module in modules():
        if module != "std.prelude" and name in _exports(module):
            return f"it is in `{module}`: begin the file with `from {module} import {name}`"
    return ""


@cache
def _exports(module: str) -> frozenset[str]:
    file, _ = parse(standard(module))
    return frozenset(declaration.name for declaration in file.declarations)


def _noun(want: Type) -> str:
    nouns = _nouns(want)
    return " or ".join(n.name for n in nouns) if nouns else "name"


def _declare(want: Type, name: str) -> str:
    nouns = _nouns(want)
    if not nouns:
        written = next((w for w, kind in WRITTEN.items() if kind in tuple(options(want))), "")
        if written or not example(want):
            return f"declare it: `param {name}: {written} = …`" if written else ""
        return f"write, for example, `{example(want)}`"
    kind = nouns[0].name
    if kind == "flow":
        return f"declare it: `flow {name} = …` or `role {name} {{ … }}`"
    return f"declare it: `{kind} {name} {'= …' if kind == 'verifier' else '{ … }'}`"


def _fitting(context: Context, scope: Scope, want: Type) -> Iterator[str]:
    """The names in scope whose kind is wanted, and those whose kind is not known without looking."""
    nouns = list(_NOUNS) if want == ANY else _nouns(want)
    if FLOW in nouns:
        nouns = [*nouns, ROLE]
    for name, value in scope.locals.items():
        if want == ANY or accepts(want, type_of(value)):
            yield name
    for name, declaration in scope.module.declared.items():
        kind = _KIND_GIVES.get(declaration.kind)
        if declaration.kind == "param" or kind in nouns:
            yield name
    for name, item in scope.module.imported.items():
        there = item.module.declared.get(item.name) if item.name is not None else None
        if there is None or want == ANY or _KIND_GIVES.get(there.kind) in (*nouns, None):
            yield name
    yield from (word for word in scope.module.file.lost if word not in ("", "*"))
    if CONDITION in options(want):
        yield from TEAM_CONDITION_NAMES
    for form in FORMS.values():
        if (
            want == ANY
            or form.gives in nouns
            or (want in (CONDITION, BUDGET) and form.gives == want)
        ):
            yield form.name
    if ROLE in nouns:
        yield from ("agent", "ceo", "recruiter")


def flow_path(working: list[syntax.Declaration], declaration: syntax.Declaration) -> str:
    """`a -> b -> a`: how declaration came to use itself."""
    start = next(i for i, d in enumerate(working) if d is declaration)
    return " -> ".join(d.name for d in (*working[start:], declaration))


def _quoted(names: list[str]) -> str:
    return either([f"`{name}`" for name in names])
