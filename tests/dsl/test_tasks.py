"""Tasks from their fields: what is wrong with them, and what the engine gets."""

import pytest

from podium.dsl.compile import Choice, check, compile_run
from podium.dsl.library import MemoryLibrary
from podium.dsl.source import Source

FRUIT = 'task t { statement = "?", verify = exact("fig"), baseline = "apple" }\n'
RUN = "run main { task = t, flow = agent }\n"


def problems(text: str) -> list[tuple[str, str]]:
    return [(p.code, p.message) for p in check(Source("x.team", text), MemoryLibrary())]


def baselines(text: str, lines: str = "") -> list[str | None]:
    program, _ = compile_run(
        Source("x.team", text), MemoryLibrary(files={"set.jsonl": lines}), Choice()
    )
    return [task.baseline for task in program.tasks]


def test_a_baseline_reaches_the_engine() -> None:
    assert problems(FRUIT + RUN) == []
    assert baselines(FRUIT + RUN) == ["apple"]


def test_a_baseline_that_nothing_can_score_is_a_mistake() -> None:
    text = FRUIT.replace('verify = exact("fig"), ', "") + RUN
    assert problems(text) == [
        ("E107", "task `t` has a `baseline`, and no `verify` to score it"),
    ]


@pytest.mark.parametrize(("change", "left"), [('"pear"', "pear"), ("none", None)])
def test_with_gives_another_baseline_or_takes_it_away(change: str, left: str | None) -> None:
    text = FRUIT + f"task u = t with {{ baseline = {change} }}\n" + RUN.replace("= t", "= u")
    assert baselines(text) == [left]


def test_each_row_has_its_own_baseline_or_none() -> None:
    text = (
        'task t = rows("set.jsonl") with '
        '{ statement = row.q, verify = exact("x"), baseline = row.known }\n'
    )
    lines = '{"q": "a", "known": "b"}\n{"q": "c", "known": null}\n'
    assert baselines(text + RUN, lines) == ["b", None]


def test_a_baseline_is_a_text() -> None:
    [(code, message)] = problems(FRUIT.replace('"apple"', "4") + RUN)
    assert code == "E120"
    assert "not `4`" in message
