"""Arguments of task families: as a program gives them, checked by name, type and range."""

from collections.abc import Mapping
from dataclasses import dataclass

from podium.dsl.library import ArgumentError
from podium.dsl.names import did_you_mean
from podium.dsl.quantity import Scalar


@dataclass(frozen=True, slots=True)
class Whole:
    """An argument that is a whole number from low to high; high None: there is no bound."""

    name: str
    low: int
    high: int | None = None

    @property
    def range(self) -> str:
        return f"{self.low} or more" if self.high is None else f"{self.low} to {self.high}"


@dataclass(frozen=True, slots=True)
class Truth:
    """An argument that is true or false."""

    name: str

    @property
    def range(self) -> str:
        return "true or false"


@dataclass(frozen=True, slots=True)
class Text:
    """An argument that is a text with something in it."""

    name: str

    @property
    def range(self) -> str:
        return "a text"


Argument = Whole | Truth | Text


def text_given(args: Mapping[str, Scalar], wanted: Text) -> str:
    """What args gives for wanted. Raises ArgumentError where there is nothing, or no text."""
    value = args.get(wanted.name)
    if isinstance(value, bool) or not isinstance(value, str | int | float) or value == "":
        raise ArgumentError(wanted.name, f"{wanted.name} is {value!r}; a text is needed")
    return str(value)


def whole_number(args: Mapping[str, Scalar], wanted: Whole, *, default: int) -> int:
    """What args gives for wanted, or default. Raises ArgumentError outside its range, or on another type."""
    value = args.get(wanted.name, default)
    name, bounds = wanted.name, wanted.range
    if isinstance(value, bool) or not isinstance(value, int):
        raise ArgumentError(name, f"{name} is {value!r}; a whole number of {bounds} is needed")
    if value < wanted.low or (wanted.high is not None and value > wanted.high):
        raise ArgumentError(name, f"{name} is {value}; {bounds} is possible")
    return value


def at_least(args: Mapping[str, Scalar], name: str, least: float, default: float) -> float:
    """The number that args gives for name, or default. Raises ArgumentError below least, or on another type."""
    value = args.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= least:
        raise ArgumentError(name, f"{name} is {value!r}; {least} or more is needed")
    return float(value)


def truth(args: Mapping[str, Scalar], wanted: Truth) -> bool:
    """What args gives for wanted, false where nothing. Raises ArgumentError on another type."""
    value = args.get(wanted.name, False)
    if not isinstance(value, bool):
        raise ArgumentError(wanted.name, f"{wanted.name} is {value!r}; true or false is needed")
    return value


def only(args: Mapping[str, Scalar], *known: Argument) -> None:
    """Raises ArgumentError on an argument that is none of known."""
    names = [argument.name for argument in known]
    for name in args:
        if name not in names:
            meant = did_you_mean(name, names)
            takes = ", ".join(f"`{argument.name}` ({argument.range})" for argument in known)
            help_ = f"{meant} it takes {takes}" if meant else f"it takes {takes}"
            raise ArgumentError(name, f"there is no argument `{name}`", help=help_)
