"""Blocks: their order and seeds; a comparison that is broken off goes on without paying twice."""

from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from podium.dsl.compile import Choice, compile_experiment
from podium.dsl.library import MemoryLibrary
from podium.dsl.source import Source
from podium.engine import Engine
from podium.engine.call import ModelCall
from podium.engine.compare import Design, Trial, arms_of, blocks, carry_out, digest
from podium.engine.request import Request
from podium.engine.testing import ScriptedClient

PROGRAM = """edition 2026
model m {
  endpoint = openai("m", base_url = "http://127.0.0.1:9/v1")
  price = none
  context = 8k tokens
}
role solver { prompt = \"""{{ task.statement }}\"""  max_output = 50 tokens }
task t { statement = "Find it."  verify = contains(["score"]) }
experiment sizes {
  arms = { one = solver, many = parallel(4) of solver -> best }
  task = t
  each = [20k tokens]
}
"""


def design(text: str = PROGRAM, repeats: int = 4) -> Design:
    source = Source("main.team", text)
    found, _ = compile_experiment(source, MemoryLibrary(), Choice())
    return Design("sizes", arms_of(found, Request(source)), repeats)


def test_every_block_has_each_arm_once_in_an_order_of_its_own() -> None:
    made = blocks(design(repeats=40))
    assert all(sorted(block.arms) == [0, 1] for block in made)
    assert 5 < sum(block.arms == (0, 1) for block in made) < 35
    assert len({block.seed for block in made}) == 40
    assert made[:10] == blocks(design(repeats=10))


def test_a_program_is_the_same_wherever_it_stands_in_a_file() -> None:
    here = [digest(arm) for arm in design().arms]
    there = design("# a remark\n" + PROGRAM + "\nparam more: int = 1\n")
    assert [digest(arm) for arm in there.arms] == here
    assert len(set(here)) == 2
    other = design(PROGRAM.replace("50 tokens", "60 tokens"))
    assert digest(other.arms[0]) != here[0]


@pytest.mark.anyio
async def test_broken_off_it_goes_on_and_pays_for_no_answer_twice(tmp_path: Path) -> None:
    asked: list[str] = []
    scope = anyio.CancelScope()

    def speak(call: ModelCall) -> str:
        asked.append(call.address)
        if len(asked) == 8:
            scope.cancel()
        return "score"

    async def trials() -> list[Trial]:
        async with Engine(tmp_path / "runs.db", client=ScriptedClient(speak), environ={}) as engine:
            return await carry_out(engine, design())

    with scope:
        await trials()
    assert scope.cancelled_caught
    before = len(asked)
    found = await trials()
    # What was in the air when it ended may be asked again; what was answered is not.
    assert before <= len(asked) <= 4 * 5 + 4
    assert [one.outcome for one in found] == ["finished"] * 8 or all(
        not one.failed for one in found
    )
    assert len({one.run for one in found}) == 8
    assert [replace(one, seconds=0) for one in await trials()] == [
        replace(one, seconds=0) for one in found
    ]
