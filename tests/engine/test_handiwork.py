"""Tools on an agent's files: what they change, what they refuse, and that nothing but trees is kept."""

import base64
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.dsl.program import Tool
from podium.engine import Engine, workspace
from podium.engine.call import ToolCall, ToolReply, ToolUse
from podium.engine.event import CallIntended
from podium.engine.handiwork import OFFERS, Handiwork
from podium.engine.sandbox import Command, Output, Ran, Sandbox
from podium.engine.testing import Say, ScriptedClient
from podium.engine.testing.handmade import agent, program, role
from podium.engine.workspace import File, TooLarge

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@dataclass
class Scripted:
    """A sandbox in which something happens to the folder. ran: the commands."""

    happens: Callable[[Path], Ran] = lambda folder: Ran(0)
    ran: list[Command] = field(default_factory=list[Command])
    name: str = "scripted"
    isolates: bool = True

    async def run(self, command: Command) -> Ran:
        self.ran.append(command)
        assert command.folder is not None
        return self.happens(command.folder)


def none(name: str) -> str:
    raise KeyError(name)


@dataclass
class Hand:
    """An agent at work: each call on the tree that the one before left."""

    works: Handiwork
    tree: str = ""

    async def __call__(self, kind: str, **arguments: str | int) -> ToolReply:
        tool = Tool(kind, kind)  # type: ignore[arg-type]  # a kind
        reply = await self.works.use(ToolUse("a", "r", tool, kind, arguments, self.tree))
        self.tree = reply.tree
        return reply


def hand(sandbox: Sandbox | None = None) -> Hand:
    return Hand(Handiwork(sandbox, none))


async def test_files_are_written_read_and_edited() -> None:
    one = hand()
    assert (await one("read")).text == ""
    assert (await one("write", path="src/a.py", text="x = 1\ny = 2\n")).text.endswith(
        "12 bytes now"
    )
    assert (await one("edit", path="/box/src/a.py", old="x = 1", new="x = 3")).failed is False
    assert (await one("read", path="src/a.py", first=1, lines=1)).text == "x = 3\n"
    assert (await one("read")).text == "src/a.py  12 bytes"


@pytest.mark.parametrize(
    ("kind", "arguments", "told"),
    [
        ("read", {"path": "b"}, "no file b"),
        ("write", {"path": "../b", "text": ""}, "no path within your folder"),
        ("write", {"path": "/etc/passwd", "text": ""}, "no path within your folder"),
        ("write", {"path": "a/b", "text": ""}, "lies in a file"),
        ("edit", {"path": "a", "old": "l", "new": "x"}, "occurs 2 times"),
        ("edit", {"path": "a", "old": "", "new": "x"}, "occurs 0 times"),
        ("write", {"path": "b", "text": "x" * (workspace.MOST_BYTES + 1)}, "more than 16 MiB"),
    ],
)
async def test_what_cannot_be_done_is_told_and_changes_nothing(
    kind: str, arguments: dict[str, str], told: str
) -> None:
    one = hand()
    before = (await one("write", path="a", text="hello")).tree
    reply = await one(kind, **arguments)
    assert reply.failed
    assert told in reply.text
    assert (reply.tree, reply.kept) == (before, ())


async def test_a_command_finds_the_files_and_leaves_others() -> None:
    seen: list[str] = []

    def happens(folder: Path) -> Ran:
        if seen:
            return Ran(0)
        seen.append((folder / "a").read_text())
        (folder / "a").unlink()
        (folder / "d").mkdir()
        (folder / "d" / "run").write_bytes(b"\xff")
        (folder / "d" / "run").chmod(0o755)
        (folder / "link").symlink_to("/etc/passwd")
        return Ran(3, out=Output(b"made it\n"))

    sandbox = Scripted(happens)
    one = hand(sandbox)
    await one("write", path="a", text="here")
    reply = await one("shell", command="make")
    assert (seen, reply.failed) == (["here"], True)
    assert reply.text == "made it\n[it ended with code 3]"
    assert workspace.read(reply.kept[0][1]) == {"d/run": File(b"\xff", starts=True)}
    folder = sandbox.ran[0].folder
    assert folder is not None
    assert not folder.exists()
    await one("python", code="print(1)")
    assert (sandbox.ran[1].argv, sandbox.ran[1].stdin) == (("python3", "-"), b"print(1)")
    assert {one.environ["PYTHONDONTWRITEBYTECODE"] for one in sandbox.ran} == {"1"}


async def test_a_command_that_leaves_too_much_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(workspace, "MOST_FILES", 9)

    def happens(folder: Path) -> Ran:
        for name in range(workspace.MOST_FILES + 1):
            (folder / str(name)).touch()
        return Ran(0)

    one = hand(Scripted(happens))
    before = (await one("write", path="a", text="here")).tree
    reply = await one("shell", command="make")
    assert "changed nothing: more than" in reply.text
    assert reply.tree == before


async def test_a_later_life_finds_the_files_in_the_store() -> None:
    one = hand()
    kept = dict((await one("write", path="a", text="here")).kept)
    later = Hand(Handiwork(None, kept.__getitem__), one.tree)
    assert (await later("read", path="a")).text == "here"


@given(
    st.dictionaries(
        st.from_regex(r"[a-z]{1,4}", fullmatch=True),
        st.builds(File, st.binary(max_size=40), st.booleans()),
        max_size=5,
    )
)
def test_a_tree_is_read_as_it_was_written(tree: dict[str, File]) -> None:
    text = workspace.written(tree)
    assert workspace.read(text) == tree
    assert workspace.written(dict(reversed(tree.items()))) == text


def test_too_many_files_are_no_tree() -> None:
    with pytest.raises(TooLarge, match="5,001 files"):
        workspace.written({str(n): File(b"") for n in range(workspace.MOST_FILES + 1)})


def test_what_is_no_text_is_kept_as_it_is() -> None:
    assert base64.b64encode(b"\xff").decode() in workspace.written({"a": File(b"\xff")})


def test_each_kind_has_its_offer() -> None:
    assert set(OFFERS) == {"shell", "python", "read", "write", "edit"}


@pytest.mark.slow
async def test_in_a_real_sandbox_a_program_sees_the_files_and_no_network(sandbox: Sandbox) -> None:
    one = hand(sandbox)
    await one("write", path="a.txt", text="2 + 2")
    reply = await one("python", code="print(eval(open('a.txt').read())); open('b', 'w').write('4')")
    assert (reply.text, reply.failed) == ("4", False)
    assert (
        await one("shell", command="cat b; ls /sys/class/net 2>/dev/null | wc -w")
    ).failed is False
    assert (await one("read", path="b")).text == "4"


def calls(kind: str, **arguments: str) -> Say:
    written = orjson.dumps(arguments).decode()
    return Say("", calls=(ToolCall("c", kind, arguments, written),))


async def test_a_resumed_run_goes_on_with_the_files_it_had(tmp_path: Path) -> None:
    one = replace(role("agent"), tools=(Tool("write", "write"), Tool("read", "read")))
    working = program(agent(one))
    first = ScriptedClient({"t1": calls("write", path="a", text="here"), "t2": Say("", delay=99)})
    async with Engine(tmp_path / "runs.db", client=first, environ={}) as engine:
        run = await engine.start(working)
        async for stamped in run.events():
            if isinstance(stamped.event, CallIntended) and stamped.event.address.endswith("t2"):
                break
        run.abort()
    second = ScriptedClient({"t2": calls("read", path="a"), "t3": "done"})
    async with Engine(tmp_path / "runs.db", client=second, environ={}) as engine:
        result = await (await engine.resume(run.id, program=working)).result()
    assert result.attempt is not None
    assert result.attempt.answer == "done"
    assert second.seen[-1].messages[-1].content == "here"
    assert [call.address.rpartition("/")[2] for call in second.seen] == ["t2", "t3"]
