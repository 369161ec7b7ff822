"""Run a small program again and again, each life in a forked child that kills itself at a chosen event.

Arguments: URL of a server, folder. Prints one JSON line per kill point: what was answered when the child
died, and how the resumed run ended. A process of its own, so that a fork copies no threads.
"""

import json
import os
import signal
import sys
from pathlib import Path

import anyio

from podium.engine import Engine
from podium.engine.event import CallAnswered, RunEnded, Stamped
from podium.engine.store import Store

PROGRAM = """
model small { endpoint = openai("", base_url = "%s") }
role writer { prompt = \"\"\"{{ task.statement }}\"\"\"  max_output = 20 tokens }
task hello { statement = "Say something."  verify = contains(["reply"]) }
run main {
  task   = hello
  flow   = parallel(2) of team(2, members = [2 of writer], rounds = 1) -> best
  budget = [100k tokens, 60 calls]
}
"""


async def first_life(url: str, store: Path, kill_at: int | None) -> None:
    async with Engine(store, environ={}) as engine:
        run = await engine.start(PROGRAM % url)

        def strike(stamped: Stamped) -> None:
            if stamped.number == kill_at:
                os.kill(os.getpid(), signal.SIGKILL)

        run.watchers.append(strike)
        await run.result()


async def second_life(store: Path) -> None:
    async with Engine(store, environ={}) as engine:
        run = await engine.resume()
        await run.result()


def forked(work: object, *args: object) -> int:
    """Run work in a child; gives how it ended, as os.wait does."""
    child = os.fork()
    if child == 0:
        try:
            anyio.run(work, *args)  # type: ignore[arg-type]
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1]


def answered(path: Path) -> dict[str, int]:
    """The tries by address that the journal holds an answer for."""
    store = Store.open(path)
    try:
        events = [s.event for run in store.runs() for s in store.events(run.id)]
        return {e.address: e.try_ for e in events if isinstance(e, CallAnswered)}
    finally:
        store.close()


def main(url: str, folder: Path, step: int) -> None:
    whole = folder / "whole.db"
    assert forked(first_life, url, whole, None) == 0
    store = Store.open(whole)
    run = store.runs()[0]
    events = list(store.events(run.id))
    store.close()
    print(json.dumps({"events": len(events), "answered": answered(whole), "run": run.id}))
    for kill_at in range(0, len(events), step):
        path = folder / f"{kill_at}.db"
        status = forked(first_life, url, path, kill_at)
        before = answered(path)
        resumed = forked(second_life, path)
        store = Store.open(path)
        record = store.runs()[0] if store.runs() else None
        last = [s.event for s in store.events(record.id)][-1] if record else None
        store.close()
        line = {
            "kill_at": kill_at,
            "killed": os.WIFSIGNALED(status),
            "before": before,
            "after": answered(path),
            "run": record and record.id,
            "resumed": resumed,
            "end": last.outcome if isinstance(last, RunEnded) else None,
            "answer": last.answer if isinstance(last, RunEnded) else None,
        }
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
