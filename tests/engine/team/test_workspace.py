"""The files of a team at work: a folder each, one for all, a branch each; and that each life has the same."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import anyio
import orjson
import pytest
import trio.testing

from podium.dsl.compile import Choice, compile_run
from podium.dsl.library import MemoryLibrary
from podium.dsl.program import Program, Task, Team, Tool, Workspace
from podium.dsl.source import Source
from podium.engine import Engine
from podium.engine.call import ModelCall, Offer, ToolCall, ToolReply, ToolUse
from podium.engine.handiwork import OFFERS
from podium.engine.result import RunResult
from podium.engine.store import Store
from podium.engine.testing import Say, ScriptedClient, Simulation, schedule, simulate
from podium.engine.testing.arm import Stroke
from podium.engine.testing.handmade import exact, program, role, team
from podium.engine.testing.strokes import struck
from podium.engine.toolbox import Means, Open, open_tools
from podium.engine.workspace import File, name_of, read, written

TOOLS = tuple(Tool(name, name) for name in ("write", "edit", "read"))  # type: ignore[arg-type]  # kinds
RIGHT = Task("sum", "What is 2 + 2?", exact("4"))
BLIND = replace(RIGHT, verify=None)


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    return ("trio", {"clock": trio.testing.MockClock(autojump_threshold=0)})


def works(how: Workspace, size: int = 2, rounds: int = 1) -> Team:
    tools = (*TOOLS, Tool("submit", "submit"), Tool("pull", "pull"))
    member = replace(role(), tools=tools, turns=9)
    return replace(team((size, member), rounds=rounds), style="work", workspace=how)


def tool(name: str, seconds: float = 1.0, **arguments: str) -> Say:
    """A reply after so many seconds that calls a tool."""
    call = ToolCall("c", name, arguments, orjson.dumps(arguments).decode())
    return Say("", seconds, finish="tool_calls", calls=(call,))


def write(path: str, text: str, seconds: float = 1.0) -> Say:
    return tool("write", seconds, path=path, text=text)


def edit(path: str, text: str, seconds: float = 1.0) -> Say:
    return tool("edit", seconds, path=path, old="-", new=text)


async def ran(
    flow: Team, task: Task, tools: Open = open_tools, **seats: Sequence[Say]
) -> tuple[RunResult, Mapping[str, bytes], ScriptedClient]:
    """The run in which each seat's replies are these, by turn; other agents say 5."""

    def say(call: ModelCall) -> Say:
        *_, segment, turn = call.address.split("/")
        said = seats.get(segment.replace(".", "_")) or seats.get(segment.partition(".")[2])
        return said[int(turn[1:]) - 1] if said and turn[0] == "t" else Say("5")

    client = ScriptedClient(say)
    async with Engine(
        Store.memory(), client=client, environ={}, inline=True, tools=tools
    ) as engine:
        result = await (await engine.start(program(flow, task))).result()
    return result, result.artifacts, client


def results(client: ScriptedClient, seat: str) -> list[str]:
    """What the seat's calls came to, in order."""
    last = [call for call in client.seen if f".{seat}/" in call.address][-1]
    return [message.content for message in last.messages if message.role == "tool"]


# --- private -------------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_a_member_keeps_its_folder_over_rounds_and_sees_no_other() -> None:
    _, found, client = await ran(
        works("private", rounds=2),
        BLIND,
        r1_m1=[write("a", "mine"), Say("5")],
        r1_m2=[write("b", "other"), Say("5")],
        r2_m1=[tool("read"), Say("6")],
        r2_m2=[Say("6")],
    )
    assert results(client, "m1") == ["a  4 bytes"]
    assert found == {"a": b"mine"}, "of the member that writes the team's answer"


@pytest.mark.anyio
async def test_the_files_of_the_best_submission_are_the_teams() -> None:
    result, found, _ = await ran(
        works("private"),
        RIGHT,
        m1=[write("a", "wrong"), tool("submit", 9.0, answer="5"), Say("5")],
        m2=[write("a", "right"), tool("submit", 20.0, answer="4")],
    )
    assert result.attempt is not None
    assert (result.attempt.answer, found) == ("4", {"a": b"right"})


# --- one folder for all --------------------------------------------------------------------------


@pytest.mark.anyio
async def test_what_one_member_writes_another_finds_and_changes() -> None:
    _, found, client = await ran(
        works("shared"),
        BLIND,
        m1=[write("a", "one\n"), Say("5")],
        m2=[
            tool("read", 9.0, path="a"),
            tool("edit", path="a", old="one", new="two"),
            Say("5"),
        ],
    )
    assert results(client, "m2")[0] == "one\n"
    assert found == {"a": b"two\n"}


LINES = "1\n2\n3\n4\n5\n"


@pytest.mark.anyio
async def test_a_file_written_over_what_others_changed_meanwhile_is_merged_with_it() -> None:
    _, found, _ = await ran(
        works("shared"),
        BLIND,
        m1=[write("a", LINES), write("a", LINES.replace("1", "one"), 20.0), Say("5")],
        m2=[tool("read", 5.0), write("a", LINES.replace("5", "five"), 5.0), Say("5")],
    )
    assert found == {"a": b"one\n2\n3\n4\nfive\n"}


@pytest.mark.anyio
async def test_a_change_that_clashes_is_not_kept_and_its_member_is_told() -> None:
    _, found, client = await ran(
        works("shared"),
        BLIND,
        m1=[
            write("a", LINES),
            write("a", LINES.replace("3", "three"), 20.0),
            tool("read", path="a"),
            Say("5"),
        ],
        m2=[tool("read", 5.0), write("a", LINES.replace("3", "drei"), 5.0), Say("5")],
    )
    assert found == {"a": LINES.replace("3", "drei").encode()}
    _, told, shown = results(client, "m1")
    assert "Not kept, as others changed the same at that time: a." in told
    assert "<<<<<<< theirs\ndrei\n=======\nthree\n>>>>>>> yours" in told
    assert shown == found["a"].decode()


@dataclass(frozen=True)
class Slow:
    """Edits take five seconds, and make a file of what is new."""

    kept: Callable[[str], str]

    def offers(self, tool: Tool) -> tuple[Offer, ...]:
        return (OFFERS[tool.kind],)

    async def use(self, call: ToolUse) -> ToolReply:
        files = read(self.kept(call.tree) if call.tree else "")
        await anyio.sleep(5.0)
        new = File(str(call.arguments["new"]).encode())
        left = written({**files, str(call.arguments["path"]): new})
        return ToolReply("done", tree=name_of(left), kept=((name_of(left), left),))


@asynccontextmanager
async def slow(program: Program, means: Means) -> AsyncGenerator[Slow]:
    yield Slow(means.kept)


@pytest.mark.anyio
async def test_two_calls_at_the_same_time_lose_nothing_but_what_clashes_and_that_is_told() -> None:
    _, found, client = await ran(
        works("shared"),
        BLIND,
        tools=slow,
        m1=[edit("a", "1"), edit("c", "3", 9.0), Say("5")],
        m2=[edit("b", "2", 3.0), edit("c", "4", 8.0), Say("5")],
    )
    assert found == {"a": b"1", "b": b"2", "c": b"3"}
    assert results(client, "m1") == ["done", "done"]
    first, second = results(client, "m2")
    assert (first, "Not kept, as others changed the same at that time: c." in second) == (
        "done",
        True,
    )


@pytest.mark.anyio
async def test_members_are_told_before_what_differs_that_the_folder_is_one() -> None:
    _, _, client = await ran(works("shared"), BLIND, m1=[Say("5")], m2=[Say("5")])
    one, two = (call.messages[-1].content for call in client.seen[:2])
    head, _, _ = one.rpartition("You are #")
    assert "All of you work in one folder" in head
    assert two.startswith(head)


# --- a branch for each ---------------------------------------------------------------------------


@pytest.mark.anyio
async def test_submissions_merge_branches_and_the_last_has_all_of_them() -> None:
    result, found, client = await ran(
        works("branches"),
        RIGHT,
        m1=[write("a", "mine"), tool("submit", 5.0, answer="5"), tool("read", 90.0), Say("5")],
        m2=[write("b", "other"), tool("read", 9.0), tool("submit", 9.0, answer="4")],
    )
    assert result.attempt is not None
    assert (result.attempt.answer, found) == ("4", {"a": b"mine", "b": b"other"})
    assert results(client, "m2")[1:] == ["b  5 bytes"], "a branch has its own files alone"


@pytest.mark.anyio
async def test_a_clash_submits_nothing_and_is_mended_between_marks() -> None:
    merged = LINES.replace("3", "three and drei")
    _, found, client = await ran(
        works("branches"),
        BLIND,
        m1=[write("a", LINES.replace("3", "three")), tool("submit", 2.0, answer="5"), Say("5")],
        m2=[
            write("a", LINES.replace("3", "drei"), 9.0),
            tool("submit", answer="6"),
            tool("submit", answer="6"),
            tool("read", path="a"),
            write("a", merged),
            tool("submit", answer="6"),
            Say("6"),
        ],
    )
    _, first, second, shown, _, third = results(client, "m2")
    assert first.startswith("not submitted: your files clash with the team's\nlines that others")
    assert "#1 agent: a" in first
    assert second.startswith("not submitted: mend them first")
    assert shown.startswith("<<<<<<< yours\n1\n2\ndrei")
    assert third == "submitted; 4 submissions left"
    assert found == {"a": merged.encode()}


@pytest.mark.anyio
async def test_what_others_submitted_is_taken_over_when_asked_for() -> None:
    _, _, client = await ran(
        works("branches"),
        BLIND,
        m1=[write("a", "mine"), tool("submit", 2.0, answer="5"), Say("5")],
        m2=[
            write("b", "other"),
            tool("pull", 9.0),
            tool("read"),
            tool("pull"),
            Say("5"),
        ],
    )
    told, listed, again = results(client, "m2")[1:]
    assert told == "taken over into your folder:\n- #1 agent: a"
    assert listed == "a  4 bytes\nb  5 bytes"
    assert again == "nothing new"


@pytest.mark.anyio
async def test_of_many_changed_files_the_first_are_named_and_the_others_counted() -> None:
    calls = [write(f"f{n:02}", "x").calls[0] for n in range(23)]
    half = [Say("", finish="tool_calls", calls=tuple(some)) for some in (calls[:12], calls[12:])]
    _, _, client = await ran(
        works("branches"),
        BLIND,
        m1=[*half, tool("submit", 2.0, answer="5"), Say("5")],
        m2=[tool("pull", 30.0), Say("5")],
    )
    (told,) = results(client, "m2")
    assert told.startswith("taken over into your folder:\n- #1 agent: f00, f01, ")
    assert told.endswith(", f19 and 3 more")


@pytest.mark.anyio
async def test_a_file_that_is_no_text_clashes_without_marks_and_the_member_decides() -> None:
    _, found, client = await ran(
        works("branches"),
        BLIND,
        m1=[write("a", "\0one"), tool("submit", 2.0, answer="5"), Say("5")],
        m2=[
            write("a", "\0two", 9.0),
            tool("submit", answer="6"),
            tool("submit", answer="6"),
            Say("6"),
        ],
    )
    assert "others changed or deleted a too: yours stays" in results(client, "m2")[1]
    assert found == {"a": b"\0two"}


# --- lives ---------------------------------------------------------------------------------------

PROGRAM = """
role worker {{ prompt = "{{{{ task.statement }}}}"  tools = [write, edit, read, submit(3)] }}
model m {{ endpoint = openai("m", base_url = "http://127.0.0.1:1/v1")  context = 8k tokens  price = none }}
task hello {{ statement = "Say yes."  {} }}
run main {{
  task = hello
  flow = team(members = [3 of worker], style = work, turns = 6, rounds = {}, workspace = {})
}}
"""
SCORED = 'verify = contains("yes", "please")'
KINDS = ("private", "shared", "branches")


def compiled(how: str, verify: str = SCORED, rounds: int = 2) -> Program:
    source = Source("x.team", PROGRAM.format(verify, rounds, how))
    return compile_run(source, MemoryLibrary(), Choice())[0]


@pytest.mark.parametrize("how", KINDS)
def test_under_shuffled_latencies_it_keeps_every_promise(how: str) -> None:
    for seed, verify in enumerate((SCORED, "")):
        ran = simulate(compiled(how, verify), seed=seed)
        assert not ran.violations, ran.told()


@pytest.mark.parametrize("every", [60, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("how", KINDS[1:])
def test_killed_at_a_record_it_keeps_every_promise(how: str, every: int) -> None:
    def whole(strokes: Sequence[Stroke]) -> Simulation:
        return simulate(compiled(how, rounds=1), seed=1, strokes=strokes)

    for one in struck(whole, "written", every=every):
        assert not one.violations, one.told()


@pytest.mark.long
@pytest.mark.parametrize("how", KINDS)
@pytest.mark.parametrize("verify", [SCORED, ""], ids=["scored", "not scored"])
def test_for_many_seeds_and_weathers_it_keeps_every_promise(how: str, verify: str) -> None:
    for seed in range(40):
        for ran in (
            simulate(compiled(how, verify), seed=seed),
            simulate(compiled(how, verify), schedule=schedule(seed)),
        ):
            assert not ran.violations, ran.told()
