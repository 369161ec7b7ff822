"""Runs in a store, as the commands that only read them need them."""

import re
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from podium.dsl.names import did_you_mean
from podium.dsl.problem import ProgramError
from podium.dsl.program import Budget, Program

from ..event import AccountOpened, Ordered
from ..fold import Fold, fold_for
from ..library import StoredLibrary
from ..orders import topped
from ..outcome import Named
from ..plan import plan
from ..request import compiled, from_json
from ..store import RunRecord, Store, StoreError, StoreRefused
from .exits import Exit, ShellError


@contextmanager
def open_store(path: Path) -> Generator[Store, None, None]:
    """The store at path, which must be there. Raises ShellError; so does any error of the store's inside."""
    if not path.is_file():
        raise ShellError(
            f"there is no store {path}: no run was started here, or name it with --store"
        )
    try:
        store = Store.open(path)
        try:
            yield store
        finally:
            store.close()
    except StoreRefused as error:
        raise ShellError(str(error), Exit.FAILED) from error
    except StoreError as error:
        raise ShellError(str(error)) from error


def find_run(store: Store, name: str) -> RunRecord:
    """The run of that id, or the only one whose id begins or ends so. Raises ShellError."""
    records = store.runs()
    for record in records:
        if record.id == name:
            return record
    close = [r for r in records if name and (r.id.startswith(name) or r.id.endswith(name))]
    match close:
        case [record]:
            return record
        case []:
            meant = did_you_mean(name, [record.id for record in records])
            raise ShellError(f"there is no run {name}; {meant or '`podium show` lists them'}")
        case _:
            ids = ", ".join(record.id for record in close[:5])
            raise ShellError(f"{name} stands for several runs: {ids}")


def fold_of(store: Store, record: RunRecord) -> Fold:
    """The run's events, folded, with the prices and the direction that its program knows."""
    program = program_of(record)
    folded = Fold() if program is None else fold_for(program)
    for stamped in store.events(record.id):
        folded.add(stamped)
    return folded


def program_of(record: RunRecord) -> Program | None:
    """What the run runs; None where it came as an object, or an older Podium wrote what we cannot read."""
    if not record.request:
        return None
    try:
        asked = from_json(record.request)
        program, _ = compiled(asked, StoredLibrary(asked.texts))
    except (ProgramError, KeyError, TypeError):
        return None
    return program


def limits(store: Store, record: RunRecord) -> dict[str, Budget]:
    """The run's budgets as they were opened and topped up, by the names that people know them by."""
    named, found = Named(record.id, record.name), dict[str, Budget]()
    own = named.shown(record.id)
    for stamped in store.events(record.id):
        match stamped.event:
            case AccountOpened(address=at) as e:
                found.setdefault(named.shown(at), Budget(e.usd, e.tokens, e.calls, e.seconds))
            case Ordered() as order if own in found:
                found[own] = topped(found[own], order)
            case _:
                pass
    return found


def is_planned(record: RunRecord, address: str) -> bool:
    """Whether the run's program has a part of which a copy would stand at address, or above a part of it.

    False where the program is not known.
    """
    program = program_of(record)
    if program is None:
        return False
    rows = len(program.tasks) > 1
    wanted = [part for part in address.split("/") if not (rows and part.endswith(".row"))]
    return any(_covers(node.address.split("/"), wanted) for _, node in plan(program).root.walk())


def _covers(part: list[str], wanted: list[str]) -> bool:
    """Whether wanted is a copy of part; what a team does below its own address has no part of its own."""
    pairs = zip(part, wanted, strict=False)
    whole = all(is_copy(segment, one) for segment, one in pairs)
    seat = (
        len(wanted) == len(part) + 1
        and re.match(r"r\d+\.|cycle\d+\.|recruit$|by$", wanted[-1]) is not None
    )
    return whole and (len(wanted) <= len(part) or seat)


def is_copy(segment: str, one: str) -> bool:
    """Whether `7.squad` is one of `3-12.squad`."""
    numbers, dot, label = segment.partition(".")
    number, _, own = one.partition(".")
    first, _, last = numbers.partition("-")
    if not dot or not (first + last).isdigit():
        return segment == one
    known = number.isdigit() and own == label
    return known and int(first) <= int(number) <= int(last or first)
