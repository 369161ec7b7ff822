"""What stores of the schemas 1 to 3 had, which are still read: their tables are taken over when one is opened.

Their texts stay where they are, in `blobs`: a text was cut into pieces, and the row under its name listed the
pieces' names, or the names of pieces that list them.
"""

import zlib
from collections.abc import Callable

from .ledger import Amount

# Orders to a run from other processes; what a run took is in its events. New with schema 2.
ORDERS = """
create table orders(number integer primary key, run text not null, time real not null, body blob not null);
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


def upgrade(schema: int, kinds: dict[str, int], events: str) -> str:
    """The statements that make a store of schema one of schema 4. kinds: the codes of events' kinds; events: what
    makes their table."""
    codes = " ".join(f"when '{kind}' then {code}" for kind, code in kinds.items())
    return f"""
    {ORDERS if schema < 2 else ""} {_SPENT if schema < 3 else ""}
    alter table runs add column seq integer;
    update runs set seq = rowid;
    alter table events rename to events_before;
    drop index event_number;
    {events}
    insert into events(id, time, code, address, body)
      select runs.seq << 32 | number, time, case kind {codes} end, address, body
      from events_before join runs on runs.id = run order by 1;
    drop table events_before;
    """


def unpacked(kept: bytes) -> bytes:
    """The JSON text of an event: as it is, or deflated where it was long."""
    return kept if kept[:1] == b"{" else zlib.decompress(kept)


def whole(row: str, read: Callable[[str], str]) -> str:
    """The text that row stands for. read: of a row by its name."""
    if not row.startswith(_MARK):
        return row
    depth, _, text = row.removeprefix(_MARK).partition("\n")
    for _ in range(int(depth)):
        text = "".join(map(read, text.split("\n")[:-1]))
    return text
