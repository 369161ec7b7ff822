"""Values in sentences, as one writes them, and read back once their type was checked."""

from .calls import Form
from .program import Budget, Clock
from .quantity import Scalar
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
        case None | bool() | int() | float() | str() | Quantity() | Clock() | Word():
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
        case Clock():
            return str(value)
        case Quantity(dimension=dimension, amount=amount):
            return _quantity(dimension, amount)
        case Budget():
            return _budget(value)
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


def _quantity(dimension: Dimension, amount: int | float) -> str:
    match dimension:
        case "usd":
            return f"${amount / 1_000_000:.6f}".rstrip("0").rstrip(".")
        case "tokens" | "calls":
            return f"{_short(amount)} {dimension}"
        case "time":
            return _time(amount)
        case "share":
            return f"{amount * 100:g}%"


def _short(count: int | float) -> str:
    """`2M`, `1500`: with a letter where that is exact."""
    for letter, size in (("B", 10**9), ("M", 10**6), ("k", 10**3)):
        if count and count % size == 0:
            return f"{count // size}{letter}"
    return str(count)


def _time(seconds: int | float) -> str:
    """`1h30m`; in seconds where it is no whole number of thousandths."""
    left = round(seconds * 1000)
    if left <= 0 or left != seconds * 1000:
        return f"{seconds:g}s"
    parts: list[str] = []
    for unit, size in (("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)):
        count, left = divmod(left, size)
        parts += [f"{count}{unit}"] if count else []
    return "".join(parts)


def _budget(budget: Budget) -> str:
    amounts: tuple[tuple[Dimension, int | float | None], ...] = (
        ("usd", budget.usd),
        ("tokens", budget.tokens),
        ("calls", budget.calls),
        ("time", budget.seconds),
        ("share", budget.share),
    )
    return "[" + ", ".join(_quantity(d, a) for d, a in amounts if a is not None) + "]"


# --- reading a value whose type was checked; a stand-in where it is unknown ------------------------


def as_int(value: Value, stand_in: int = 1) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else stand_in


def as_number(value: Value, stand_in: float = 0.0) -> float:
    return float(value) if isinstance(value, int | float) else stand_in


def as_text(value: Value, stand_in: str = "") -> str:
    return value if isinstance(value, str) else stand_in


def as_word(value: Value, stand_in: str) -> str:
    """A word written bare or in quotes; stand_in where value is not known."""
    match value:
        case Word(name=name):
            return name
        case str():
            return value
        case _:
            return stand_in


def scalar(value: Value) -> Scalar:
    """value as data keeps it: a word by its name, a quantity by its amount; None where it is more than that."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case Word(name=name):
            return name
        case Quantity(amount=number):
            return number
        case _:
            return None


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
