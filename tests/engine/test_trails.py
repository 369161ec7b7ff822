"""An agent with the tool `attempts`: it reads those it was given, and how each was reached."""

import orjson
import pytest
import trio.testing

from podium.dsl.compile import Choice, check, compile_run
from podium.dsl.library import MemoryLibrary
from podium.dsl.program import Program, Tool
from podium.dsl.source import Source
from podium.engine.call import (
    ModelCall,
    ModelReply,
    Offer,
    Reply,
    ToolCall,
    ToolReply,
    ToolUse,
    Usage,
)
from podium.engine.testing import Memory, Say, ScriptedClient, play
from podium.engine.trails import HITS, Trails, offers
from podium.engine.value import Attempt, Verdict

TEAM = """
model m { endpoint = openai("m", base_url = "http://127.0.0.1:1/v1")  price = none }
role worker { prompt = \"\"\"Try: {{ task.statement }}\"\"\"  tools = [notes, submit] }
role joiner { prompt = \"\"\"Join: {{ task.statement }}\"\"\"  tools = [attempts]  turns = 3 }
task sum { statement = "What is 2 + 2?"  verify = number(4) }
run main { task = sum  flow = parallel(2) of worker -> joiner  seed = 3 }
"""


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    return ("trio", {"clock": trio.testing.MockClock(autojump_threshold=0)})


def wrote(text: str, *calls: ToolCall, thought: str = "") -> ModelReply:
    return ModelReply(text, "stop", Usage(), reasoning=thought, tool_calls=calls)


TOLD: dict[str, Reply] = {
    "a/t1": wrote("I look.", ToolCall("1", "look", {"at": "x"}, '{"at":"x"}'), thought="where?"),
    "a/t1.1": ToolReply("a lemma\nof Zorn"),
    "a/t2.shorter": wrote("so\nit is four"),
    "b/c1": wrote("five"),
}
FIRST = Attempt("four", "so\nit is four", "a", Verdict(0.5, False, "not quite"))
SECOND = Attempt("five", "five", "b")
TRAILS = Trails((FIRST, SECOND), TOLD.get)


def test_an_attempt_is_read_whole_or_in_part_with_what_is_known_of_its_worth() -> None:
    head = "Attempt 1 (score 0.5, not passed; found of it: not quite), 2 lines:"
    assert TRAILS.use("read_attempt", {"number": 1}) == f"{head}\nso\nit is four"
    part = {"number": 1, "first": 2, "lines": 1}
    assert TRAILS.use("read_attempt", part) == f"{head}\nit is four"
    assert TRAILS.use("read_attempt", {"number": 2}) == "Attempt 2, 1 line:\nfive"
    assert TRAILS.use("read_attempt", {"number": 3}) == "there are 2 attempts, and no attempt 3"


def test_the_steps_are_what_was_written_called_and_told() -> None:
    first, second = TRAILS.steps(1)
    assert (
        first == 'Step 1:\n(thought) where?\nI look.\ncalled look {"at":"x"}\n-> a lemma\nof Zorn'
    )
    assert second == "Step 2:\nso\nit is four"
    shown = TRAILS.use("read_steps", {"number": 1, "first": 2, "steps": 1})
    assert shown == f"Attempt 1 took 2 steps.\n\n{second}"


def test_what_was_submitted_has_the_steps_of_its_agent() -> None:
    submitted = Trails((Attempt("x", "x", "a/t2.1"),), TOLD.get)
    assert submitted.steps(1) == TRAILS.steps(1)


def test_a_search_names_attempt_and_step_and_says_a_line_once() -> None:
    assert TRAILS.use("search_attempts", {"text": "ZORN"}) == "attempt 1, step 1: of Zorn"
    assert TRAILS.use("search_attempts", {"text": "four"}) == "attempt 1: it is four"
    assert TRAILS.use("search_attempts", {"text": "four", "number": 2}) == "nothing found"
    many = Attempt("", "\n".join(f"line {n}" for n in range(HITS + 2)), "c")
    found = Trails((many,), TOLD.get).use("search_attempts", {"text": "line"}).splitlines()
    assert (len(found), found[-1]) == (HITS + 1, "[2 more lines]")


def test_the_offers_bound_the_number() -> None:
    assert [offer.parameters["properties"]["number"]["maximum"] for offer in offers(7)] == [7] * 3  # type: ignore[index,call-overload]  # a JSON schema


# --- in a run ------------------------------------------------------------------------------------


def program() -> Program:
    return compile_run(Source("x.team", TEAM), MemoryLibrary(), Choice())[0]


def called(name: str, **arguments: object) -> Say:
    text = orjson.dumps(arguments).decode()
    return Say("", finish="tool_calls", calls=(ToolCall("c", name, arguments, text),))  # type: ignore[arg-type]  # plain values


def said(call: ModelCall) -> Say:
    """Workers note and answer; who joins looks at the steps of the second, then answers what it was told."""
    turn = call.address.rpartition("/")[2]
    if "joiner" in call.address:
        looks = {"t1": called("read_steps", number=2), "t2": called("read_attempt", number=9)}
        return looks.get(turn) or Say("4")
    return called("notes", text="carry the one") if turn == "t1" else Say("5")


@pytest.mark.anyio
async def test_who_joins_is_told_of_the_steps_and_of_a_number_that_there_is_not() -> None:
    client = ScriptedClient(said)
    played = await play(program(), client)
    assert played.result.value is not None
    assert played.result.value.answer == "4"
    last = client.seen[-1].messages
    results = [message.content for message in last if message.role == "tool"]
    assert results[0].startswith("Attempt 2 took 2 steps.\n\nStep 1:\n")
    assert 'called notes {"text":"carry the one"}' in results[0]
    assert "above 2" in results[1]


@pytest.mark.anyio
async def test_a_later_life_is_told_the_same() -> None:
    memory, client, later = Memory(), ScriptedClient(said), ScriptedClient(said)
    await play(program(), client, memory=memory)
    second = memory.next_life()
    for turn in ("t2", "t3"):  # a kill after the first look
        del second.answers[f"main/2.joiner/{turn}"]
    await play(program(), later, memory=second)
    assert [call.messages for call in later.seen] == [call.messages for call in client.seen[-2:]]


class Folder:
    """A toolbox whose one tool leaves a tree called after its address."""

    def offers(self, tool: Tool) -> tuple[Offer, ...]:
        return (Offer(tool.name, "Writes.", {"type": "object"}),)

    async def use(self, call: ToolUse) -> ToolReply:
        return ToolReply("written", tree=f"{call.tree}+{call.address.split('/')[-2]}")


@pytest.mark.anyio
async def test_who_works_on_files_takes_over_those_of_an_attempt() -> None:
    def reply(call: ModelCall) -> Say:
        turn = call.address.rpartition("/")[2]
        if "joiner" not in call.address:
            return called("write") if turn == "t1" else Say("5")
        return {"t1": called("take_files", number=2), "t2": called("write")}.get(turn, Say("4"))

    text = TEAM.replace("[attempts]", "[attempts, write]").replace("[notes, submit]", "[write]")
    whole = compile_run(Source("x.team", text), MemoryLibrary(), Choice())[0]
    played = await play(whole, ScriptedClient(reply), tools=Folder())
    assert played.result.value is not None
    assert played.result.value.tree == "+2.worker+2.joiner"


# --- checked -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("flow f = team(members = [joiner])", "has the tool `attempts`"),
        ("run other { task = sum  flow = joiner }", "a run begins with a Task"),
        ('task t { statement = "x"  tools = [attempts] }', "only in a role's prompt and `tools`"),
    ],
)
def test_attempts_are_looked_up_only_where_there_are_any(written: str, message: str) -> None:
    found = check(Source("x.team", TEAM + written), MemoryLibrary())
    assert any(message in problem.message for problem in found), found
