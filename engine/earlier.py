"""What stores of the schemas 1 to 4 had, which are still read: their tables are taken over when one is opened.

Their events had rows of their own, deflated or not. The texts of schemas 1 to 3 stay where they are, in `blobs`: a
text was cut into pieces, and the row under its name listed the pieces' names, or the names of pieces that list
them.
"""

import sqlite3
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import orjson

from .ledger import NOTHING, Amount
from .pack import DEFLATED, PLAIN, unpack
from .records import Entry, Record, RecordRow

# Orders to a run from other processes; what a run took is in its events. New with schema 2.
ORDERS = """
create table orders(number integer primary key, run text not null, time real not null, body blob not null);
"""
# Long texts, and those of before schema 5. New with schema 4.
TEXTS = """
create table texts(key blob not null, body blob not null);
create unique index text_key on texts(key);
create unique index run_seq on runs(seq);
"""
_EVENTS = """
create table events(
  id integer primary key, time real not null, code integer not null, address text, body blob not null);
"""
_SUMS = ", ".join(
    f"coalesce(sum(json_extract(unpacked(body), '$.spent.{name}')), 0)" for name in Amount._fields
)
# What the run cost, as a list in the order of Amount; null while it lives. New with schema 3.
_SPENT = f"""
alter table runs add column spent text;
update runs set spent = (select json_array({_SUMS}) from events
  where run = runs.id and kind in ('call_answered', 'call_failed')) where outcome is not null;
"""
# Begins a row that lists names.
_MARK = "\x1fpieces "


def upgrade(schema: int, codes: Mapping[str, int]) -> str:
    """The statements that make a store of schema one of schema 4. codes: those of events' kinds."""
    if schema == 4:
        return ""
    cases = " ".join(f"when '{kind}' then {code}" for kind, code in codes.items())
    return f"""
    {ORDERS if schema < 2 else ""} {_SPENT if schema < 3 else ""}
    alter table runs add column seq integer;
    update runs set seq = rowid;
    alter table events rename to events_before;
    drop index event_number;
    {_EVENTS} {TEXTS}
    insert into events(id, time, code, address, body)
      select runs.seq << 32 | number, time, case kind {cases} end, address, body
      from events_before join runs on runs.id = run order by 1;
    drop table events_before;
    """


def records(db: sqlite3.Connection, codes: Mapping[str, int]) -> Iterator[RecordRow]:
    """The events of schema 4 as records."""
    settles = [codes[kind] for kind in ("call_answered", "call_failed", "rented")]
    record: Record | None = None
    for id_, time, code, address, kept in db.execute(
        "select id, time, code, address, body from events order by id"
    ):
        if record is not None and (record.is_full or record.id >> 32 != id_ >> 32):
            yield record.row()
            record = None
        record = record or Record(id_)
        fields = _fields(address, kept)
        spent = Amount(**fields["spent"]) if code in settles else NOTHING
        record.add([Entry(time, code, fields, spent)])
    if record is not None:
        yield record.row()


def _fields(address: str | None, kept: bytes) -> dict[str, Any]:
    fields: dict[str, Any] = {} if address is None else {"address": address}
    fields |= orjson.loads(unpacked(kept))
    if "request" in fields:  # of which half is looked at now
        fields["request"] = fields["request"][:32]
    return fields


def unpacked(kept: bytes) -> bytes:
    """The JSON text of an event: packed, as it is, or deflated where it was long."""
    if kept[0] in (PLAIN, DEFLATED):
        return unpack(kept)
    return kept if kept[:1] == b"{" else zlib.decompress(kept)


def text_of(kept: bytes) -> str:
    """The same for SQLite, which calls it `unpacked`."""
    return unpacked(kept).decode()


def whole(row: str, read: Callable[[str], str]) -> str:
    """The text that row stands for. read: of a row by its name."""
    if not row.startswith(_MARK):
        return row
    depth, _, text = row.removeprefix(_MARK).partition("\n")
    for _ in range(int(depth)):
        text = "".join(map(read, text.split("\n")[:-1]))
    return text
