"""Arguments of task families: as a program gives them, checked by name, type and range."""

from collections.abc import Mapping

from podium.dsl.program import Scalar


def whole_number(
    args: Mapping[str, Scalar], name: str, *, default: int, low: int, high: int | None = None
) -> int:
    """The integer args[name], or default. Raises ValueError outside low to high, or on another type."""
    value = args.get(name, default)
    bounds = f"{low} or more" if high is None else f"{low} to {high}"
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{name} is {value!r}; a whole number of {bounds} is needed")
    if value < low or (high is not None and value > high):
        raise ValueError(f"{name} is {value}; {bounds} is possible")
    return value


def truth(args: Mapping[str, Scalar], name: str) -> bool:
    """The flag args[name], false where it is not given. Raises ValueError on another type."""
    value = args.get(name, False)
    if not isinstance(value, bool):
        raise ValueError(f"{name} is {value!r}; true or false is needed")
    return value


def only(args: Mapping[str, Scalar], *names: str) -> None:
    """Raises ValueError on an argument that is none of names."""
    for name in args:
        if name not in names:
            raise ValueError(f"there is no argument {name!r}; there are {', '.join(names)}")
