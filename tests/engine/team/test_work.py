"""Teams at work: members in loops of their own, what they share, who wins, and that each life tells the same."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import anyio
import orjson
import pytest
import trio.testing

from podium.dsl.compile import Choice, compile_run
from podium.dsl.library import MemoryLibrary
from podium.dsl.program import Program, Task, Team, Tool
from podium.dsl.source import Source
from podium.engine import Engine
from podium.engine.call import ModelCall, ToolCall
from podium.engine.event import CallIntended, NodeEnded, Said
from podium.engine.outcome import Passed
from podium.engine.store import Store
from podium.engine.testing import (
    Memory,
    Played,
    Say,
    ScriptedClient,
    Simulation,
    play,
    schedule,
    simulate,
)
from podium.engine.testing.arm import Stroke
from podium.engine.testing.handmade import exact, program, role, team
from podium.engine.testing.strokes import struck

SHARED = (
    Tool("submit", "submit", {"times": 2}),
    Tool("board", "board"),
    Tool("leaderboard", "leaderboard"),
)
CLAIM = Tool("claim", "claim", {"lease": 60.0})
RIGHT = Task("sum", "What is 2 + 2?", exact("4"))
Reply = Callable[[ModelCall], Say]


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    return ("trio", {"clock": trio.testing.MockClock(autojump_threshold=0)})


def at_work(size: int, *more: Tool, rounds: int = 1, lease: float = 60.0) -> Team:
    member = replace(role(), tools=(*SHARED, *more), turns=9)
    return replace(team((size, member), rounds=rounds), style="work", lease=lease)


def tool(name: str, seconds: float = 1.0, **arguments: str) -> Say:
    """A reply after so many seconds that calls a tool."""
    call = ToolCall("c", name, arguments, orjson.dumps(arguments).decode())
    return Say("", seconds, finish="tool_calls", calls=(call,))


def by_seat(**seats: list[Say]) -> Reply:
    """Each seat's replies by turn, as `m1 = […]`, in every round."""

    def say(call: ModelCall) -> Say:
        *_, segment, turn = call.address.split("/")
        return seats[segment.partition(".")[2]][int(turn[1:]) - 1]

    return say


async def played(
    flow: Team, task: Task, say: Reply, memory: Memory | None = None
) -> tuple[Played, ScriptedClient]:
    client = ScriptedClient(say)
    return await play(program(flow, task), client, memory=memory), client


def results(client: ScriptedClient, seat: str) -> list[str]:
    """What the seat's calls came to, in order."""
    last = [call for call in client.seen if f".{seat}/" in call.address][-1]
    return [message.content for message in last.messages if message.role == "tool"]


@pytest.mark.anyio
async def test_a_member_reads_what_the_others_posted_since_it_last_looked() -> None:
    say = by_seat(
        m1=[tool("post", text="try 4"), tool("board", 5.0), Say("4")],
        m2=[tool("board", 3.0), tool("post", text="4 is right"), tool("board", 9.0), Say("4")],
    )
    found, client = await played(
        at_work(2),
        replace(RIGHT, verify=None),
        lambda c: Say("4") if "answer" in c.address else say(c),
    )
    assert results(client, "m1") == ["posted", "[#2 agent]\n4 is right"]
    assert results(client, "m2") == ["[#1 agent]\ntry 4", "posted", "nothing new"]
    assert found.calls[-1] == "main/team/r1.answer/c1"
    assert [e.text for e in found.memory.events if isinstance(e, Said)][:2] == [
        "try 4",
        "4 is right",
    ]


@pytest.mark.anyio
async def test_what_a_member_has_before_it_only_grows_at_its_end() -> None:
    say = by_seat(m1=[tool("board"), tool("post", text="a"), tool("board"), Say("5")])
    _, client = await played(at_work(1), RIGHT, say)
    for first, second in zip(client.seen, client.seen[1:], strict=False):
        assert second.messages[: len(first.messages)] == first.messages


@pytest.mark.anyio
async def test_all_that_members_share_stands_before_what_tells_them_apart() -> None:
    say = by_seat(m1=[Say("5")], m2=[Say("5")])
    _, client = await played(at_work(2), RIGHT, say)
    one, two = (call.messages[-1].content for call in client.seen)
    head, _, tail = one.rpartition("You are #")
    assert "What is 2 + 2?" in head
    assert {one, two} == {f"{head}You are #1 of 2.", f"{head}You are #2 of 2."}
    assert tail in ("1 of 2.", "2 of 2.")


@pytest.mark.anyio
async def test_a_claim_is_told_to_others_until_it_ends() -> None:
    say = by_seat(
        m1=[tool("claim", part="Lemma 1"), tool("board", 200.0), Say("5")],
        m2=[
            tool("claim", 11.0, part="lemma 1"),
            tool("board"),
            tool("claim", 60.0, part="lemma 1"),
            Say("5"),
        ],
    )
    _, client = await played(at_work(2, CLAIM), RIGHT, say)
    first, board, second = results(client, "m2")
    assert first == "lemma 1 is claimed by #1 agent for another 50s"
    assert board == "Claimed:\n- lemma 1: #1 agent, for another 49s"
    assert second.startswith("lemma 1 is yours for 60s")


@pytest.mark.anyio
async def test_a_claim_may_be_kept_longer_and_given_back() -> None:
    say = by_seat(
        m1=[
            tool("claim", part="a"),
            tool("claim", 50.0, part="a"),
            tool("release", 60.0, part="a"),
            tool("board", 9.0),
            Say("5"),
        ],
        m2=[tool("claim", 100.0, part="a"), tool("claim", 20.0, part="a"), Say("5")],
    )
    _, client = await played(at_work(2, CLAIM), RIGHT, say)
    assert results(client, "m2")[0] == "a is claimed by #1 agent for another 11s"
    assert results(client, "m2")[1].startswith("a is yours")


@pytest.mark.anyio
async def test_a_member_that_ends_gives_its_claims_back() -> None:
    say = by_seat(
        m1=[tool("claim", part="a"), Say("5")],
        m2=[tool("claim", 9.0, part="a"), Say("5")],
    )
    _, client = await played(at_work(2, CLAIM), RIGHT, say)
    assert results(client, "m2")[0].startswith("a is yours")


@pytest.mark.anyio
async def test_the_first_submission_that_passes_cancels_the_others() -> None:
    say = by_seat(m1=[tool("submit", 5.0, answer="4")], m2=[tool("board"), Say("5", 900.0)])
    found, _ = await played(at_work(2, rounds=3), RIGHT, say)
    assert isinstance(found.result.outcome, Passed)
    assert sorted(found.calls) == [f"main/team/r1.{one}" for one in ("m1/t1", "m2/t1", "m2/t2")]
    ends = [e for e in found.memory.events if isinstance(e, NodeEnded)]
    assert {e.address: e.outcome for e in ends if "/r1." in e.address} == {
        "main/team/r1.m1": "passed",
        "main/team/r1.m2": "stopped",
    }


@pytest.mark.anyio
async def test_the_leaderboard_has_the_best_first_and_no_hidden_score() -> None:
    say = by_seat(
        m1=[tool("submit", answer="5"), tool("leaderboard", 9.0), Say("6")],
        m2=[tool("submit", 2.0, answer="3"), Say("3")],
    )
    _, client = await played(at_work(2), RIGHT, say)
    assert results(client, "m1")[1] == "1. #1 agent, 0 not passed: 5\n2. #2 agent, 0 not passed: 3"
    hidden = replace(RIGHT, verify=exact("4", use="final"))
    _, client = await played(at_work(2), hidden, lambda _: Say("5"))
    assert "leaderboard" not in [offer.name for offer in client.seen[0].tools]


@pytest.mark.anyio
async def test_the_next_round_begins_with_what_was_posted_and_the_best_submissions() -> None:
    say = by_seat(
        m1=[tool("post", text="use carry"), tool("submit", answer="5"), Say("5")], m2=[Say("3")]
    )
    _, client = await played(at_work(2, rounds=2), RIGHT, say)
    [begin] = [c for c in client.seen if c.address.endswith("r2.m2/t1")]
    text = begin.messages[-1].content
    assert "use carry" in text
    assert "1. #1 agent, 0 not passed: 5" in text


@pytest.mark.anyio
@pytest.mark.parametrize("factor", [0.1, 7.0])
async def test_what_was_seen_is_seen_again_whatever_the_latencies_of_a_later_life(
    factor: float,
) -> None:
    """The memory raises where a call asks something else than in the earlier life."""
    flow = at_work(3, CLAIM, rounds=2)
    script = {
        "m1": [tool("claim", part="a"), tool("post", text="x"), tool("board", 4.0), Say("1")],
        "m2": [tool("claim", 2.5, part="a"), tool("board"), tool("submit", answer="2"), Say("2")],
        "m3": [tool("board", 3.2), tool("leaderboard", 9.0), tool("post", text="y"), Say("3")],
    }
    first, _ = await played(flow, RIGHT, by_seat(**script))
    other = {
        seat: [replace(say, delay=say.delay * factor ** int(seat[1])) for say in says]
        for seat, says in script.items()
    }
    again, _ = await played(flow, RIGHT, by_seat(**other), first.memory.next_life())
    assert again.calls == []
    assert again.result == first.result


@pytest.mark.anyio
async def test_a_claim_ends_in_live_time_whichever_life_that_is_in() -> None:
    """After the claim the first life notes nothing of the team, which works on nevertheless."""
    script = {
        "m1": [tool("claim", part="a"), Say("", 900.0)],
        "m2": [tool("notes", 30.0, text="x"), Say("", 900.0)],
    }
    store, now = Store.memory(anyio.current_time), anyio.current_time
    flow = at_work(2, CLAIM, Tool("notes", "notes"))
    async with Engine(store, client=ScriptedClient(by_seat(**script)), environ={}, now=now) as one:
        run = await one.start(program(flow, RIGHT))
        async for stamped in run.events():
            event = stamped.event
            if isinstance(event, CallIntended) and event.address.endswith("m2/t2"):
                break
        run.abort()
        await run.result()
    claims = tool("claim", 40.0, part="a")
    client = ScriptedClient(by_seat(m1=[Say(""), Say("5", 900.0)], m2=[Say(""), claims, Say("5")]))
    async with Engine(store, client=client, environ={}, now=now) as one:
        await anyio.sleep(3600.0)
        await (await one.resume(run.id, program=program(flow, RIGHT))).result()
    assert results(client, "m2")[-1].startswith("a is yours")


PROGRAM = """
model m {{ endpoint = openai("m", base_url = "http://127.0.0.1:1/v1")  context = 8k tokens  price = none }}
task hello {{ statement = "Say yes."  {} }}
run main {{ task = hello  flow = {} }}
"""
FLOWS = (
    "team(3, style = work, turns = 4, claims = lease(20s))",
    "team(3, style = work, turns = 3, ceo = adaptive, sees = last(1), until = accepted)",
    "parallel(2, migrate = every(1)) of team(2, style = work, turns = 3) -> best",
)


def compiled(flow: str) -> Program:
    text = PROGRAM.format('verify = contains("yes", "please")', flow)
    return compile_run(Source("x.team", text), MemoryLibrary(), Choice())[0]


@pytest.mark.parametrize("flow", FLOWS)
def test_under_shuffled_latencies_it_keeps_every_promise(flow: str) -> None:
    for seed in range(2):
        ran = simulate(compiled(flow), seed=seed)
        assert not ran.violations, ran.told()


@pytest.mark.parametrize("every", [25, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("flow", FLOWS)
def test_killed_at_a_record_it_keeps_every_promise(flow: str, every: int) -> None:
    def whole(strokes: Sequence[Stroke]) -> Simulation:
        return simulate(compiled(flow), seed=1, strokes=strokes)

    for one in struck(whole, "written", every=every):
        assert not one.violations, one.told()


@pytest.mark.long
@pytest.mark.parametrize("flow", FLOWS)
def test_for_many_seeds_and_weathers_it_keeps_every_promise(flow: str) -> None:
    for seed in range(60):
        for ran in (
            simulate(compiled(flow), seed=seed),
            simulate(compiled(flow), schedule=schedule(seed)),
        ):
            assert not ran.violations, ran.told()
