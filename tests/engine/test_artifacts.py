"""The files of an attempt: which they are, that they are told at the end, and that a later life has the same."""

from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from podium.dsl.program import Program, Tool
from podium.engine import Engine
from podium.engine.call import ToolCall
from podium.engine.event import Improved, RunEnded, from_body
from podium.engine.result import RunResult
from podium.engine.store import Store
from podium.engine.testing import Say, ScriptedClient
from podium.engine.testing.handmade import agent, program, role, then
from podium.engine.workspace import File, name_of, written

pytestmark = pytest.mark.anyio
WRITE, READ, SUBMIT = Tool("write", "write"), Tool("read", "read"), Tool("submit", "submit")
WORKER = replace(role("worker"), tools=(WRITE, READ, SUBMIT))

TEXT = '''
role worker {
  prompt = """{{ task.statement }}"""
  tools = [write]
}
task chore { statement = "the work" }
run main { task = chore, flow = worker, budget = [9 calls] }
'''


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def calls(name: str, **arguments: str) -> Say:
    return Say("", calls=(ToolCall("c", name, arguments, orjson.dumps(arguments).decode()),))


async def ran(working: Program, client: ScriptedClient, store: Store) -> RunResult:
    async with Engine(store, client=client, environ={}) as engine:
        return await (await engine.start(working)).result()


async def test_what_an_agent_leaves_in_its_folder_comes_with_its_answer() -> None:
    store = Store.memory()
    client = ScriptedClient({"t1": calls("write", path="src/a.py", text="x = 1"), "t2": "done"})
    result = await ran(program(agent(WORKER)), client, store)
    assert result.artifacts == {"src/a.py": b"x = 1"}
    assert result.attempt is not None
    tree = name_of(written({"src/a.py": File(b"x = 1")}))
    assert result.attempt.tree == tree
    (end,) = [one.event for one in store.events(result.run) if isinstance(one.event, RunEnded)]
    assert end.trees == (tree,)


async def test_a_submission_has_the_files_of_that_moment() -> None:
    script = {
        "t1": calls("write", path="a", text="first"),
        "t2": calls("submit", answer="it is done"),
        "t3": calls("write", path="a", text="second"),
        "t4": "nothing more",
    }
    result = await ran(program(agent(WORKER)), ScriptedClient(script), Store.memory())
    assert result.attempt is not None
    assert (result.attempt.answer, result.artifacts) == ("it is done", {"a": b"first"})


async def test_who_revises_begins_with_the_files_and_who_has_no_folder_keeps_them() -> None:
    mender = replace(WORKER, name="mender", takes=frozenset({"attempt"}))
    critic = replace(role("critic"), takes=frozenset({"attempt"}))
    script = {
        "1.worker/t1": calls("write", path="a", text="one"),
        "1.worker/t2": "made",
        "2.mender/t1": calls("write", path="b", text="two"),
        "2.mender/t2": "mended",
        "3.critic/c1": "looked at",
    }
    flow = then(agent(WORKER), agent(mender), agent(critic))
    result = await ran(program(flow), ScriptedClient(script), Store.memory())
    assert result.attempt is not None
    assert result.attempt.answer == "looked at"
    assert result.artifacts == {"a": b"one", "b": b"two"}


async def test_an_answer_without_files_has_none() -> None:
    store = Store.memory()
    result = await ran(program(agent(WORKER)), ScriptedClient({"t1": "done"}), store)
    assert dict(result.artifacts) == {}
    (end,) = [one.event for one in store.events(result.run) if isinstance(one.event, RunEnded)]
    assert end.trees == ()


async def test_a_run_that_ended_before_still_has_its_files(tmp_path: Path) -> None:
    script = {"t1": calls("write", path="a", text="here"), "t2": "done"}
    for client in (ScriptedClient(script), ScriptedClient({})):
        async with Engine(tmp_path / "runs.db", client=client, environ={}) as engine:
            result = await (await engine.start(TEXT, key="k")).result()
            assert result.artifacts == {"a": b"here"}


def test_events_of_earlier_stores_say_nothing_of_files() -> None:
    end = from_body("run_ended", dict(END))
    assert isinstance(end, RunEnded)
    assert end.trees == ()
    best = from_body("improved", {"address": "a", "score": 1.0, "passed": True, "answer": "x"})
    assert isinstance(best, Improved)
    assert best.tree == ""


END = {
    "outcome": "passed",
    "reason": "",
    "resumable": False,
    "answer": "x",
    "score": 1.0,
    "passed": True,
    "seconds": 1.0,
}
