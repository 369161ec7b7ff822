"""Runs in a store, as the commands that only read them need them."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from podium.dsl.names import did_you_mean
from podium.dsl.problem import ProgramError
from podium.dsl.program import Program

from ..fold import Fold, fold_for
from ..library import StoredLibrary
from ..request import compiled, from_json
from ..store import RunRecord, Store, StoreError
from .exits import ShellError


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
