"""What a plan says before the run holds in the run: at least <= what was spent <= at most.

Of the whole run and of every part of its flow; a node of the run that no part stands for is a mistake too.
Programs are generated, in two ways: `flows` for many teams, budgets and prompts that are hard to bound, `programs`
for every form of the language. Servers are scripted and answer within their caps and
their windows. The hard ones read a token in every byte, reply up to the cap, and give the first structured reply
in words.
"""

import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import anyio
import pytest
import trio.testing
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from podium.dsl.bounds import bounds
from podium.dsl.compile import Choice, compile_run
from podium.dsl.draft import verifiers
from podium.dsl.library import MemoryLibrary
from podium.dsl.program import Agent, Budget, Flow, Limited, Program, Team, subflows
from podium.dsl.source import Source
from podium.dsl.values import Tasks
from podium.engine import Engine
from podium.engine.call import ModelCall, Usage
from podium.engine.plan import Node, plan
from podium.engine.plan.amounts import Amounts, Range
from podium.engine.plan.judges import judges_of
from podium.engine.result import RunResult
from podium.engine.spend import Spend
from podium.engine.testing import Say, ScriptedClient
from podium.engine.testing.agents import called
from podium.engine.testing.strategies import Generated, programs
from podium.engine.tokens import bound

WINDOW = 2000
PRICE = "{ input = $20 per 1M tokens, cached = $2 per 1M tokens, output = $80 per 1M tokens }"
HEADER = f"""
model paid {{
  endpoint = openai("paid", base_url = "http://127.0.0.1:1")
  context  = {WINDOW} tokens
  price    = PRICE
}}
role writer {{
  prompt     = \"\"\"Task {{{{ task.name }}}}: {{{{ task.statement }}}}\"\"\"
  max_output = 60 tokens
}}
role reviser {{
  system     = \"\"\"You revise in round {{{{ round }}}}.\"\"\"
  prompt     = \"\"\"
    {{{{ task.statement }}}} Better than {{{{ attempt.answer }}}}
    and {{{{ attempt.before.answer | clip(9 tokens) }}}}? {{{{ attempt.score }}}} {{{{ attempt.evidence }}}}
    \"\"\"
  max_output = 90 tokens
}}
role judges {{
  prompt     = \"\"\"{{{{ attempt.answer }}}} among {{{{ attempts | bullets }}}}\"\"\"
  max_output = 50 tokens
}}
role joiner {{
  prompt     = \"\"\"Join: {{{{ attempts }}}}\"\"\"
}}
role shaped {{
  prompt     = \"\"\"{{{{ task.statement }}}}\"\"\"
  output     = {{ answer: text, sure: "high" | "low" }}
  max_output = 120 tokens
}}
role worker {{
  prompt     = \"\"\"{{{{ task.statement }}}}\"\"\"
  tools      = [notes, submit(2)]
  turns      = 3
  context    = summarise
  max_output = 90 tokens
}}
role noter {{
  prompt     = \"\"\"{{{{ task.statement }}}} {{{{ team.digest }}}}\"\"\"
  tools      = [notes]
  turns      = 3
  context    = drop_oldest
  max_output = 60 tokens
}}
role member {{
  system     = \"\"\"You are {{{{ self.name }}}}.\"\"\"
  prompt     = \"\"\"
    {{{{ task.statement }}}} {{{{ team.digest }}}} {{{{ team.leaderboard }}}} {{{{ team.left }}}}
    \"\"\"
  max_output = 70 tokens
}}
role judge {{
  prompt     = \"\"\"Is this easy? {{{{ task.statement }}}}\"\"\"
  output     = {{ choice: "easy" | "hard" }}
  max_output = 80 tokens
}}
role splitter {{
  output     = {{ parts: [text] }}
  prompt     = \"\"\"Parts of {{{{ task.statement }}}}\"\"\"
  max_output = 150 tokens
}}
role capped {{
  prompt     = \"\"\"Within bounds: {{{{ task.statement }}}}\"\"\"
  max_output = 60 tokens
  budget     = [2 calls]
}}
role chief {{
  prompt     = \"\"\"{{{{ team.digest }}}} {{{{ team.left }}}} of {{{{ team.size }}}}\"\"\"
  output     = {{ size: int, stop: bool }}
  max_output = 40 tokens
}}
role poor {{
  prompt     = \"\"\"{{{{ attempt.answer }}}} among {{{{ attempts | bullets }}}}\"\"\"
  max_output = 60 tokens
  budget     = [700 tokens]
}}
role assessor {{
  prompt     = \"\"\"{{{{ attempt.answer }}}} {{{{ attempt.evidence }}}} {{{{ team.digest }}}}\"\"\"
  output     = {{ accepted: bool, advice: text, grade: int }}
  max_output = 40 tokens
}}
role casting {{
  prompt     = \"\"\"Who could do {{{{ task.statement }}}}\"\"\"
}}
task hello {{
  statement = "Say yes, and say it in as few words as you can."
  verify    = contains("yes", "no")
}}
"""

LEAVES = st.sampled_from(
    [
        "writer",
        "worker",
        "team(2, members = [2 of noter], rounds = 2)",
        "shaped",
        "writer -> reviser",
        "team(2, rounds = 1)",
        "team(3, ceo = adaptive, rounds = 2)",
        "team(2, ceo = fixed, order = solver_first, rounds = 3)",
        "team(3, members = [1 of member, 2 of shaped], order = in_turn, rounds = 2)",
        "team(3, order = solver_first, rounds = 3, until = consensus)",
        "team(2, members = [2 of member], sees = last(2), rounds = 9)",
        "team(3, order = solver_last, sees = own, rounds = 4, until = passed)",
        "team(2, recruit = casting, rounds = 2)",
        "route(by = judge) of { easy = writer, hard = team(2) }",
        "for_each(by = splitter, max = 3) of writer -> joiner",
        "for_each(by = splitter, max = 2) of team(2, rounds = 1) -> score -> best",
        "team(4, ceo = adaptive, order = in_turn, rounds = 3)",
        "team(5, ceo = chief, ceo_sets = [size, stop], recruit = casting, rounds = 3)",
        "team(3, order = in_turn, rounds = 4, until = plateau(1))",
        "team(3, members = [1 of capped, 2 of shaped], rounds = 3)",
        "capped",
        "parallel(3) of writer -> poor -> joiner",
        "team(2, cycles = 2, evaluate = writer, until = accepted)",
        'team(2, cycles = 2, rounds = 1, recruit = casting, evaluate = assessor, execute = contains("yes"))',
        'team(3, cycles = 4, order = solver_first, sees = own, execute = contains("yes"), until = consensus)',
        "parallel(3, migrate = every(1)) of team(2, rounds = 3, sees = own) -> best",
        "parallel(2, migrate = every(2)) of team(1, cycles = 2, rounds = 3, sees = last(1)) -> vote",
        "team(3, compat = mas_tts, rounds = 2)",
        "team(2, style = work, turns = 3, claims = lease(5m))",
        "team(members = [1 of worker, 2 of shaped], style = work, turns = 2, ceo = chief, rounds = 3)",
        "team(2, members = [2 of member], style = work, turns = 3, sees = last(1), until = score >= 2)",
        "team(3, order = relay, cycles = 2, ceo = chief, evaluate = assessor)",
    ]
)
BUDGETS = ["budget = [900 tokens]", "budget = [3 calls]", "budget = [30%]", "budget = [$0.02]"]
RUN_BUDGETS = st.sampled_from(
    ["6k tokens", "12 calls", "$0.40", "90k tokens, 60 calls, $9, 30m", "$90, 9M tokens"]
)
POLICIES = ["", ", on_exhausted = vote", ", on_exhausted = shrink"]


STOPS = [
    ", stop = first_pass",
    ", stop = pass(2)",
    ", split = even",
    ", inflight = 2",
    ", need = 2",
]
# Flows for a part of `for_each`, which no verifier judges; each can take a budget.
PARTS = [
    "team(2, ceo = chief, ceo_sets = [size, stop], rounds = 2",
    "team(3, order = in_turn, rounds = 1",
    "team(2, recruit = casting, rounds = 1",
]
EVOLUTION = "repeat({}) of (parallel of [same, parallel(2) of (sample(1) -> reviser)] -> top(3))"


def flows(budgets: bool) -> st.SearchStrategy[str]:
    """Flows that give an attempt for a task; with budgets of their own where wanted."""

    @st.composite
    def wrapped(draw: st.DrawFn, inner: st.SearchStrategy[str]) -> str:
        flow = draw(inner)
        copies, rounds = draw(st.integers(1, 4)), draw(st.integers(1, 3))
        extra = ""
        if budgets and draw(st.booleans()):
            extra = f", {draw(st.sampled_from(BUDGETS))}{draw(st.sampled_from(POLICIES))}"
        stop = draw(st.sampled_from(["", *STOPS])) if copies > 1 else ""
        part = draw(st.sampled_from(PARTS))
        until = draw(st.sampled_from(["", ", until = passed"]))
        return draw(
            st.sampled_from(
                [
                    f"(parallel({copies}{stop}{extra}) of ({flow}) -> best)",
                    f"(parallel of [2 of ({flow}), writer] -> vote)",
                    f"({flow} -> repeat({rounds}{until}{extra}) of reviser)",
                    f"(fallback of [{flow}, writer])",
                    f"(fallback(accept = score >= 2) of [writer, {flow}, team(2, rounds = 1)])",
                    f"(route(by = judge) of {{ easy = ({flow}), hard = writer -> reviser }})",
                    f"(for_each(by = splitter, max = {copies}) of {part}{extra}) -> vote)",
                    f"(parallel(2{extra}) of ({flow}) -> {EVOLUTION.format(rounds)} -> best)",
                    f"(parallel({copies}) of ({flow}) -> top(2) -> reviser -> best)",
                    f"(parallel({copies}) of ({flow}) -> judges -> joiner)",
                ]
            )
        )

    return st.recursive(LEAVES, wrapped, max_leaves=3)


@dataclass
class Server:
    """Answers within caps and window. hard: as dear as it can be; else at chance."""

    chance: random.Random
    hard: bool
    window: int = WINDOW

    def answer(self, call: ModelCall) -> Say:
        chance = random.Random(f"{self.chance.random()} {call.address}")
        text = self._text(call, chance)[: call.max_output]
        longest = min(self.window, bound(call))
        if self.hard:
            usage = Usage(input=longest, output=call.max_output)
        else:
            letters = sum(len("".join(m.content.split())) for m in call.messages)
            read = chance.randint(max(1, letters // 128), longest)
            cached = chance.choice([0, chance.randint(0, read), read])
            usage = Usage(read, cached, output=chance.randint(0, call.max_output))
        wait = chance.uniform(0, 90)
        if call.tools and (self.hard or chance.random() < 0.6):
            return Say("", delay=wait, usage=usage, calls=called(call.tools, "yes", chance))
        return Say(text, delay=wait, usage=usage)

    def _text(self, call: ModelCall, chance: random.Random) -> str:
        words = chance.choice(["yes", "no", "yes and no", "neither\nAGREE"])
        if call.schema is None:
            return words + (" or" * 3_000 if self.hard else "")
        if call.address.endswith("/c1") and (self.hard or chance.random() < 0.3):
            return "I would rather " + words * 100
        properties = cast(Mapping[str, Mapping[str, Any]], call.schema["properties"])
        return json.dumps({name: value_of(kind, chance) for name, kind in properties.items()})


def value_of(kind: Mapping[str, Any], chance: random.Random) -> Any:
    """A value of this JSON schema."""
    match kind:
        case {"enum": choices}:
            return chance.choice(choices)
        case {"type": "array", "items": item}:
            return [value_of(item, chance) for _ in range(chance.randint(1, 4))]
        case {"type": "boolean"}:
            return chance.random() < 0.5
        case {"type": "integer"}:
            return chance.randint(1, 90)
        case _:
            return chance.choice(["yes and no", "no"])


async def played(folder: Path, program: Program, server: Server) -> RunResult:
    client = ScriptedClient(server.answer, inflight=6)
    engine = Engine(folder / "runs.db", client=client, environ={}, inline=True)
    async with engine:
        run = await engine.start(program)
        return await run.result()


def compared(text: str, folder: Path, seed: int, *, hard: bool, more: bool) -> None:
    compare(text, folder, Server(random.Random(seed), hard), more=more)


def compare(text: str, folder: Path, server: Server, *, more: bool = False) -> None:
    """more: the run has the task twice."""
    program, _ = compile_run(Source("x.team", text), MemoryLibrary(), Choice())
    hold(program, folder, server, more=more)


def hold(program: Program, folder: Path, server: Server, *, more: bool = False) -> None:
    """Plan and run program; its models have the server's window."""
    if more:
        program = replace(program, tasks=(*program.tasks, replace(program.tasks[0], name="again")))
    planned = plan(program)
    if not budgeted(program) and not judges_of([*verifiers(program.flow, Tasks(program.tasks))]):
        size = bounds(program.flow)
        calls = planned.total.calls
        assert calls.most == len(program.tasks) * size.most
    clock = trio.testing.MockClock(autojump_threshold=0)
    options: dict[str, Any] = {"clock": clock}
    work = partial(played, folder, program, server)
    result = anyio.run(work, backend="trio", backend_options=options)
    folded = result.folded
    totals = folded.totals()
    answered = {"passed", "finished"}
    assert folded.ended is not None
    check("total", planned.total, folded.total, folded.ended.outcome in answered)
    parts = [(pattern_of(part.address), part) for _, part in planned.root.walk()]
    for address, node in folded.nodes.items():
        found = [part for pattern, part in parts if pattern.fullmatch(address)]
        assert found or is_below(address, parts) or address in ENVELOPES, address
        for part in found:
            check(address, part.amounts, totals[address], node.outcome in answered)


# Nodes around the flow: the run itself, and one for each of its tasks. The total is checked for the first.
ENVELOPES = {"main", "main/1.row", "main/2.row"}


def pattern_of(address: str) -> re.Pattern[str]:
    """The addresses of all copies that a part of the plan stands for."""
    return re.compile(re.sub(r"\d+-\d+\.", r"\\d+.", address))


def is_below(address: str, parts: Sequence[tuple[re.Pattern[str], Node]]) -> bool:
    """Whether it is a turn of a team, or an agent's for each of many: those a plan does not list."""
    heads = (address.rpartition("/")[0], address.rpartition("/")[0].rpartition("/")[0])
    return any(
        part.kind in ("team", "agent") and any(pattern.fullmatch(head) for head in heads)
        for pattern, part in parts
    )


def budgeted(program: Program) -> bool:
    waiting: list[Flow] = [program.flow]
    while waiting:
        flow = waiting.pop()
        roles = [m.role for m in flow.members] if isinstance(flow, Team) else []
        roles += [flow.role] if isinstance(flow, Agent) else []
        if isinstance(flow, Limited) or any(role.budget is not None for role in roles):
            return True
        waiting.extend(subflows(flow))
    return program.budget != Budget()


def check(where: str, planned: Amounts, spend: Spend, answered: bool) -> None:
    assert planned.usd is not None
    assert spend.usage.cached <= planned.repeats.most, where
    spent = spend.amount
    each: list[tuple[str, Range, int]] = [
        ("calls", planned.calls, spent.calls),
        ("tokens", planned.tokens, spent.tokens),
        ("usd", planned.usd, spent.usd),
    ]
    for name, figures, actual in each:
        assert figures.least <= figures.expected <= figures.most, f"{where}: {name} {figures}"
        assert actual <= figures.most, f"{where}: {actual} {name}, planned {figures}"
        assert not answered or figures.least <= actual, f"{where}: {actual} {name} < {figures}"


QUICK = settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    phases=[
        Phase.explicit,
        Phase.generate,
    ],  # a run takes too long to be made smaller a thousand times
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.mark.slow
@QUICK
@given(flow=flows(budgets=False), seed=st.integers(0, 1000), hard=st.booleans(), more=st.booleans())
def test_a_run_without_budgets_spends_what_its_plan_says(
    tmp_path_factory: pytest.TempPathFactory, flow: str, seed: int, hard: bool, more: bool
) -> None:
    header = HEADER.replace("PRICE", "none")
    text = f"{header}run main {{\n  task = hello\n  flow = {flow}\n}}\n"
    compared(text, tmp_path_factory.mktemp("run"), seed, hard=hard, more=more)


@pytest.mark.slow
@QUICK
@given(
    flow=flows(budgets=True),
    budget=RUN_BUDGETS,
    seed=st.integers(0, 1000),
    hard=st.booleans(),
    more=st.booleans(),
)
def test_a_run_under_budgets_spends_what_its_plan_says(
    tmp_path_factory: pytest.TempPathFactory,
    flow: str,
    budget: str,
    seed: int,
    hard: bool,
    more: bool,
) -> None:
    header = HEADER.replace("PRICE", PRICE)
    text = f"{header}run main {{\n  task = hello\n  flow = {flow}\n  budget = [{budget}]\n}}\n"
    compared(text, tmp_path_factory.mktemp("run"), seed, hard=hard, more=more)


def windowed(made: Generated) -> Program:
    """The program, all models with the window that `Server` keeps to."""
    program, _ = compile_run(made.source, made.library, Choice(run=made.run))
    models = {name: replace(model, context=WINDOW) for name, model in program.models.items()}
    return replace(program, models=models)


JUDGED_HERE = (
    "contains",
    "exact",
    "number",
    "choice",
    "all_of",
    "any_of",
    "weighted",
)  # no code of its own


@pytest.mark.slow
@QUICK
@given(
    made=programs(verifiers=JUDGED_HERE),
    seed=st.integers(0, 1000),
    hard=st.booleans(),
)
def test_any_generated_program_spends_what_its_plan_says(
    tmp_path_factory: pytest.TempPathFactory, made: Generated, seed: int, hard: bool
) -> None:
    server = Server(random.Random(seed), hard)
    hold(windowed(made), tmp_path_factory.mktemp("run"), server)


# --- one way to lengthen a prompt at a time --------------------------------------------------------

WIDE = 100_000
ROLES = f"""
model m {{
  endpoint = openai("m", base_url = "http://127.0.0.1:1"), context = {WIDE} tokens, price = none
}}
role long {{ prompt = \"\"\"Go\"\"\" max_output = 1500 tokens }}
role short {{ prompt = \"\"\"On\"\"\" max_output = 10 tokens }}
role mends {{ prompt = \"\"\"Mend {{{{ attempt.answer | clip(1 tokens) }}}}\"\"\" max_output = 10 tokens }}
role quotes {{ prompt = \"\"\"This is indented: {{{{ attempt.answer }}}}\"\"\" max_output = 1500 tokens }}
role looks_back {{ prompt = \"\"\"{{{{ attempt.before.answer }}}} or {{{{ attempt.score }}}}\"\"\" }}
role lists {{ prompt = \"\"\"{{{{ attempts | bullets }}}}\"\"\" }}
role other {{ prompt = \"\"\"You\"\"\" max_output = 1500 tokens }}
task t {{ statement = \"\"\"{"word " * 1_000}\"\"\" }}
"""


@dataclass
class Lines(Server):
    """Replies of as many lines as their cap has room for."""

    def _text(self, call: ModelCall, chance: random.Random) -> str:
        first, last = chance.choices("abcdefghijklmnopqrstuvwxyz", k=2)
        return first + "\n" * (call.max_output - 2) + last


@pytest.mark.parametrize(
    "flow",
    [
        "long -> quotes",
        "long -> quotes -> looks_back",
        "parallel(2) of long -> lists",
        "parallel(1, budget = [1 calls]) of (long -> mends) -> vote -> quotes",
        "team(2, members = [1 of long, 1 of other], rounds = 1)",
        "team(2, members = [2 of long], sees = last(1), rounds = 3)",
    ],
)
def test_replies_that_are_all_lines_cost_no_more_than_planned(tmp_path: Path, flow: str) -> None:
    text = f"{ROLES}run main {{\n  task = t\n  flow = {flow}\n}}\n"
    compare(text, tmp_path, Lines(random.Random(1), hard=True, window=WIDE))
