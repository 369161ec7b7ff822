"""The library written in the language: laid out, documented, without mistakes, and each of its examples run."""

import re
from importlib.resources import files

import pytest
import trio.testing

from podium.dsl.compile import Choice, check, compile_run
from podium.dsl.doc import Entry, page_of
from podium.dsl.doc_text import blocks, examples, head
from podium.dsl.format import format_text
from podium.dsl.library import MemoryLibrary, modules, standard
from podium.dsl.parse import parse
from podium.dsl.source import Source
from podium.engine.call import ModelCall
from podium.engine.outcome import Passed
from podium.engine.testing import Played, Say, ScriptedClient, play

MODULES = sorted(p.name for p in (files("podium") / "stdlib").iterdir() if p.name.endswith(".team"))
PROGRAM = """
import std.agentverse
import std.flows
import std.mas_tts
import std.roles
import std.search
model m {{ endpoint = openai("m", base_url = "http://127.0.0.1:1/v1")  price = none }}
task sum {{ statement = "What is 2 + 2?"  verify = exact("4") }}
run main {{ task = sum  flow = {} }}
"""


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    return ("trio", {"clock": trio.testing.MockClock(autojump_threshold=0)})


def text(module: str) -> Source:
    return Source(module, (files("podium") / "stdlib" / module).read_text("utf-8"))


FLOWS = [
    entry
    for name in modules()
    for entry in page_of(standard(name), MemoryLibrary()).entries
    if entry.kind == "flow"
]


@pytest.mark.parametrize("flow", FLOWS, ids=lambda entry: entry.name)
def test_a_flow_says_its_source_its_knobs_with_their_defaults_and_bounds_and_its_calls(
    flow: Entry,
) -> None:
    listed = [part for part, is_code in blocks(flow.doc) if not is_code][-1]
    source, knobs, calls = re.split(r"\n- (?=Knobs: |Calls: )", listed)
    assert source.startswith("- Source: ")
    assert calls.startswith("Calls: ")
    said = " ".join(knobs.replace("`", "").split())
    for one in flow.parameters:
        assert one.type != "int", f"{one.name} has no bounds"
        plain = one.default is not None and " " not in one.default
        assert (f"{one.name} = {one.default}" if plain else f"{one.name}: ") in said
    assert examples(flow.doc)


@pytest.mark.parametrize(
    "flow", [one for one in FLOWS if one.size and not one.size.inner], ids=lambda entry: entry.name
)
def test_the_most_calls_that_a_flow_says_it_makes_are_those_of_its_plan(flow: Entry) -> None:
    calls = flow.doc.partition("- Calls: ")[2].partition("\n\n")[0]
    names = {
        one.name: int(one.default or 0)
        for one in flow.parameters
        if (one.default or "").isdecimal()
    }
    word = rf"(?:{'|'.join(names)}|\d+)\b"
    formulas = re.findall(rf"[(]*{word}[)]*(?: [*+] [(]*{word}[)]*)*", calls)
    said = [eval(formula, names) for formula in formulas]  # of names and numbers
    assert flow.size is not None
    assert flow.size.most in said


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
    "parallel(3) of roles.solver -> flows.debate -> vote": [
        " ".join(f"1.parallel/{n}.solver" for n in (1, 2, 3)),
        " ".join(f"2.debate/1.debater/{n}" for n in (1, 2, 3)),
    ],
    "flows.self_refine(2) of agent": [
        "self_refine/1.agent",
        *("self_refine/2.repeat/1.then/1.commentator", "self_refine/2.repeat/1.then/2.refiner"),
        *("self_refine/2.repeat/2.then/1.commentator", "self_refine/2.repeat/2.then/2.refiner"),
    ],
    "parallel(2) of roles.solver -> roles.aggregator": [
        "1.parallel/1.solver 1.parallel/2.solver",
        "2.aggregator",
    ],
    "parallel(2) of roles.solver -> parallel(2) of roles.ranker": [
        "1.parallel/1.solver 1.parallel/2.solver",
        "2.parallel/1.ranker 2.parallel/2.ranker",
    ],
    "parallel(2) of roles.solver -> parallel of [same, roles.ranker] -> roles.chair": [
        "1.parallel/1.solver 1.parallel/2.solver",
        *("2.parallel/2.ranker", "3.chair"),
    ],
    "roles.solver -> roles.commentator": ["1.solver", "2.commentator"],
    "roles.solver -> roles.commentator -> roles.refiner": [
        "1.solver",
        "2.commentator",
        "3.refiner",
    ],
    "agent -> flows.refine(2)": ["1.agent", "2.refine/1.reviser", "2.refine/2.reviser"],
    "agent -> flows.refine(2, until = passed)": ["1.agent"],
    "flows.mixture_of_agents(2, layers = 1)": [
        "mixture_of_agents/1.parallel/1.solver mixture_of_agents/1.parallel/2.solver",
        " ".join(f"mixture_of_agents/2.repeat/1.parallel/{n}.merger" for n in (1, 2)),
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
    "agentverse.vertical(2)": ["vertical/r1.m2 vertical/r1.m3", "vertical/r1.m1"],
    "agentverse.vertical_solver_first(2, rounds = 1)": [
        "vertical_solver_first/r1.m1",
        "vertical_solver_first/r1.m2 vertical_solver_first/r1.m3",
        "vertical_solver_first/r1.answer",
    ],
    "agentverse.horizontal(2)": [
        "horizontal/1.parallel/1.opener",
        "horizontal/2.repeat/1.parallel/2.speaker",
        "horizontal/2.repeat/2.parallel/2.speaker",
        "horizontal/3.merger",
    ],
    "agentverse.concurrent(2, rounds = 1)": [
        "concurrent/1.parallel/1.opener concurrent/1.parallel/2.opener",
        "concurrent/2.repeat/1.reviewer/1 concurrent/2.repeat/1.reviewer/2",
        "concurrent/3.merger",
    ],
    "agentverse.brainstorming(1, turns = 1)": [
        "brainstorming/1.horizontal/1.parallel/1.opener",
        "brainstorming/1.horizontal/2.repeat/1.parallel/2.speaker",
        "brainstorming/1.horizontal/3.merger",
        "brainstorming/2.repeat/1.then/2.repeat/1.parallel/2.speaker",
        "brainstorming/2.repeat/1.then/3.merger",
    ],
    "agentverse.central(rounds = 2)": [
        *("central/r1.m2", "central/r1.m1", "central/r2.m2", "central/r2.m1"),
    ],
    'flows.weighted_consistency(2, by = contains("4")) of agent': [
        "weighted_consistency/1.parallel/1.agent weighted_consistency/1.parallel/2.agent"
    ],
    "flows.aggregate(2) of agent": [
        "aggregate/1.parallel/1.agent aggregate/1.parallel/2.agent",
        "aggregate/2.aggregator",
    ],
    "flows.council(2)": [
        "council/1.parallel/1.solver council/1.parallel/2.solver",
        "council/2.parallel/2.parallel/1.ranker council/2.parallel/2.parallel/2.ranker",
        "council/3.chair",
    ],
    "flows.reflexion(2) of agent": ["reflexion/1.agent"],
    "flows.critique_loop(1)": [
        *("critique_loop/r1.m1", "critique_loop/r1.m2", "critique_loop/r1.answer"),
    ],
    "flows.solve_then_verify(2)": [
        *("solve_then_verify/r1.m1", "solve_then_verify/cycle1.evaluate"),
    ],
    "flows.cascade(dear = flows.best_of(2) of agent) of agent": ["cascade/1.agent"],
    "flows.parallel_teams(2, m = 2, rounds = 1)": [
        " ".join(f"parallel_teams/1.parallel/{k}.team/r1.m{m}" for k in (1, 2) for m in (1, 2)),
        " ".join(f"parallel_teams/1.parallel/{k}.team/r1.answer" for k in (1, 2)),
    ],
    "flows.ceo_team(2, rounds = 1)": [
        *("ceo_team/r1.ceo", "ceo_team/r1.m1 ceo_team/r1.m2", "ceo_team/r1.answer"),
    ],
    "mas_tts.published(2, rounds = 1, turns = 1)": [
        *("published/cycle1.ceo", "published/recruit", "published/r1.m1", "published/r1.m2"),
        *("published/r1.answer", "published/cycle1.evaluate"),
    ],
    "mas_tts.mended(2, rounds = 1, turns = 1)": [
        *("mended/recruit", "mended/r1.ceo", "mended/r1.m1", "mended/r1.m2"),
        *("mended/r1.answer", "mended/cycle1.evaluate"),
    ],
    "parallel(2) of roles.opener -> roles.merger": [
        "1.parallel/1.opener 1.parallel/2.opener",
        "2.merger",
    ],
    "parallel(2) of roles.opener -> roles.speaker": [
        "1.parallel/1.opener 1.parallel/2.opener",
        "2.speaker",
    ],
    "parallel(2) of roles.solver -> roles.reviewer": [
        "1.parallel/1.solver 1.parallel/2.solver",
        "2.reviewer/1 2.reviewer/2",
    ],
    "roles.solver -> roles.extender": ["1.solver", "2.extender"],
    "parallel(2) of roles.solver -> roles.mutator": [
        "1.parallel/1.solver 1.parallel/2.solver",
        "2.mutator",
    ],
    "roles.solver -> roles.reflector": ["1.solver", "2.reflector"],
    "roles.solver -> roles.reflector -> roles.retrier": ["1.solver", "2.reflector", "3.retrier"],
    "team(2, rounds = 1, evaluate = roles.evaluator, until = accepted)": [
        *("team/r1.m1 team/r1.m2", "team/r1.answer", "team/cycle1.evaluate"),
    ],
    "search.beam(1, branch = 2, steps = 1)": [
        "beam/1.parallel/1.solver beam/1.parallel/2.solver",
        " ".join(f"beam/3.repeat/1.then/2.parallel/1.parallel/{b}.extender" for b in (1, 2)),
    ],
    'search.tree_of_thoughts(by = contains("4"), samples = 2, keep = 1, steps = 1)': [
        "tree_of_thoughts/1.parallel/1.solver tree_of_thoughts/1.parallel/2.solver",
        " ".join(
            f"tree_of_thoughts/3.repeat/1.then/2.parallel/1.parallel/{s}.extender" for s in (1, 2)
        ),
    ],
    "search.recursive_aggregation(2, draws = 2, loops = 1)": [
        " ".join(f"recursive_aggregation/1.parallel/{n}.solver" for n in (1, 2)),
        " ".join(f"recursive_aggregation/2.repeat/1.parallel/{n}.then/2.merger" for n in (1, 2)),
    ],
    "search.evolve(2, children = 1, generations = 1)": [
        "evolve/1.parallel/1.solver evolve/1.parallel/2.solver",
        "evolve/2.repeat/1.then/1.parallel/2.parallel/1.then/2.mutator",
    ],
    "search.islands(2, population = 1, children = 1, apart = 1, epochs = 1)": [
        "islands/1.parallel/1.solver islands/1.parallel/2.solver",
        " ".join(
            f"islands/2.repeat/1.parallel/{i}.then/2.repeat/1.then/1.parallel/2.parallel/1.then/2.mutator"
            for i in (1, 2)
        ),
    ],
    "search.team_islands(2, size = 1, rounds = 2, apart = 1)": [
        " ".join(f"team_islands/1.parallel/{k}.team/r1.m1" for k in (1, 2)),
        " ".join(f"team_islands/1.parallel/{k}.team/r2.m1" for k in (1, 2)),
    ],
}
DECIDES = {
    "by": '{"parts": ["one", "two"]}',
    "recruit": '{"personas": ["a mathematician", "a child"]}',
    "ceo": '{"decision": "continue", "size": 2, "direction": "on", "effort": 100}',
    "evaluate": '{"accepted": true, "advice": "fine"}',
}
# What those of `compat = mas_tts` answer, by what their prompts ask for.
PUBLISHED = {
    "### Recruit Number:": "### Decision: Stop\n### Recruit Number: 2\n### Direction: on\n"
    "### Maximum Tokens: 2048",
    "numbered list": "1. A mathematician\n2. A child",
    "### Correctness:": "### Correctness: 0\n### Advice: again",
}


def reply(call: ModelCall) -> Say:
    """What a role that decides answers by its place in the address, and 4 from all others."""
    last = call.address.removesuffix("/c1").rpartition("/")[2].rpartition(".")[2]
    asked = call.messages[-1].content
    published = next((text for part, text in PUBLISHED.items() if part in asked), None)
    return Say(published or DECIDES.get(last, "4"))


def shortened(address: str) -> str:
    """The address of who asked; those with tools number their turns."""
    return address.removeprefix("main/").removesuffix("/c1").removesuffix("/t1")


async def walked(flow: str) -> tuple[Played, list[str]]:
    program = compile_run(Source("x.team", PROGRAM.format(flow)), MemoryLibrary(), Choice())[0]
    client = ScriptedClient(reply)
    played = await play(program, client)
    return played, [shortened(c.address) for c in client.seen]


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


# --- what the examples, which all pass at once, do not show ----------------------------------------


async def scripted(flow: str, replies: dict[str, str]) -> list[str]:
    """The calls where those whose address holds a key get its text, and all others a wrong answer."""
    program = compile_run(Source("x.team", PROGRAM.format(flow)), MemoryLibrary(), Choice())[0]

    def said(call: ModelCall) -> Say:
        return Say(next((text for part, text in replies.items() if part in call.address), "5"))

    client = ScriptedClient(said)
    await play(program, client)
    return [shortened(c.address) for c in client.seen]


@pytest.mark.anyio
async def test_reflexion_reflects_and_tries_again_until_it_passes() -> None:
    calls = await scripted("flows.reflexion(5) of agent", {"2.repeat/2.then/2.retrier": "4"})
    assert calls == [
        "reflexion/1.agent",
        *("reflexion/2.repeat/1.then/1.reflector", "reflexion/2.repeat/1.then/2.retrier"),
        *("reflexion/2.repeat/2.then/1.reflector", "reflexion/2.repeat/2.then/2.retrier"),
    ]


@pytest.mark.anyio
async def test_a_cascade_asks_the_dear_one_where_the_cheap_one_is_wrong() -> None:
    flow = "flows.cascade(dear = flows.best_of(2) of agent) of roles.solver"
    calls = await scripted(flow, {"best_of": "4"})
    assert calls[0] == "cascade/1.solver"
    assert sorted(calls[1:]) == [f"cascade/2.best_of/1.parallel/{k}.agent" for k in (1, 2)]


@pytest.mark.anyio
async def test_what_was_not_accepted_is_solved_again_with_the_advice() -> None:
    refused = '{"accepted": false, "advice": "count again"}'
    calls = await scripted("flows.solve_then_verify(2)", {"evaluate": refused})
    assert [call.rpartition("/")[2] for call in calls] == [
        *("r1.m1", "cycle1.evaluate", "r2.m1", "cycle2.evaluate"),
    ]


@pytest.mark.anyio
async def test_a_critic_that_agrees_ends_the_loop_and_one_that_objects_does_not() -> None:
    assert len(await scripted("flows.critique_loop(3)", {".m2": "AGREE"})) == 2
    assert len(await scripted("flows.critique_loop(3)", {".m2": "no\nDISAGREE"})) == 7


@pytest.mark.anyio
async def test_a_vote_weighs_what_a_verifier_says() -> None:
    flow = 'parallel(3) of agent -> vote(by = contains("right", "sure"))'
    program = compile_run(Source("x.team", PROGRAM.format(flow)), MemoryLibrary(), Choice())[0]
    texts = {"1.agent": "5", "2.agent": "5", "3.agent": "right"}
    client = ScriptedClient(lambda c: Say(texts[c.address.split("/")[-2]]))
    played = await play(program, client)
    assert played.result.value is not None
    assert played.result.value.answer == "right"
