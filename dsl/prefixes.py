"""W602: prompts whose beginning no server can reuse, because something varies before what is shared.

A board only grows at its end, so what a team's members read in one round is the beginning of what they read in the
next; unless their own system text changes in front of it.
"""

from collections.abc import Iterator

from . import syntax
from .context import Context
from .problem import Label
from .program import Slot, Team
from .prompts import dotted
from .source import Place
from .values import Noun, Scope

_LONG = 1_000  # characters: what servers reuse is counted in blocks of some hundred tokens


def first(context: Context, noun: Noun) -> None:
    """W602 for a prompt in which something varies before what all copies of the agent share."""
    parts = list(_parts(noun))
    at = next((i for i, (part, _) in enumerate(parts) if _varies(part)), None)
    if at is None:
        return
    part, scope = parts[at]
    shared = _shared(parts[at + 1 :])
    if shared is None or not isinstance(part, syntax.PromptSlot):
        return
    name = ".".join(_path(part))
    context.error(
        "W602",
        f"`{name}` differs between agents, and stands before what they share",
        scope.place(part.span),
        severity="warning",
        secondary=(Label(shared, "the same for all, and paid anew by each"),),
        help="servers reuse the beginning that prompts have in common: "
        "write what is the same for all first",
    )


def in_team(context: Context, made: Team) -> None:
    """W602 for members whose system text, which stands before the board, changes from round to round."""
    role = made.members[0].role
    alike = len(made.members) == 1 and made.recruit is None and not made.compat
    if not alike or made.rounds * made.cycles == 1 or role.system is None:
        return
    parts = role.system.parts
    names = [".".join(part.path) for part in parts if isinstance(part, Slot)]
    name = next((name for name in names if name == "round" or name.startswith("team.")), None)
    place = context.origin(role, "system")
    if name is not None and place is not None:
        context.error(
            "W602",
            f"`{name}` changes from round to round, and stands before what was said",
            place,
            severity="warning",
            secondary=(Label(made.place, "what its members say is paid anew in each round"),),
            help="write it in the `prompt`, which stands behind the discussion",
        )


def _parts(noun: Noun) -> Iterator[tuple[syntax.PromptText | syntax.PromptSlot, Scope]]:
    for name in ("system", "prompt"):
        if name in noun.fields:
            field, scope = noun.fields[name]
            if isinstance(field.value, syntax.Prompt):
                yield from ((part, scope) for part in field.value.parts)


def _path(part: syntax.PromptText | syntax.PromptSlot) -> tuple[str, ...]:
    return (dotted(part.value) or ()) if isinstance(part, syntax.PromptSlot) else ()


def _varies(part: syntax.PromptText | syntax.PromptSlot) -> bool:
    match _path(part):
        case ("self", "index" | "name") | ("attempt", *_):
            return True
        case _:
            return False


def _shared(
    parts: list[tuple[syntax.PromptText | syntax.PromptSlot, Scope]],
) -> Place | None:
    """Where the first thing stands that is long and the same for all."""
    for part, scope in parts:
        long = isinstance(part, syntax.PromptText) and len(part.text) >= _LONG
        if long or _path(part)[:1] == ("task",):
            return scope.place(part.span)
    return None
