"""Runs, one run, one node, from a store written here."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from podium.engine.call import Message, Usage
from podium.engine.event import (
    AccountOpened,
    CallAnswered,
    CallIntended,
    Improved,
    NodeEnded,
    NodeStarted,
    RunEnded,
    RunStarted,
    Scored,
)
from podium.engine.journal import message_blob
from podium.engine.ledger import Amount
from podium.engine.shell.calls import tries
from podium.engine.shell.cli import main
from podium.engine.store import RunRecord, Store

pytestmark = pytest.mark.anyio
SQUAD = "main/parallel/1.squad"
SPENT = Amount(2_500_000, 150, 1)
REPLY = {
    "text": "the answer\x1b[2J is\n42",
    "finish": "stop",
    "usage": {"input": 100, "output": 50},
    "served": "m",
    "replica": "r",
    "reasoning": "",
}


@pytest.fixture
def anyio_backend() -> str:
    return "trio"


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    """A store with run `2026-a`, which passed, and run `2026-b`, which died with a call in flight."""
    path = tmp_path / "runs.db"
    store = Store.open(path, inline=True, clock=lambda: 1000.0)
    journal = store.create(RunRecord("2026-a", "main", 1000.0, "a"))
    message = message_blob(Message("user", "What is \x9b2J six times seven?"))
    intent = CallIntended(f"{SQUAD}/r1.m1", 0, "a", "model", "d", SPENT, "fast", "r", (message[0],))
    for event in (
        RunStarted(1, 1, "h", "0"),
        AccountOpened("a", "", 9_000_000, None, None, None),
        NodeStarted("main/parallel", "parallel", "parallel"),
        NodeStarted(SQUAD, "team", "squad"),
    ):
        journal.emit(event)
    await journal.commit([intent], [message])
    answered = CallAnswered(
        f"{SQUAD}/r1.m1", 0, "a", SPENT, Usage(input=100, output=50), REPLY, 2.0
    )
    await journal.commit([answered])
    for event in (
        Scored(SQUAD, "tests", 1.0, True),
        Improved(SQUAD, 1.0, True, "42"),
        NodeEnded(SQUAD, "passed", "", 1.0),
        NodeEnded("main/parallel", "passed", ""),
    ):
        journal.emit(event)
    await journal.end(RunEnded("passed", "", False, "42", 1.0, True, 12.0))
    await journal.close()
    died = store.create(RunRecord("2026-b", "main", 2000.0, "b"))
    died.emit(RunStarted(1, 1, "h", "0"))
    died.emit(NodeStarted("main/poet", "agent", "poet"))
    await died.commit([CallIntended("main/poet", 1, "b", "model", "d", SPENT, "fast")])
    await died.close()
    store.close()
    return path


def show(path: Path, *words: str) -> Result:
    return CliRunner().invoke(main, ["show", *words, "--store", str(path)])


async def test_runs_are_listed_newest_first_with_how_they_stand(path: Path) -> None:
    lines = show(path).stdout.splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["2026-b", "2026-a"]
    assert "died, can be resumed" in lines[1]
    assert "passed" in lines[2]
    listed = json.loads(show(path, "--json").stdout)["runs"]
    assert [(run["run"], run["outcome"], run["score"]) for run in listed] == [
        ("2026-b", None, None),
        ("2026-a", "passed", 1.0),
    ]


async def test_the_list_has_the_best_so_far_of_a_run_that_died(tmp_path: Path) -> None:
    path = tmp_path / "died.db"
    store = Store.open(path, inline=True)
    died = store.create(RunRecord("2026-d", "main", 1.0, ""))
    for score in (0.25, 0.75):
        died.emit(Improved("main/poet", score, None, "x"))
    await died.close()
    store.close()
    assert show(path).stdout.splitlines()[1].split()[-2] == "0.75"
    assert json.loads(show(path, "--json").stdout)["runs"][0]["score"] == 0.75


async def test_a_run_is_shown_with_prices_scores_and_answer(path: Path) -> None:
    result = show(path, "2026-a")
    assert result.exit_code == 0
    for part in ("Passed, score 1, after 12s", "$2.50", "The best team scored 1", "\n42\n"):
        assert part in result.stdout
    assert result.stderr == f"Next: podium show 2026-a {SQUAD} --store {path}\n"


async def test_json_of_a_run_has_its_budget_and_nodes(path: Path) -> None:
    shown = json.loads(show(path, "2026-a", "--json").stdout)
    assert (shown["outcome"], shown["answer"], shown["held"]) == ("passed", "42", 0)
    assert shown["budget"]["usd"] == 9.0
    assert [node["address"] for node in shown["nodes"]] == ["main/parallel", SQUAD]


async def test_a_run_is_found_by_the_beginning_of_its_name(path: Path) -> None:
    assert json.loads(show(path, "2026-b", "--json").stdout)["run"] == "2026-b"
    assert "several runs" in show(path, "2026").stderr
    result = show(path, "2026-c")
    assert result.exit_code == 2
    assert "2026-a" in result.stderr


async def test_a_node_is_shown_with_its_outcome_price_and_calls(path: Path) -> None:
    result = show(path, "2026-a", SQUAD)
    for part in ("passed, score 1", "1 call, 150 tokens, $2.50", f"{SQUAD}/r1.m1  answered"):
        assert part in result.stdout
    for part in ("[user]", "What is \\x9b2J six", "[reply]", "the answer\\x1b[2J is\n42"):
        assert part in result.stdout
    assert "\x1b" not in result.stdout


async def test_a_call_has_an_address_too(path: Path) -> None:
    shown = json.loads(show(path, "2026-a", f"{SQUAD}/r1.m1", "--json").stdout)
    assert shown["spent"]["usd"] == 2.5
    assert [call["state"] for call in shown["calls"]] == ["answered"]
    assert shown["calls"][0]["text"] == REPLY["text"]


async def test_a_node_that_is_not_there_is_named_with_its_neighbours(path: Path) -> None:
    result = show(path, "2026-a", "main/parallel/1.squat")
    assert result.exit_code == 2
    assert SQUAD in result.stderr


async def test_without_a_store_nothing_is_made(tmp_path: Path) -> None:
    result = show(tmp_path / "none.db")
    assert result.exit_code == 2
    assert "there is no store" in result.stderr
    assert not (tmp_path / "none.db").exists()


async def test_a_file_that_is_no_store_is_said(tmp_path: Path) -> None:
    (tmp_path / "runs.db").write_text("no database")
    assert show(tmp_path / "runs.db").exit_code == 2


async def test_resume_says_first_what_it_will_pay_again(path: Path) -> None:
    from podium.engine.shell.resume import chosen, paid_again

    store = Store.open(path, inline=True)
    record = chosen(store, None)
    assert record.id == "2026-b"
    assert paid_again(store, record) == (
        "1 call was in flight when run 2026-b died and will be paid again: "
        "at most $2.50 and 150 tokens."
    )
    assert paid_again(store, store.run("2026-a")) == ""
    store.close()


async def test_a_call_of_a_model_without_a_price_has_no_dollars_on_its_node_either(
    path: Path,
) -> None:
    store = Store.open(path, inline=True)
    [unpriced] = tries(store.events("2026-a"), {"fast"})
    [priced] = tries(store.events("2026-a"), ())
    store.close()
    assert (unpriced.as_json()["spent"]["usd"], priced.as_json()["spent"]["usd"]) == (None, 2.5)
