"""What changed between two texts of a program, by declaration. Pure.

A declaration has changed when its tree has, apart from what a run may go on under without asking anything
else: budgets, prices, limits, where a model is served, documentation, layout.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Literal, cast

from . import syntax as s
from .parse import parse
from .prices import PRICE_OF
from .scope import mentioned
from .source import Source, Span

# Fields and arguments that change what a run may cost, or where, and no answer.
_LOOSE = frozenset(
    ("budget", "endpoint", "price", "rent", "limits", "profile", "inflight", "max_agents", "out")
)


@dataclass(frozen=True, slots=True)
class Change:
    """A declaration, or a whole text where kind is "file", that is not what it was.

    users: the names of all declarations, in any text, that use it, itself included.
    """

    what: Literal["changed", "added", "removed"]
    kind: str
    name: str
    file: str
    users: frozenset[str] = frozenset()


def changes(old: Sequence[Source], new: Sequence[Source]) -> tuple[Change, ...]:
    """What changed, in the order of the old texts, then of the new. A text of the same name is the same one."""
    before, after = _by_name(old), _by_name(new)
    users = _users([*old, *new])
    return tuple(_told(before, after, users))


def _told(
    before: Mapping[str, Source], after: Mapping[str, Source], users: Mapping[str, frozenset[str]]
) -> Iterator[Change]:
    for name in dict.fromkeys([*before, *after]):
        was, now = before.get(name), after.get(name)
        if was == now or name.startswith(PRICE_OF):
            continue
        if was is None or now is None or not _is_program(name):
            what = _what(was, now)
            yield Change(what, "file", name, name)
            continue
        one, two = _declared(was), _declared(now)
        for word in dict.fromkeys([*one, *two]):
            if not _alike(one.get(word), two.get(word)):
                declaration = one.get(word) or two[word]
                what = _what(one.get(word), two.get(word))
                yield Change(what, declaration.kind, word, name, users.get(word, frozenset({word})))


def _what(was: object, now: object) -> Literal["changed", "added", "removed"]:
    return "added" if was is None else "removed" if now is None else "changed"


def _by_name(sources: Iterable[Source]) -> dict[str, Source]:
    return {source.name: source for source in sources}


def _is_program(name: str) -> bool:
    """Whether the text of that name is one of the language: a data file, such as rows, is not."""
    return name.endswith(".team") or name.startswith(("std.", "<"))


def _declared(source: Source) -> dict[str, s.Declaration]:
    return {declaration.name: declaration for declaration in parse(source)[0].declarations}


def _alike(was: s.Declaration | None, now: s.Declaration | None) -> bool:
    return was is not None and now is not None and _essence(was) == _essence(now)


def _essence(node: object) -> object:
    """node as nested tuples, without places, documentation and what is loose."""
    if isinstance(node, tuple):
        items = cast(tuple[object, ...], node)
        return tuple(_essence(item) for item in items if not _is_loose(item))
    if not is_dataclass(node) or isinstance(node, type):
        return node
    values = (getattr(node, field.name) for field in fields(node) if field.name != "doc")
    return (type(node).__name__, *(_essence(v) for v in values if not isinstance(v, Span)))


def _is_loose(node: object) -> bool:
    return isinstance(node, s.Field | s.Arg) and node.name in _LOOSE


def _users(sources: Sequence[Source]) -> dict[str, frozenset[str]]:
    """For each declared name, all that use it, however far away. Names are taken as they stand: two texts
    that declare one name count as one declaration, so a use may be told too often, never too seldom."""
    uses: dict[str, set[str]] = {}
    for source in sources:
        if _is_program(source.name):
            for declaration in parse(source)[0].declarations:
                uses.setdefault(declaration.name, set()).update(mentioned(declaration))
    return {name: frozenset(_closure(name, uses)) for name in uses}


def _closure(name: str, uses: Mapping[str, set[str]]) -> set[str]:
    found, waiting = {name}, [name]
    while waiting:
        here = waiting.pop()
        new = {user for user, used in uses.items() if here in used} - found
        found |= new
        waiting.extend(new)
    return found
