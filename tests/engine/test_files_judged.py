"""What verifiers are given of an attempt's files: data in Python, a folder in the sandbox, JSON far away."""

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import orjson
import pytest

from podium.dsl.program import Task, Tool, Verifier
from podium.engine import Engine, workspace
from podium.engine.call import CallError, ToolCall, VerifierCall
from podium.engine.event import CallIntended
from podium.engine.sandbox import Command, Ran, Sandbox
from podium.engine.shell.serving import Service, served
from podium.engine.store import Store
from podium.engine.testing import Say, ScriptedClient
from podium.engine.testing.handmade import agent, parallel, program, reduce_by, role, then
from podium.engine.testing.sandboxes import ScriptedSandbox, said
from podium.engine.value import Attempt, Verdict
from podium.engine.verify import judge
from podium.engine.workspace import File, name_of, written

pytestmark = pytest.mark.anyio
FILES = {"a.py": File(b"x = 1"), "lib/run": File(b"\xff", starts=True)}
TREE = written(FILES)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, __name__, sys.modules.get(__name__) or __import__(__name__))


def counts(attempt: Attempt, task: Task) -> Verdict:
    """A point for each byte of the file a.py."""
    return Verdict(float(len(attempt.files.get("a.py", b""))), None, ",".join(attempt.files))


def call(kind: str, tree: str = TREE, **args: Any) -> VerifierCall:
    verifier = Verifier("right", kind, args, timeout_s=5.0)
    name = name_of(tree) if tree else ""
    return VerifierCall("a/v", "run", verifier, Task("t", "Mend it."), "done", "done", tree=name)


def kept(name: str) -> str:
    return {name_of(TREE): TREE}[name]


async def test_a_function_gets_them_by_path() -> None:
    ref = f"{__name__}:counts"
    assert await judge(call("python", ref=ref), kept=kept) == Verdict(5.0, None, "a.py,lib/run")
    assert await judge(call("python", "", ref=ref)) == Verdict(0.0, None)


async def test_files_that_are_gone_are_an_error_of_the_verifier() -> None:
    with pytest.raises(CallError, match="the attempt's files cannot be read") as error:
        await judge(call("python", ref=f"{__name__}:counts"))
    assert error.value.kind == "verifier"


# --- in the sandbox --------------------------------------------------------------------------------


def there(command: Command) -> dict[str, bytes]:
    """The files that a command finds, each by its path in the work folder."""
    if command.folder is None:
        return dict(command.files)
    found = (path for path in command.folder.rglob("*") if path.is_file())
    return {path.relative_to(command.folder).as_posix(): path.read_bytes() for path in found}


async def looked(script: Callable[[Command], Ran], **args: Any) -> list[dict[str, bytes]]:
    seen: list[dict[str, bytes]] = []

    def noted(command: Command) -> Ran:
        seen.append(there(command))
        return script(command)

    await judge(call("command", argv=("check",), **args), sandbox=ScriptedSandbox(noted), kept=kept)
    return seen


async def test_a_program_finds_them_in_a_folder_beside_its_own() -> None:
    (seen,) = await looked(lambda command: said(), files=("check", "exit 0"))
    assert seen == {
        "answer.txt": b"done",
        "check": b"exit 0",
        "files/a.py": b"x = 1",
        "files/lib/run": b"\xff",
    }


async def test_nothing_of_it_is_left_afterwards() -> None:
    sandbox = ScriptedSandbox(lambda command: said())
    await judge(call("command", argv=("check",)), sandbox=sandbox, kept=kept)
    folder = sandbox.seen[0].folder
    assert folder is not None
    assert not folder.exists()


def asking(*wanted: dict[str, Any]) -> Callable[[Command], Ran]:
    def script(command: Command) -> Ran:
        if command.argv != ("check",) or "runs" in orjson.loads(command.stdin):
            return said()
        return said(orjson.dumps({"run": wanted}).decode())

    return script


async def test_a_candidates_program_starts_among_them_where_that_is_asked_for() -> None:
    wanted = {"argv": ["python3", "a.py"], "files": {"test.py": "hidden"}}
    _, among, _ = await looked(asking({**wanted, "attempt": True}))
    assert among == {"a.py": b"x = 1", "lib/run": b"\xff", "test.py": b"hidden"}
    _, alone, _ = await looked(asking(wanted))
    assert alone == {"test.py": b"hidden"}


@pytest.mark.parametrize("name", ["a.py", "a.py/deeper", "lib", "lib/run"])
async def test_a_hidden_file_takes_the_place_of_what_the_attempt_put_there(name: str) -> None:
    wanted = {"argv": ["x"], "files": {name: "hidden"}, "attempt": True}
    _, among, _ = await looked(asking(wanted))
    assert among[name] == b"hidden"
    assert len(among) == 2


async def test_beside_a_service_a_program_gets_none() -> None:
    wanted = {"argv": ["x"], "attempt": True, "service": {"argv": ["y"]}}
    with pytest.raises(CallError, match="beside a service is given no files"):
        await looked(asking(wanted))


@pytest.mark.sandbox
async def test_a_real_program_reads_them(sandbox: Sandbox) -> None:
    line = "test -x files/lib/run && test ! -x files/a.py && grep -qx 'x = 1' files/a.py"
    many = written({f"d/{number}": File(b"x") for number in range(600)} | FILES)
    for tree in (TREE, many):
        one = call("command", tree, argv=("sh", "-c", line))
        assert (await judge(one, sandbox=sandbox, kept=lambda _, tree=tree: tree)).passed


# --- on another machine ----------------------------------------------------------------------------


async def test_a_served_verifier_gets_them_too() -> None:
    task = Task("t", "Mend it.", Verifier("counts", "python", {"ref": f"{__name__}:counts"}))
    async with served(Service((task,), "secret", {}), "127.0.0.1", 0) as url:
        far = call("http", url=url, key="V")
        assert (await judge(far, environ={"V": "secret"}, kept=kept)).evidence == "a.py,lib/run"
        none = call("http", "", url=url, key="V")
        assert (await judge(none, environ={"V": "secret"})).score == 0.0


@pytest.mark.parametrize(
    "files",
    [
        {"../a": {"text": ""}},
        {"/a": {"text": ""}},
        {"a": {"text": 3}},
        {"a": {"base64": "?"}},
        {"a": "text"},
        {"a\n": {"text": ""}},
        {"./a": {"text": ""}},
        {"a": {"text": "\ud800"}},
    ],
)
def test_files_from_anywhere_are_looked_at(files: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r".+"):
        workspace.from_json(files)


def test_json_and_tree_are_each_others_inverse() -> None:
    assert workspace.from_json(workspace.as_json(FILES)) == FILES


# --- in a run --------------------------------------------------------------------------------------


def calls(name: str, **arguments: str) -> Say:
    return Say("", calls=(ToolCall("c", name, arguments, orjson.dumps(arguments).decode()),))


async def test_equal_answers_with_other_files_are_judged_apart_and_the_better_files_win() -> None:
    verify = Verifier("counts", "python", {"ref": f"{__name__}:counts"})
    worker = replace(role("worker"), tools=(Tool("write", "write"),))
    flow = then(parallel(3, agent(worker)), reduce_by("best"))
    script = {
        "1.worker/t1": calls("write", path="a.py", text="x"),
        "2.worker/t1": calls("write", path="a.py", text="longest"),
        "3.worker/t1": calls("write", path="a.py", text="x"),
        "": "done",
    }
    store = Store.memory()
    async with Engine(store, client=ScriptedClient(script), environ={}) as engine:
        working = program(flow, Task("t", "Mend it.", verify))
        result = await (await engine.start(working)).result()
        assert result.artifacts == {"a.py": b"longest"}
        events = [stamped.event for stamped in store.events(result.run)]
    judged = [one for one in events if isinstance(one, CallIntended) and one.kind == "verifier"]
    assert len(judged) == 2
    assert len({one.request for one in judged}) == 2
