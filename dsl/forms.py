"""The form of a declaration, before its fields: in braces or an expression, with parameters or without."""

from . import syntax
from .context import Context
from .kinds import KINDS
from .names import indefinite
from .values import Scope


def has_form(declaration: syntax.Declaration) -> bool:
    """Whether its kind takes what it says; of a declaration that does not, nothing more is said."""
    kind = KINDS.get(declaration.kind)
    if kind is None:
        return False
    if isinstance(declaration.value, syntax.Record) and "fields" not in kind.form:
        return False
    if declaration.type is not None and kind.name != "param":
        return False
    return kind.name == "flow" or (declaration.params is None and not declaration.of_param)


def well_formed(context: Context, declaration: syntax.Declaration, scope: Scope) -> bool:
    """E116 for a declaration in a form that its kind does not have."""
    kind = KINDS.get(declaration.kind)
    if kind is None:
        return False  # reported by the parser
    if not has_form(declaration):
        if syntax.is_sound(declaration):
            _misformed(context, declaration, scope)
        return False
    if declaration.value is None and kind.name != "param":
        what = "{ … }" if "fields" in kind.form else "= …"
        context.error(
            "E116",
            f"{kind.name} `{declaration.name}` is empty",
            scope.place(declaration.name_span),
            help=f"write `{kind.name} {declaration.name} {what}`",
        )
        return False
    return True


def _misformed(context: Context, declaration: syntax.Declaration, scope: Scope) -> None:
    kind, place = declaration.kind, scope.place(declaration.name_span)
    if kind != "flow" and (declaration.params is not None or declaration.of_param):
        message = f"{indefinite(kind)} takes no parameters"
        help_ = "only a flow does; a `param` of the file may be used anywhere"
    elif isinstance(declaration.value, syntax.Record) and "fields" not in KINDS[kind].form:
        message = f"{indefinite(kind)} is an expression, not a block"
        meant = _kind_of(declaration.value)
        help_ = f"write `{meant} {declaration.name} {{ … }}`, which has these fields"
        help_ = help_ if meant else f"write `{kind} {declaration.name} = …`"
    else:
        message, help_ = f"{indefinite(kind)} takes no type", ""
        place = place if declaration.type is None else scope.place(declaration.type.span)
    context.error("E116", message, place, help=help_)


def _kind_of(record: syntax.Record) -> str:
    """The one kind that has these fields and needs no others; empty where there is none."""
    written = {field.name for field in record.fields}
    fitting = [
        kind.name
        for kind in KINDS.values()
        if written <= {spec.name for spec in kind.fields}
        and {spec.name for spec in kind.fields if spec.required} <= written
    ]
    return fitting[0] if written and len(fitting) == 1 else ""
