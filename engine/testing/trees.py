"""Trees by hand: short names for the nodes of a program, and a printer for them. Every span is empty.

A tree made here is the one that its text is read as: brackets are put where the grammar wants them.
"""

from podium.dsl import syntax as s
from podium.dsl.source import Span

NOWHERE = _AT = Span(0, 0)
_PREFIXES = ((10**9, "B"), (10**6, "M"), (10**3, "k"))
_PERIODS = ((3600, "h"), (60, "m"), (1, "s"))


# --- nodes ---------------------------------------------------------------------------------------


def name(word: str) -> s.Expr:
    """A name, dotted or not."""
    first, *rest = word.split(".")
    value: s.Expr = s.Name(first, _AT)
    for part in rest:
        value = s.Attribute(value, part, _AT, _AT)
    return value


def number(value: int | float) -> s.Number:
    return s.Number(value, _AT)


def money(micro: int) -> s.Money:
    return s.Money(micro, _AT)


def tokens(count: int) -> s.TokenCount:
    return s.TokenCount(count, _AT)


def calls(count: int) -> s.CallCount:
    return s.CallCount(count, _AT)


def time(seconds: int) -> s.Duration:
    return s.Duration(float(seconds), _AT)


def percent(share: int) -> s.Percent:
    """share: in hundredths."""
    return s.Percent(share / 100, _AT)


def string(value: str) -> s.String:
    return s.String(value, _AT)


def none() -> s.NoneLiteral:
    return s.NoneLiteral(_AT)


def rate(amount: s.Expr, unit: s.Expr) -> s.Rate:
    return s.Rate(amount, unit, _AT)


def listed(*items: s.Expr) -> s.ListExpr:
    return s.ListExpr(items, _AT)


def record(**fields: s.Expr | s.Type) -> s.Record:
    """Values after `=`, types after `:`."""
    return s.Record(tuple(_field(name, value) for name, value in fields.items()), _AT)


def _field(name: str, value: s.Expr | s.Type) -> s.Field:
    if isinstance(value, s.TypeName | s.TypeLiteral | s.TypeList | s.TypeUnion):
        return s.Field(name, _AT, value, None, _AT)
    return s.Field(name, _AT, None, value, _AT)


def call(function: str, *args: s.Expr, **named: s.Expr) -> s.Call:
    given = [s.Arg(None, None, value, _AT) for value in args]
    given += [s.Arg(name, _AT, value, _AT) for name, value in named.items()]
    return s.Call(name(function), tuple(given), _AT)


def amended(value: s.Expr, changes: s.Record) -> s.With:
    return s.With(value, changes, _AT)


def of(wrapper: s.Expr, inner: s.Expr) -> s.Of:
    loose = isinstance(inner, s.Then | s.IfExpr)
    return s.Of(wrapper, s.Paren(inner, _AT) if loose else inner, _AT)


def then(first: s.Expr, *steps: s.Expr) -> s.Expr:
    """The steps one after the other; a chain as the first step is gone on with."""
    value = s.Paren(first, _AT) if isinstance(first, s.IfExpr) else first
    for step in steps:
        loose = isinstance(step, s.Then | s.IfExpr)
        value = s.Then(value, s.Paren(step, _AT) if loose else step, _AT, _AT)
    return value


def either(condition: s.Expr, yes: s.Expr, no: s.Expr) -> s.IfExpr:
    return s.IfExpr(condition, yes, no, _AT)


def compare(left: s.Expr, operator: str, right: s.Expr) -> s.Binary:
    return s.Binary(operator, left, right, _AT)


def negated(operand: s.Expr) -> s.Unary:
    return s.Unary("not", operand, _AT)


def prompt(*parts: str) -> s.Prompt:
    """A prompt of texts and slots: a part such as `{attempt.answer}` is a slot, `{x|clip(9)}` one of 9 tokens."""
    made: list[s.PromptText | s.PromptSlot] = []
    line = ""
    for part in parts:
        if part.startswith("{") and part.endswith("}"):
            made.append(_slot(part[1:-1], len(line)))
        elif made and isinstance(made[-1], s.PromptText):
            made[-1] = s.PromptText(made[-1].text + part, _AT)
        else:
            made.append(s.PromptText(part, _AT))
        line = "".join(_part(one) for one in made).rpartition("\n")[2]
    return s.Prompt(tuple(made), False, _AT)


def _slot(inside: str, column: int) -> s.PromptSlot:
    value, *filters = inside.split("|")
    return s.PromptSlot(name(value), tuple(_filter(text) for text in filters), column, _AT)


def _filter(text: str) -> s.Filter:
    word, _, count = text.rstrip(")").partition("(")
    args = (s.Arg(None, None, tokens(int(count)), _AT),) if count else ()
    return s.Filter(word, args, _AT)


def kind(name: str, low: int | None = None, high: int | None = None) -> s.TypeName:
    return s.TypeName(name, (), low, high, _AT)


def words(*options: str) -> s.Type:
    """One of some texts."""
    several = tuple(s.TypeLiteral(option, _AT) for option in options)
    return several[0] if len(several) == 1 else s.TypeUnion(several, _AT)


def many(item: s.Type) -> s.TypeList:
    return s.TypeList(item, _AT)


def param(name: str, type_: s.Type | None = None, default: s.Expr | None = None) -> s.Param:
    return s.Param(name, _AT, type_, default, _AT)


def declare(
    kind: str,
    name: str,
    value: s.Expr | None,
    *,
    params: tuple[s.Param, ...] | None = None,
    of_param: str | None = None,
    type_: s.Type | None = None,
    doc: str = "",
) -> s.Declaration:
    """`KIND name { … }` where value is a record, else `KIND name = value`."""
    of_span = None if of_param is None else _AT
    return s.Declaration(kind, _AT, name, _AT, params, of_param, of_span, type_, value, doc, _AT)


def imports(module: str, *names: str) -> s.Import:
    taken = tuple(s.ImportedName(name, None, _AT) for name in names)
    return s.Import(module, False, _AT, None, taken, _AT)


def imported_as(module: str, alias: str) -> s.Import:
    return s.Import(module, False, _AT, alias, None, _AT)


def file(
    imports: tuple[s.Import, ...], declarations: tuple[s.Declaration, ...], edition: int | None
) -> s.File:
    return s.File(edition, imports, declarations, _AT)


# --- text ----------------------------------------------------------------------------------------


def printed(tree: s.File) -> str:
    """A text that reads as tree, each declaration on a line but for the fields of a block. Not laid out."""
    lines = [] if tree.edition is None else [f"edition {tree.edition}"]
    lines += [_import(statement) for statement in tree.imports]
    for declaration in tree.declarations:
        lines += [f"## {line}".rstrip() for line in declaration.doc.splitlines()]
        lines.append(_declaration(declaration))
    return "".join(f"{line}\n" for line in lines)


def _import(statement: s.Import) -> str:
    module = f'"{statement.module}"' if statement.is_file else statement.module
    if statement.names is None:
        return f"import {module}" + (f" as {statement.alias}" if statement.alias else "")
    taken = (n.name + (f" as {n.alias}" if n.alias else "") for n in statement.names)
    return f"from {module} import {', '.join(taken)}"


def _declaration(one: s.Declaration) -> str:
    head = f"{one.kind} {one.name}"
    if one.params is not None:
        head += f"({', '.join(_param(p) for p in one.params)})"
    head += f" of {one.of_param}" if one.of_param else ""
    head += f": {_type(one.type)}" if one.type is not None else ""
    match one.value:
        case None:
            return head
        case s.Record(fields=fields):
            return "\n".join([f"{head} {{", *(f"  {_field_text(f)}" for f in fields), "}"])
        case value:
            return f"{head} = {text(value)}"


def _param(one: s.Param) -> str:
    typed = one.name + (f": {_type(one.type)}" if one.type is not None else "")
    return typed if one.default is None else f"{typed} = {text(one.default)}"


def _field_text(one: s.Field) -> str:
    typed = one.name + (f": {_type(one.type)}" if one.type is not None else "")
    return typed if one.value is None else f"{typed} = {text(one.value)}"


def _type(one: s.Type) -> str:
    match one:
        case s.TypeName(low=None, args=args):
            return one.name + (f"({', '.join(_type(a) for a in args)})" if args else "")
        case s.TypeName():
            return f"{one.name}({one.low} to {one.high})"
        case s.TypeLiteral(value=value):
            return _quoted(value)
        case s.TypeList(item=item):
            return f"[{_type(item)}]"
        case s.TypeUnion(options=options):
            return " | ".join(_type(option) for option in options)


def text(expr: s.Expr) -> str:
    """The text of an expression."""
    match expr:
        case s.Name(name=word):
            return word
        case s.String(value=value):
            return _quoted(value)
        case s.Bool(value=value):
            return "true" if value else "false"
        case s.NoneLiteral():
            return "none"
        case s.Number() | s.Money() | s.TokenCount() | s.CallCount() | s.Duration() | s.Percent():
            return _quantity(expr)
        case s.Clock(hour=hour, minute=minute, day=day):
            return f"{'' if day is None else f'{day} '}{hour:02}:{minute:02}"
        case s.Prompt():
            return _prompt(expr)
        case s.Record(fields=fields):
            return f"{{ {', '.join(_field_text(f) for f in fields)} }}" if fields else "{}"
        case s.ListExpr(items=items):
            return f"[{', '.join(text(item) for item in items)}]"
        case s.Paren(inner=inner):
            return f"({text(inner)})"
        case s.Call(function=function, args=args):
            return f"{text(function)}({', '.join(_arg(a) for a in args)})"
        case s.Attribute(value=value, name=word):
            return f"{text(value)}.{word}"
        case s.With(value=value, record=changes):
            return f"{text(value)} with {text(changes)}"
        case s.Of(wrapper=wrapper, inner=inner):
            return f"{text(wrapper)} of {text(inner)}"
        case s.Then(first=first, second=second):
            return f"{text(first)} -> {text(second)}"
        case s.Binary(operator=operator, left=left, right=right):
            return f"{text(left)} {operator} {text(right)}"
        case s.Unary(operator=operator, operand=operand):
            return f"{operator} {text(operand)}"
        case s.Rate(amount=amount, unit=unit):
            return f"{text(amount)} per {text(unit)}"
        case s.IfExpr(condition=condition, then=yes, otherwise=no):
            return f"if {text(condition)} then {text(yes)} else {text(no)}"
        case _:
            raise ValueError(f"a tree with a mistake in it has no text: {expr}")


def _arg(one: s.Arg) -> str:
    return text(one.value) if one.name is None else f"{one.name} = {text(one.value)}"


def _quantity(
    expr: s.Number | s.Money | s.TokenCount | s.CallCount | s.Duration | s.Percent,
) -> str:
    match expr:
        case s.Number(value=value):
            return f"{value:_}" if isinstance(value, int) else f"{value:g}"
        case s.Money(micro=micro):
            whole, rest = divmod(micro, 1_000_000)
            return f"${whole}" + (f".{rest:06}".rstrip("0").ljust(3, "0") if rest else "")
        case s.TokenCount(count=count):
            return f"{_short(count)} tokens"
        case s.CallCount(count=count):
            return f"{count} calls"
        case s.Duration(seconds=seconds):
            unit = next((u for u in _PERIODS if not seconds % u[0]), (1, "s"))
            return f"{seconds / unit[0]:g}{unit[1]}"
        case s.Percent(fraction=fraction):
            return f"{fraction * 100:g}%"


def _short(count: int) -> str:
    factor, prefix = next((p for p in _PREFIXES if count and not count % p[0]), (1, ""))
    return f"{count // factor}{prefix}"


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _prompt(one: s.Prompt) -> str:
    inside = "".join(_part(part) for part in one.parts)
    mark = ""
    if one.raw:
        mark = "r"
        inside = "".join(part.text for part in one.parts if isinstance(part, s.PromptText))
    if "\n" not in inside:
        return f'{mark}"""{inside}"""'
    lines = "\n".join(f"    {line}" if line else "" for line in inside.split("\n"))
    return f'{mark}"""\n{lines}\n    """'


def _part(part: s.PromptText | s.PromptSlot) -> str:
    match part:
        case s.PromptText(text=constant):
            return constant.replace("{{", "\\{{").replace('"""', '\\"""')
        case s.PromptSlot(value=value, filters=filters):
            piped = "".join(f" | {_filter_text(f)}" for f in filters)
            return f"{{{{ {text(value)}{piped} }}}}"


def _filter_text(one: s.Filter) -> str:
    return one.name + (f"({', '.join(_arg(a) for a in one.args)})" if one.args else "")
