"""Values in sentences, as one writes them, and read back once their type was checked."""

from .calls import Form
from .types import describe
from .values import (
    Dimension,
    Items,
    Noun,
    Policy,
    Quantity,
    Unknown,
    UserFlow,
    Value,
    Word,
    Wrapper,
    type_of,
)


def show(value: Value) -> str:
    """value for a sentence: the value itself where it is short, else what it is."""
    match value:
        case None | bool() | int() | float() | str() | Quantity() | Word():
            return f"`{written(value)}`"
        case Noun(kind=kind, name=name):
            return f"{kind} `{name}`"
        case UserFlow(declaration=declaration):
            return f"flow `{declaration.name}`"
        case Form(name=name):
            return f"`{name}`"
        case Wrapper(callee=callee):
            return f"`{callee.name if isinstance(callee, Form) else callee.declaration.name}(…)`"
        case Items():
            return "a list"
        case _:
            return describe(type_of(value))


def written(value: Value) -> str:
    """value as one writes it in a program."""
    match value:
        case bool():
            return "true" if value else "false"
        case None:
            return "none"
        case int() | float():
            return f"{value:g}" if isinstance(value, float) else str(value)
        case str():
            return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
        case Word(name=name):
            return name
        case Quantity(dimension=dimension, amount=amount):
            return _quantity(dimension, amount)
        case Policy(name="lease", amount=amount):
            return f"lease({_quantity('time', amount)})"
        case Policy(name=name, amount=amount):
            return f"{name}({amount})"
        case Items(items=items):
            return "[" + ", ".join(written(item) for item in items) + "]"
        case Noun(name=name):
            return name
        case _:
            return describe(type_of(value))


def setting(name: str, value: Value) -> str:
    """A setting for a sentence: `rounds = 3`; its name alone where its value has parts."""
    match value:
        case None | bool() | int() | float() | Word() | Policy() | Quantity():
            return f"`{name} = {written(value)}`"
        case _:
            return f"`{name}`"


def _quantity(dimension: Dimension, amount: int | float) -> str:
    match dimension:
        case "usd":
            return f"${amount / 1_000_000:.6f}".rstrip("0").rstrip(".")
        case "tokens" | "calls":
            return f"{amount} {dimension}"
        case "time":
            return f"{amount:g}s"
        case "share":
            return f"{amount * 100:g}%"


# --- reading a value whose type was checked; a stand-in where it is unknown ------------------------


def as_int(value: Value, stand_in: int = 1) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else stand_in


def as_number(value: Value, stand_in: float = 0.0) -> float:
    return float(value) if isinstance(value, int | float) else stand_in


def as_text(value: Value, stand_in: str = "") -> str:
    return value if isinstance(value, str) else stand_in


def as_word(value: Value, stand_in: str) -> str:
    match value:
        case Word(name=name):
            return name
        case str():
            return value
        case _:
            return stand_in


def amount(value: Value) -> int | float | None:
    """A quantity's amount; None where there is none."""
    return value.amount if isinstance(value, Quantity) else None


def items(value: Value) -> tuple[Value, ...]:
    """A list's items; a value that may stand for a list of one."""
    match value:
        case None | Unknown():
            return ()
        case Items(items=several):
            return several
        case _:
            return (value,)
