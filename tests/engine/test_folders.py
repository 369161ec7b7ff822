"""Files that a task gives: read whole or refused, what agents begin with, and the same in each later life."""

from collections.abc import Callable
from pathlib import Path

import orjson
import pytest

from podium.dsl.compile import Choice, compile_run
from podium.dsl.library import LibraryError, MemoryLibrary
from podium.dsl.problem import ProgramError
from podium.dsl.source import Source
from podium.engine import Engine, workspace
from podium.engine.call import CallError, ToolCall
from podium.engine.event import CallIntended, RunEnded
from podium.engine.folders import gathered
from podium.engine.library import DiskLibrary
from podium.engine.replay import replay
from podium.engine.request import from_json
from podium.engine.shell.changed import since
from podium.engine.store import Store
from podium.engine.testing import Say, ScriptedClient
from podium.engine.testing.faults import Crash, Placed, Schedule
from podium.engine.testing.simulate import simulate
from podium.engine.workspace import File

pytestmark = pytest.mark.anyio
TEXT = '''
role worker {
  prompt = """{{ task.statement }}"""
  tools = [read, write]
}
task chore { statement = "mend it"  files = "bug" }
run main { task = chore, flow = worker, budget = [9 calls] }
'''


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "podium.toml").write_text("")
    (tmp_path / "x.team").write_text(TEXT)
    (tmp_path / "bug" / "lib").mkdir(parents=True)
    (tmp_path / "bug" / "a.py").write_text("x = 1")
    (tmp_path / "bug" / "lib" / "run").write_bytes(b"\xff")
    (tmp_path / "bug" / "lib" / "run").chmod(0o755)
    return tmp_path


def calls(name: str, **arguments: str) -> Say:
    return Say("", calls=(ToolCall("c", name, arguments, orjson.dumps(arguments).decode()),))


def tree(project: Path, path: str) -> dict[str, File]:
    library = DiskLibrary(str(project / "x.team"))
    return workspace.read(library.tree(path, importer=str(project / "x.team")))


def test_a_folder_and_a_file_are_read_as_they_are(project: Path) -> None:
    assert tree(project, "./bug/") == {
        "a.py": File(b"x = 1"),
        "lib/run": File(b"\xff", starts=True),
    }
    assert tree(project, "bug/a.py") == {"a.py": File(b"x = 1")}


def test_what_tools_keep_beside_the_files_is_no_part_of_them(project: Path) -> None:
    for name in (".git", ".podium", "__pycache__"):
        (project / "bug" / name).mkdir()
        (project / "bug" / name / "kept").touch()
    assert set(tree(project, "bug")) == {"a.py", "lib/run"}


def link_out(project: Path) -> None:
    (project / "bug" / "out").symlink_to("/etc/passwd")


def link_in(project: Path) -> None:
    (project / "bug" / "lib" / "again").symlink_to(project / "bug")


def unsayable(project: Path) -> None:
    (project / "bug" / "a\nb").touch()


def many(project: Path) -> None:
    for number in range(3):
        (project / "bug" / str(number)).touch()


@pytest.mark.parametrize(
    ("happens", "told"),
    [
        (link_out, "\"bug\" has 'out', which is a link: files and folders alone can be given"),
        (link_in, "\"bug\" has 'lib/again', which is a link: files and folders alone can be given"),
        (unsayable, r"""has a file whose name cannot be used: 'a\nb'"""),
        (many, '"bug" is more than an agent\'s folder holds: 4 files and 16 MiB'),
    ],
)
def test_a_folder_that_cannot_be_given_whole_is_refused(
    project: Path, monkeypatch: pytest.MonkeyPatch, happens: Callable[[Path], None], told: str
) -> None:
    monkeypatch.setattr(workspace, "MOST_FILES", 4)
    happens(project)
    with pytest.raises(LibraryError) as caught:
        tree(project, "bug")
    assert told in str(caught.value)


def test_no_link_leads_out_of_the_project(project: Path) -> None:
    (project / "outside").symlink_to("/etc")
    for path in ("outside", "..", "/etc"):
        with pytest.raises(LibraryError, match="outside the project") as caught:
            tree(project, path)
        assert caught.value.code == "E502"


def test_an_empty_folder_is_no_folder_to_give(project: Path) -> None:
    (project / "empty").mkdir()
    with pytest.raises(LibraryError, match='"empty" is a folder without files'):
        tree(project, "empty")
    with pytest.raises(LibraryError, match='no file "none"'):
        tree(project, "none")


async def test_an_agent_begins_with_them_and_gives_them_back_changed(project: Path) -> None:
    script = {
        "t1": calls("read", path="a.py"),
        "t2": calls("write", path="a.py", text="x = 2"),
        "t3": "done",
    }
    client = ScriptedClient(script)
    async with engine(project, client) as one:
        result = await (await one.start(Source(str(project / "x.team"), TEXT))).result()
        assert client.seen[1].messages[-1].content == "x = 1"
        assert result.artifacts == {"a.py": b"x = 2", "lib/run": b"\xff"}


async def test_an_agent_that_changes_nothing_gives_them_back_as_they_were(project: Path) -> None:
    async with engine(project, ScriptedClient({"t1": "nothing to do"})) as one:
        result = await (await one.start(Source(str(project / "x.team"), TEXT))).result()
        assert result.artifacts == {"a.py": b"x = 1", "lib/run": b"\xff"}


async def test_a_later_life_needs_no_folder_and_says_that_it_changed(project: Path) -> None:
    first = ScriptedClient({"t1": calls("read", path="a.py"), "t2": Say("", delay=99)})
    async with engine(project, first) as one:
        run = await one.start(Source(str(project / "x.team"), TEXT))
        async for stamped in run.events():
            if isinstance(stamped.event, CallIntended) and stamped.event.address.endswith("t2"):
                break
        run.abort()
        await run.result()
    (project / "bug" / "a.py").write_text("x = 9")
    second = ScriptedClient({"t2": calls("write", path="b", text="new"), "t3": "done"})
    async with engine(project, second) as one:
        (record,) = one.runs()
        changed = since(from_json(record.request))
        assert [(change.what, Path(change.name).name) for change in changed] == [("changed", "bug")]
        (project / "bug" / "a.py").unlink()
        again = await one.resume(run.id)
        result = await again.result()
        assert result.artifacts == {"a.py": b"x = 1", "b": b"new", "lib/run": b"\xff"}
        replayed = await replay(again.program, list(again.past()), lambda name: 8192)
        assert replayed.difference == ""


async def test_two_lists_that_are_too_much_together_are_refused_before_a_call(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "more").write_text("")
    monkeypatch.setattr(workspace, "MOST_FILES", 2)
    text = TEXT.replace('"bug"', '["bug", "more"]')
    async with engine(project, ScriptedClient({})) as one:
        with pytest.raises(CallError, match="`files` of task chore: 3 files, where 2 may be"):
            await one.start(Source(str(project / "x.team"), text))
        assert one.runs() == []


async def test_a_text_from_anywhere_reads_no_folder(project: Path) -> None:
    async with Engine(Store.memory(), client=ScriptedClient({}), environ={}) as one:
        with pytest.raises(ProgramError, match="E502"):
            await one.start(Source(str(project / "x.team"), TEXT))


def test_what_is_read_is_what_a_workspace_writes(project: Path) -> None:
    text = gathered(project / "bug", "bug")
    assert workspace.written(workspace.read(text)) == text


def engine(project: Path, client: ScriptedClient) -> Engine:
    return Engine(project / "runs.db", client=client, environ={}, allow=["file:bug", "file:more"])


SIMULATED = '''
role worker { prompt = """{{ task.statement }}"""  tools = [read, write, edit, submit(2)]  turns = 5 }
role mender { prompt = """{{ attempt.answer }}"""  tools = [read, write]  turns = 3 }
task chore { statement = "mend it"  files = "kit"  verify = contains("yes") }
run alone { task = chore  flow = parallel(3) of worker -> best -> mender  budget = [100 calls] }
run together {
  task   = chore
  flow   = team(3, members = [3 of worker], rounds = 2, style = work)
  budget = [100 calls]
}
'''


@pytest.mark.parametrize(
    "seeds", [range(4), pytest.param(range(4, 40), marks=pytest.mark.long)], ids=["few", "many"]
)
@pytest.mark.parametrize("run", ["alone", "together"])
def test_kills_break_no_promise_and_the_replay_has_the_same_files(run: str, seeds: range) -> None:
    library = MemoryLibrary(files={"kit/a": "one\ntwo", "kit/b": "x"})
    choice = Choice(run=run)
    working, _ = compile_run(Source("x.team", SIMULATED), library, choice)
    for seed in seeds:
        kill = Placed(Crash(commits=1 + seed % 12), 1 + seed / 4)
        ended = simulate(working, schedule=Schedule(seed, (kill,)))
        assert ended.violations == ()
        end = ended.events[
            -1
        ].event  # a kill at this very record leaves no result, and nothing to resume
        assert isinstance(end, RunEnded)
        assert len(end.trees) == 1
        assert end.trees[0]
