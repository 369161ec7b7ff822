"""A store that one process writes is listed and read by another one meanwhile."""

import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from podium.engine.call import Message, ModelReply, Usage, reply_body
from podium.engine.event import CallAnswered, CallIntended, RunEnded
from podium.engine.journal import message_texts
from podium.engine.ledger import NOTHING, Amount
from podium.engine.store import RunRecord, Store

# Tells what it sees in the store at argv[1], once for each line it reads.
READER = """
import json, sys
from pathlib import Path
from podium.engine.event import CallIntended
from podium.engine.store import Store
store = Store.open(Path(sys.argv[1]))
for _ in sys.stdin:
    events = list(store.events("r1"))
    calls = [s.event for s in events if isinstance(s.event, CallIntended)]
    texts = [[len(store.blob(m)) for m in store.listed(call.messages)] for call in calls]
    runs = [(run.id, run.status, store.owner(run.id) is not None) for run in store.runs()]
    numbers = [s.number for s in events]
    print(json.dumps([numbers, texts, runs, list(store.spent("r1"))]), flush=True)
"""
CALLS = 12


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.anyio
async def test_another_process_sees_what_was_committed_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    with closing(Store.open(path)) as store, _reader(path) as child:
        look = _looks(child)
        async with store.writing():
            journal = store.create(RunRecord("r1", "main", 0.0, "tenant"))
            sizes: list[list[int]] = []
            history = "The task.\n"
            for i in range(CALLS):
                history += f"[{i}] " + "what was said " * 20 + "\n\n"
                names, texts = message_texts([Message("user", history)])
                call = CallIntended(f"a/{i}", 0, "run", "model", "d", NOTHING, messages=names)
                await journal.commit([call], texts)
                sizes.append([len(history)])
                reply = reply_body(ModelReply("yes", "stop", Usage(1, 1)))
                end = CallAnswered(f"a/{i}", 0, "run", Amount(1, 2, 1), Usage(1, 1), reply, 0.1)
                await journal.commit([end])
                seen = look()
                assert seen == [
                    [*range(2 * i + 2)],
                    sizes,
                    [["r1", "running", True]],
                    [i + 1, 2 * i + 2, i + 1],
                ]
            await journal.end(RunEnded("passed", "", False, None, None, None, 1.0))
            await journal.close()
        assert look()[2] == [["r1", "ended", False]]


def _reader(path: Path) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", READER, str(path)]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    )


def _looks(child: "subprocess.Popen[str]") -> Callable[[], Any]:
    def look() -> Any:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write("look\n")
        return json.loads(child.stdout.readline())

    return look
