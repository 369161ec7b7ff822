"""What the parts cost that grow: admission with its queue, the journal with its events, the store with its text.

Prints, each from one run:
- CPU per admitted call with 100 to 100,000 calls waiting, of many tenants, runs and agents, with one replica, and
  with eight, placement and leaders;
- events per second through the journal's group commit, of many tasks and of one, against SQLite alone, which
  commits each event or as many at a time, and against bare tasks;
- what a run of 10,000 calls on a history that grows to 200,000 tokens keeps, against its unique text, and the
  memory it takes. `--calls 1000` is a quicker one.

The baselines of the journal write the same bytes, each event's JSON in a row of its own, ready made before the
clock starts, to the same kind of file (WAL, `synchronous=FULL`). Plain SQLite commits each event, as who groups
nothing does. SQLite grouped makes as many commits as a
group-committing writer needs, of one event of each of the calls at once, and does nothing else: no task waits for
it. Bare tasks are as many as the calls at once; each hands its row over and waits until a thread has it on disk, a
turn of the event loop in one commit: what any program pays that may not go on before its event is safe. They do it
with a scope that shields the wait, as a program of anyio's does, and without one, which a cancellation breaks off.
One task that commits as many events at a time as there are calls at once, and waits for that, is printed beside.

Run by hand:

    python tests/bench/bench_scale.py
"""

import argparse
import random
import resource
import sqlite3
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import anyio
import anyio.lowlevel
import anyio.to_thread
import orjson

from podium.dsl.model import Endpoint
from podium.engine import CallAnswered, CallIntended
from podium.engine.admit import Grant, Queue, admit
from podium.engine.call import Message, ModelCall, ModelReply, Replica, Usage, reply_body
from podium.engine.event import Stamped, body, kind_of
from podium.engine.fleet import Fleet
from podium.engine.journal import Journal, message_texts
from podium.engine.ledger import Amount, Ledger, Limit
from podium.engine.store import RunRecord, Store

RUN = RunRecord("run-1", "main", 0.0, "")
WORDS = Path(__file__).read_text("utf-8").split()


def cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


# --- admission -------------------------------------------------------------------------------------


def admission_us(waiting: int, replicas: int = 1, turns: int = 3_000) -> float:
    """CPU of one turn, in microseconds: a call ends, the next one goes, and another comes.

    With several replicas calls are of teams of ten, each with a prompt of 8 kB, which one of them reads first.
    """
    ledger, fleet, endpoint = Ledger(), Fleet(random.Random(0)), Endpoint("openai", "m", "http://m")
    places = [Replica(f"r{i}", "m", endpoint, f"http://m{i}", "m", 8) for i in range(replicas)]
    fleet.add("m", places, tells_begun=replicas > 1)
    for tenant in range(10):
        ledger.open(f"tenant {tenant}", Limit())
        for run in range(10):
            ledger.open(f"run-{tenant}-{run}", Limit(), f"tenant {tenant}")
    queue, chance = Queue(ledger, fleet), random.Random(1)

    def arrive(number: int) -> None:
        run = f"run-{chance.randrange(10)}-{chance.randrange(10)}"
        call = ModelCall(f"main/{number % 5_000}.agent/c{number}", run, "m", (), 100)
        if replicas > 1:
            team = f"main/{number // 10 % 500}.team"
            prompt = f"{team} {number // 5_000} {text}"
            parts = Message("user", prompt), Message("user", str(number))
            call = replace(call, group=team, messages=parts)
        queue.arrive(call, Amount(0, 100, 1))

    def go(now: float) -> list[Grant]:
        """Those who go now, and those who followed them, once their prompts were read."""
        gone: list[Grant] = []
        while decided := admit(queue, now):
            found = [one.outcome for one in decided if isinstance(one.outcome, Grant)]
            gone += found
            for lead in (grant.lead for grant in found if grant.lead is not None):
                queue.go_on(queue.leads.read(lead, now))
        return gone

    text = said(random.Random(0), 8_000)
    for number in range(waiting):
        arrive(number)
    flying = go(0.0)
    began = cpu_s()
    for turn in range(turns):
        grant = flying.pop(0)
        queue.freed(grant)
        queue.settled(grant, Amount(0, 60, 1))
        arrive(waiting + turn)
        flying += go(float(turn))
    return (cpu_s() - began) / turns * 1e6


# --- the journal -----------------------------------------------------------------------------------


def intent(number: int, texts: tuple[str, ...] = ()) -> CallIntended:
    at, held = f"main/{number}.agent/c1", Amount(0, 300, 1)
    return CallIntended(at, 0, "run-1", "model", f"{number:064x}", held, "m", "m@host", texts)


def answer(number: int, text: str, reasoning: str = "") -> CallAnswered:
    usage = Usage(200, output=80)
    reply = ModelReply(text, "stop", usage, "model", "m@host", reasoning)
    at, spent = f"main/{number}.agent/c1", Amount(0, 280, 1)
    return CallAnswered(at, 0, "run-1", spent, usage, reply_body(reply), 1.5)


Ready = tuple[int, float, str, str, bytes]


async def journalled(folder: Path, calls: int, at_once: int) -> tuple[float, list[Ready]]:
    """Seconds, and the events as rows."""
    store = Store.open(folder / "journal.db")
    journal = store.create(RUN)

    async def one(first: int) -> None:
        for number in range(first, calls, at_once):
            await journal.commit([intent(number)])
            await journal.commit([answer(number, "a word " * 40)])

    with closing(store):
        async with store.writing():
            began = time.perf_counter()
            async with anyio.create_task_group() as tasks:
                for first in range(at_once):
                    tasks.start_soon(one, first)
            took = time.perf_counter() - began
        rows = [ready(stamped) for stamped in store.events("run-1")]
        await journal.close()
    return took, rows


async def grouped(folder: Path, calls: int, at_once: int) -> tuple[float, list[Ready]]:
    """The same, of one task; its events are made before the clock starts."""
    store = Store.open(folder / "grouped.db")
    journal, text = store.create(RUN), "a word " * 40
    events = [event for number in range(calls) for event in (intent(number), answer(number, text))]
    with closing(store):
        async with store.writing():
            began = time.perf_counter()
            for at in range(0, len(events), at_once):
                await journal.commit(events[at : at + at_once])
            took = time.perf_counter() - began
        rows = [ready(stamped) for stamped in store.events("run-1")]
        await journal.close()
    return took, rows


def ready(stamped: Stamped) -> Ready:
    fields = body(stamped.event)
    address, kind = fields.pop("address", ""), kind_of(stamped.event)
    return stamped.number, stamped.time, kind, address, orjson.dumps(fields)


def plain_store(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    db.execute("pragma journal_mode=wal")
    db.execute("pragma synchronous=full")
    db.execute("create table events(number integer primary key, time, kind, address, body)")
    return db


def put(db: sqlite3.Connection, rows: Sequence[Ready]) -> None:
    db.execute("begin immediate")
    db.executemany("insert into events values (?, ?, ?, ?, ?)", rows)
    db.execute("commit")


def plain(path: Path, rows: Sequence[Ready], at_once: int) -> float:
    """Seconds that SQLite alone takes."""
    with closing(plain_store(path)) as db:
        began = time.perf_counter()
        for at in range(0, len(rows), at_once):
            put(db, rows[at : at + at_once])
        return time.perf_counter() - began


async def handed(path: Path, rows: Sequence[Ready], at_once: int, shielded: bool) -> float:
    """Seconds that bare tasks take that wait for their rows."""
    waiting, work, written = list[Ready](), anyio.Event(), anyio.Event()

    async def one(first: int) -> None:
        for row in rows[first::at_once]:
            waiting.append(row)
            work.set()
            if shielded:
                with anyio.CancelScope(shield=True):
                    await written.wait()
            else:
                await written.wait()

    async def writer() -> None:
        nonlocal waiting, work, written
        left = len(rows)
        while left:
            await work.wait()
            await anyio.lowlevel.checkpoint()
            batch, done = waiting, written
            waiting, work, written = [], anyio.Event(), anyio.Event()
            await anyio.to_thread.run_sync(put, db, batch)
            left -= len(batch)
            done.set()

    with closing(plain_store(path)) as db:
        began = time.perf_counter()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(writer)
            for first in range(at_once):
                tasks.start_soon(one, first)
        return time.perf_counter() - began


def journal_lines(calls: int = 10_000) -> None:
    for at_once in (1, 2, 10, 100, 1_000):
        made = min(calls, 1_000 * at_once)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            took, rows = anyio.run(journalled, folder, made, at_once)
            each = plain(folder / "each.db", rows, 1)
            alone = plain(folder / "plain.db", rows, at_once)
            tasks = anyio.run(handed, folder / "handed.db", rows, at_once, True)
            bare = anyio.run(handed, folder / "bare.db", rows, at_once, False)
            group, rows = anyio.run(grouped, folder, made, at_once)
            beside = plain(folder / "beside.db", rows, at_once)
        paces = (2 * made / seconds for seconds in (took, each, alone, tasks, bare, group))
        print(
            f"{at_once:7} {2 * made:7}",
            *(f"{pace:10,.0f}" for pace in paces),
            f"{each / took:9.2f} {alone / took:8.2f} {tasks / took:6.2f} {bare / took:6.2f}",
            f"{beside / group:10.2f}",
        )


# --- the store -------------------------------------------------------------------------------------


def said(chance: random.Random, size: int) -> str:
    """About so many characters of lines of words."""
    words = [chance.choice(WORDS) for _ in range(size // 8)]
    lines = (words[at : at + 12] for at in range(0, len(words), 12))
    return "\n".join(" ".join(line) for line in lines)


def prompt(posts: list[str], number: int, *, as_list: bool) -> list[Message]:
    """The history as a team's board has it, one text, or as a chat has it, a message for each post."""
    end = Message("user", f"You are #{number % 10}. Go on.")
    if as_list:
        return [Message("user", post) for post in posts] + [end]
    return [Message("user", "The task.\n\n" + "\n\n".join(posts) + "\n\n" + end.content)]


async def kept(path: Path, calls: int, size: int, thought: int, *, as_list: bool) -> int:
    """Have a run of so many calls in the store at path; how much text its models wrote.

    size: of a reply, thought: of the reasoning before it, which is not in the history; about, in characters.
    The history grows to 800,000 characters, which is 200,000 tokens; then its oldest posts go.
    """
    chance, posts, unique = random.Random(0), list[str](), 0
    long = 0
    with closing(Store.open(path)) as store:
        async with store.writing():
            journal: Journal = store.create(RUN)
            for number in range(calls):
                names, texts = message_texts(prompt(posts, number, as_list=as_list))
                await journal.commit([intent(number, names)], texts)
                reply, reasoning = said(chance, size), said(chance, thought)
                await journal.commit([answer(number, reply, reasoning)])
                posts.append(f"[{number}]\n{reply}")
                long += len(posts[-1])
                unique += len(reply) + len(reasoning)
                while long > 800_000:
                    long -= len(posts.pop(0))
            await journal.close()
    return unique


def store_lines(calls: int) -> None:
    for as_list, size, thought in (
        (False, 3_200, 0),
        (False, 800, 2_400),
        (False, 800, 0),
        (False, 80, 0),
        (True, 800, 0),
    ):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        began = cpu_s()
        with tempfile.TemporaryDirectory() as name:
            path = Path(name) / "runs.db"
            unique = anyio.run(partial(kept, path, calls, size, thought, as_list=as_list))
            with closing(sqlite3.connect(path)) as db:
                db.execute("pragma wal_checkpoint(truncate)")
            there = path.stat().st_size
        grew = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        shape = "messages" if as_list else "one text"
        print(
            f"{shape:8} {calls:7} {size:6} {thought:8} {unique / 1e6:10.1f} {there / 1e6:9.1f}"
            f" {there / unique:6.2f} {grew:8.0f} {(cpu_s() - began) / calls * 1e3:8.1f}",
            flush=True,
        )


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--calls", type=int, default=10_000)
    calls: int = options.parse_args().calls
    print("waiting  us a call  with 8 replicas")
    for waiting in (100, 1_000, 10_000, 100_000):
        alone, placed = admission_us(waiting), admission_us(waiting, replicas=8)
        print(f"{waiting:7} {alone:10.0f} {placed:16.0f}", flush=True)
    print(f"{'events a second':>24}")
    print("at once  events   journal plain SQLite  grouped      tasks unshielded one task", end="")
    print("  to plain, grouped, tasks, unshielded; one task to grouped")
    journal_lines()
    print("history    calls  reply  thought  unique MB  store MB  ratio  more MB  ms/call")
    store_lines(calls)


if __name__ == "__main__":
    main()
