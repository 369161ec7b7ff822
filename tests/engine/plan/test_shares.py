"""Even parts that are too small for a branch."""

import pytest

from podium.dsl.compile import Choice, compile_run
from podium.dsl.library import MemoryLibrary
from podium.dsl.source import Source
from podium.engine.plan import plan

FILE = """model m {{
  endpoint = openai("x", base_url = "http://127.0.0.1:8000/v1")
  context  = 8k tokens
  price    = none
}}
task poem {{ statement = "A poem." }}
run main {{ task = poem  flow = {flow} -> vote  split = {split}  budget = [{budget}] }}
"""
EACH = "parallel(4, split = even) of "


def small(flow: str, budget: str, split: str = "pooled") -> list[tuple[str, str, int]]:
    text = FILE.format(flow=flow, budget=budget, split=split)
    program, _ = compile_run(Source("x.team", text), MemoryLibrary(), Choice())
    return [(one.address, one.dimension, one.part) for one in plan(program).small]


@pytest.mark.parametrize(
    ("flow", "budget", "split", "told"),
    [
        (EACH + "agent", "8k tokens", "pooled", ("main/1.parallel", "tokens", 2_000)),
        ("parallel(4) of agent", "8k tokens", "even", ("main/1.parallel", "tokens", 2_000)),
        (EACH + "team(3)", "20 calls", "pooled", ("main/1.parallel", "calls", 5)),
        (
            "parallel(2) of (" + EACH + "agent -> vote)",
            "8k tokens",
            "pooled",
            ("main/1.parallel/1-2.then/1.parallel", "tokens", 2_000),
        ),
    ],
)
def test_a_part_that_a_branch_cannot_do_with_is_told(
    flow: str, budget: str, split: str, told: tuple[str, str, int]
) -> None:
    assert small(flow, budget, split) == [told]


@pytest.mark.parametrize(
    ("flow", "budget", "split"),
    [
        (EACH + "agent", "40k tokens", "pooled"),
        ("parallel(4) of agent", "8k tokens", "pooled"),  # whoever comes first has the pool
        (EACH + "team(3)", "80 calls", "pooled"),
        ("parallel(2) of (parallel(4) of agent -> vote)", "16k tokens", "even"),  # 8k each
    ],
)
def test_where_parts_will_do_nothing_is_told(flow: str, budget: str, split: str) -> None:
    assert small(flow, budget, split) == []
