"""The library written in the language: laid out, documented, without mistakes, and each of its examples run."""

from importlib.resources import files

import pytest
import trio.testing

from podium.dsl.compile import Choice, check, compile_run
from podium.dsl.doc_text import examples, head
from podium.dsl.format import format_text
from podium.dsl.library import MemoryLibrary
from podium.dsl.parse import parse
from podium.dsl.source import Source
from podium.engine.call import ModelCall
from podium.engine.outcome import Passed
from podium.engine.testing import Played, Say, ScriptedClient, play

MODULES = sorted(p.name for p in (files("podium") / "stdlib").iterdir() if p.name.endswith(".team"))
PROGRAM = """
import std.flows
import std.roles
model m {{ endpoint = openai("m", base_url = "http://127.0.0.1:1/v1")  price = none }}
task sum {{ statement = "What is 2 + 2?"  verify = exact("4") }}
run main {{ task = sum  flow = {} }}
"""


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    return ("trio", {"clock": trio.testing.MockClock(autojump_threshold=0)})


def text(module: str) -> Source:
    return Source(module, (files("podium") / "stdlib" / module).read_text("utf-8"))


@pytest.mark.parametrize("module", MODULES)
def test_a_module_is_laid_out_documented_and_without_mistakes(module: str) -> None:
    source = text(module)
    tree, _ = parse(source)
    assert format_text(source) == source.text
    assert check(source, MemoryLibrary()) == ()
    assert head(source, tree)
    for declaration in tree.declarations:
        shown = examples(declaration.doc)
        assert shown, f"{declaration.name} has no example"
        assert any(declaration.name in example for example in shown)


# The calls of each example in the doc texts; those of one step may come in any order.
WALKS = {
    "flows.best_of(2) of agent": ["best_of/1.parallel/1.agent best_of/1.parallel/2.agent"],
    "flows.race(2) of agent": ["race/1.parallel/1.agent race/1.parallel/2.agent"],
    "flows.self_consistency(2) of agent": [
        "self_consistency/1.parallel/1.agent self_consistency/1.parallel/2.agent"
    ],
    "parallel(2) of roles.solver -> flows.debate(2)": [
        "1.parallel/1.solver 1.parallel/2.solver",
        "2.debate/1.debater/1 2.debate/1.debater/2",
        "2.debate/2.debater/1 2.debate/2.debater/2",
    ],
    "agent -> flows.refine(2)": ["1.agent", "2.refine/1.reviser", "2.refine/2.reviser"],
    "agent -> flows.refine(2, until = passed)": ["1.agent"],
    "flows.mixture_of_agents(2, layers = 1)": [
        "mixture_of_agents/1.parallel/1.solver mixture_of_agents/1.parallel/2.solver",
        "mixture_of_agents/2.repeat/1.debater/1 mixture_of_agents/2.repeat/1.debater/2",
        "mixture_of_agents/3.merger",
    ],
    "flows.map_reduce(3) of agent": [
        "map_reduce/1.for_each/by",
        "map_reduce/1.for_each/1.agent map_reduce/1.for_each/2.agent",
        "map_reduce/2.merger",
    ],
    "parallel(2) of agent -> vote": ["1.parallel/1.agent 1.parallel/2.agent"],
    "team(2)": [
        *("team/r1.m1 team/r1.m2", "team/r1.answer"),
        *("team/r2.m1 team/r2.m2", "team/r2.answer"),
    ],
    "team(2, ceo = adaptive)": [
        *("team/r1.ceo", "team/r1.m1 team/r1.m2", "team/r1.answer"),
        *("team/r2.ceo", "team/r2.m1 team/r2.m2", "team/r2.answer"),
    ],
    "team(2, recruit = recruiter)": [
        "team/recruit",
        *("team/r1.m1 team/r1.m2", "team/r1.answer"),
        *("team/r2.m1 team/r2.m2", "team/r2.answer"),
    ],
    "team(members = [1 of roles.architect, 2 of roles.engineer])": [
        *("team/r1.m1 team/r1.m2 team/r1.m3", "team/r1.answer"),
        *("team/r2.m1 team/r2.m2 team/r2.m3", "team/r2.answer"),
    ],
    "parallel(2) of roles.engineer -> best": ["1.parallel/1.engineer 1.parallel/2.engineer"],
    "parallel(2) of roles.solver -> vote": ["1.parallel/1.solver 1.parallel/2.solver"],
    "team(members = [roles.solver, roles.critic], order = solver_first)": [
        *("team/r1.m1", "team/r1.m2", "team/r1.answer"),
        *("team/r2.m2", "team/r2.m1"),
    ],
    "agent -> roles.reviser": ["1.agent", "2.reviser"],
    "parallel(2) of roles.solver -> roles.debater": [
        "1.parallel/1.solver 1.parallel/2.solver",
        "2.debater/1 2.debater/2",
    ],
    "parallel(2) of roles.solver -> roles.merger": [
        "1.parallel/1.solver 1.parallel/2.solver",
        "2.merger",
    ],
    "for_each(by = roles.splitter, max = 2) of roles.solver -> roles.merger": [
        *("1.for_each/by", "1.for_each/1.solver 1.for_each/2.solver"),
        "2.merger",
    ],
}
DECIDES = {
    "by": '{"parts": ["one", "two"]}',
    "recruit": '{"personas": ["a mathematician", "a child"]}',
    "ceo": '{"decision": "continue", "size": 2, "direction": "on", "effort": 100}',
}


def reply(call: ModelCall) -> Say:
    """What a role that decides answers by its place in the address, and 4 from all others."""
    last = call.address.removesuffix("/c1").rpartition("/")[2].rpartition(".")[2]
    return Say(DECIDES.get(last, "4"))


async def walked(flow: str) -> tuple[Played, list[str]]:
    program = compile_run(Source("x.team", PROGRAM.format(flow)), MemoryLibrary(), Choice())[0]
    client = ScriptedClient(reply)
    played = await play(program, client)
    return played, [c.address.removeprefix("main/").removesuffix("/c1") for c in client.seen]


@pytest.mark.anyio
@pytest.mark.parametrize("flow", WALKS)
async def test_an_example_makes_its_calls_in_this_order_and_passes(flow: str) -> None:
    played, calls = await walked(flow)
    at = 0
    for step in WALKS[flow]:
        together = step.split()
        assert sorted(calls[at : at + len(together)]) == together
        at += len(together)
    assert at == len(calls)
    assert played.result.outcome == Passed()


def test_the_examples_that_run_are_those_of_the_doc_texts() -> None:
    declared = (d for module in MODULES for d in parse(text(module))[0].declarations)
    assert set(WALKS) == {example for d in declared for example in examples(d.doc)}
