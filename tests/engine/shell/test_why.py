"""Why a node did not run, lost, was stopped, failed, or cost so much; what ending early saved and wasted."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trio.testing
from click.testing import CliRunner, Result

from podium.engine import Engine
from podium.engine.answer import result_json
from podium.engine.call import CallError, ModelCall
from podium.engine.early import early
from podium.engine.fold import Fold
from podium.engine.shell.cli import main
from podium.engine.testing import Fail, Say, ScriptedClient

PROGRAM = '''
model paid {
  endpoint = openai("paid", base_url = "http://127.0.0.1:1")
  price    = { input = $1 per 1M tokens, output = $1 per 1M tokens }
}
role writer  { prompt = """{{ task.statement }}"""  max_output = 100 tokens }
role reviser { prompt = """Better: {{ attempt.answer }}"""  max_output = 100 tokens }
task hello   { statement = "Say yes."  verify = contains("yes") }
run race {
  task   = hello
  flow   = parallel(6, stop = first_pass, inflight = 3) of (writer -> reviser)
  budget = [$1, 20 calls]
}
run nested {
  task   = hello
  flow   = parallel(2, stop = first_pass) of (parallel(3, stop = pass(2)) of writer -> best)
  budget = [$1, 20 calls]
}
run loop { task = hello  flow = writer -> repeat(10, until = passed) of reviser  budget = [$1, 20 calls] }
run team_of_3 {
  task   = hello
  flow   = team(3, members = [3 of writer], rounds = 4, until = passed)
  budget = [$1, 60 calls]
}
run small { task = hello  flow = parallel(5, inflight = 2) of writer  budget = [2 calls]  on_exhausted = shrink }
run falls {
  task   = hello
  flow   = fallback of [writer, team(2, members = [2 of writer])]
  budget = [$1, 20 calls]
}
run picks { task = hello  flow = parallel(3) of writer -> best  budget = [$1, 20 calls] }
run plain { task = hello  flow = parallel(12) of writer  budget = [$1, 20 calls] }
'''
Script = Callable[[ModelCall], Say | Fail]
pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> Any:
    return "trio", {"clock": trio.testing.MockClock(autojump_threshold=0)}


async def ran(path: Path, name: str, script: Script) -> Fold:
    async with Engine(path, client=ScriptedClient(script), environ={}, inline=True) as engine:
        run = await engine.start(PROGRAM, run=name)
        return (await run.result()).folded


def show(path: Path, *words: str) -> Result:
    with_run = ["show", "latest", *words, "--store", str(path)]
    record = json.loads(CliRunner().invoke(main, ["show", "--json", "--store", str(path)]).stdout)
    with_run[1] = record["runs"][0]["run"]
    return CliRunner().invoke(main, with_run)


def second_wins(call: ModelCall) -> Say:
    return Say("yes", delay=1) if "/2." in call.address else Say("no", delay=2)


async def test_losers_and_what_they_wasted_are_told_with_who_won(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    folded = await ran(path, "race", second_wins)
    found = early(folded)
    # Three began: 1 and 3 had one answer each and one request in the air, which is charged whole.
    assert (found.branches, found.least, found.most, found.losers) == (3, 6, 6, 2)
    lost = [
        one for address, one in folded.totals().items() if address.endswith(("1.then", "3.then"))
    ]
    assert found.wasted.amount.calls == sum(one.amount.calls for one in lost) == 4
    whole = show(path).stdout
    assert "Saved: 3 branches not begun, 6 calls by what their like took. Wasted: up to $" in whole
    at = "race/1.parallel"
    assert "It was stopped: 2.then (score 1) passed first." in show(path, f"{at}/1.then").stdout
    assert "It never began: 2.then (score 1) passed first." in show(path, f"{at}/6.then").stdout
    inner = show(path, f"{at}/1.then/2.reviser").stdout
    assert "passed first before 1.then, in which it lies" in inner
    assert "Wasted" not in inner


async def test_a_race_inside_a_race_ends_nobody_outside_it(tmp_path: Path) -> None:
    def script(call: ModelCall) -> Say:
        wins = "/1.then" in call.address and "/3.writer" not in call.address
        return Say("yes", delay=1) if wins else Say("no", delay=9)

    folded = await ran(tmp_path / "a.db", "nested", script)
    inner = "nested/1.parallel/1.then/1.parallel"
    ends = {address: node.outcome for address, node in folded.nodes.items()}
    assert [ends[f"{inner}/{i}.writer"] for i in (1, 2, 3)] == ["passed", "passed", "stopped"]
    assert (ends[inner], ends["nested/1.parallel/1.then"]) == ("passed", "passed")
    assert ends["nested/1.parallel/2.then"] == "stopped"
    found = early(folded)  # the loser inside, and the branch outside with all that lies below it
    assert (found.losers, found.wasted.amount.calls) == (2, 4)


async def test_rounds_that_a_rule_spared_are_told(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    folded = await ran(path, "loop", lambda c: Say("yes" if "/3.reviser" in c.address else "no"))
    assert (early(folded).rounds, early(folded).least, early(folded).most) == (7, 7, 7)
    said = show(path, "loop/2.repeat").stdout
    assert "It ended by its rule `passed`, 7 rounds were not begun." in said
    late = show(path, "loop/2.repeat/7.reviser").stdout
    assert "It did not run: loop/2.repeat ended after 3.reviser." in late
    answer = json.loads(show(path, "loop/2.repeat/7.reviser", "--json").stdout)
    assert (answer["outcome"], answer["spent"]["calls"], len(answer["why"])) == (None, 0, 2)


async def test_a_team_that_ends_early_counts_its_rounds(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    folded = await ran(path, "team_of_3", lambda c: Say("yes" if "/r2" in c.address else "no"))
    assert (early(folded).rounds, early(folded).least, early(folded).most) == (2, 8, 8)
    assert "It did not run" in show(path, "team_of_3/team/r4.m1").stdout


async def test_what_a_budget_kept_from_beginning_names_the_budget(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    await ran(path, "small", lambda _: Say("no", delay=1))
    said = show(path, "small/1.parallel/5.writer").stdout
    assert "It never began: the call budget of run small, 2 calls, had no room" in said
    assert "2 calls of it had been spent at the end" in said


async def test_an_option_that_was_not_needed_is_told_and_a_strange_address_is_not(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.db"
    await ran(path, "falls", lambda _: Say("yes"))
    said = show(path, "falls/fallback/2.team").stdout
    assert "falls/fallback took 1.writer and needed no other option." in said
    assert "needed no other option" in show(path, "falls/fallback/2.team/r1.m2").stdout
    for strange in ("falls/fallback/3.team", "falls/fallback/2.teem", "falls/fallback/2.team/x"):
        assert show(path, strange).exit_code == 2


async def test_failures_are_all_kept_the_lowest_address_first(tmp_path: Path) -> None:
    def script(call: ModelCall) -> Say | Fail:
        number = int(call.address.split("/")[2].partition(".")[0])
        bad = Fail(CallError("request", f"bad {number}"), delay=20 - number)
        return bad if number in (2, 9, 10, 11, 12) else Say("yes")

    path = tmp_path / "a.db"
    folded = await ran(path, "plain", script)
    found = [one["address"] for one in result_json("r", folded, "s")["failures"]]
    assert found == [f"plain/1.parallel/{n}.writer" for n in (2, 9, 10, 11, 12)]
    said = show(path).stdout
    assert said.index("2.writer failed: request: bad 2") < said.index("9.writer failed")
    assert "and 2 more that failed; --json has them all" in said


async def test_a_best_says_whose_answer_it_passed_on(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    await ran(path, "picks", second_wins)
    told = show(path, "picks/2.best").stdout
    assert (
        "What it passed on scored as well as the run's best, from picks/1.parallel/2.writer."
        in told
    )
    assert "came first" not in told


async def test_a_dear_node_says_its_share_and_its_dearest_parts(tmp_path: Path) -> None:
    path = tmp_path / "a.db"

    def script(call: ModelCall) -> Say:
        return Say("yes " * (90 if "/7.writer" in call.address else 1))

    await ran(path, "plain", script)
    said = show(path, "plain/1.parallel").stdout
    assert "It took 100% of what the run spent." in said
    assert "Dearest below it, as shares of the run: 7.writer " in said
