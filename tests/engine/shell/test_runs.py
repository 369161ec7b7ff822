"""The list of runs: found by what they are and by the notes on them; and the page that `show` writes."""

import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from podium.engine.call import Message
from podium.engine.event import CallIntended, NodeStarted, RunEnded, RunStarted, Scored
from podium.engine.journal import message_blob
from podium.engine.ledger import Amount
from podium.engine.shell.cli import main
from podium.engine.shell.exits import ShellError
from podium.engine.shell.runs import moment
from podium.engine.store import RunRecord, Store
from podium.engine.value import Json

pytestmark = pytest.mark.anyio
DAY_S = 86_400.0
NOW = time.time()
PROGRAM = """edition 2026
role poet { prompt = \"\"\"{{ task.statement }}\"\"\" }
task sonnet { statement = "Write." }
run main { flow = poet  task = sonnet  budget = [10 calls] }
"""


@pytest.fixture
def anyio_backend() -> str:
    return "trio"


def request(name: str) -> dict[str, Json]:
    url: Json = {
        "url": "http://127.0.0.1:9",
        "name": None,
        "served": "",
        "price": None,
        "key": None,
    }
    return {
        "source": {"name": name, "text": PROGRAM},
        "params": {},
        "models": [url],
        "texts": [],
        "budget": {"usd": None, "tokens": None, "calls": None, "seconds": None},
        **dict.fromkeys(("run", "expression", "task", "seed")),
    }


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    """A store with a run of three days ago that passed, one of today that failed, and one that died."""
    path = tmp_path / "runs.db"
    with closing(Store.open(path, inline=True)) as store:
        for id_, name, ago, outcome in (
            ("2026-a", "squad", 3 * DAY_S, "passed"),
            ("2026-b", "Poems", 60.0, "failed"),
            ("2026-c", "main", 30.0, None),
        ):
            asked = request("poems.team") if id_ == "2026-c" else {}
            journal = store.create(RunRecord(id_, name, NOW - ago, "", asked))
            journal.emit(RunStarted(1, 1, "h", "0"))
            journal.emit(NodeStarted(name, "agent", name))
            if outcome is not None:
                await journal.end(
                    RunEnded(outcome, "", False, "yes", 1.0, outcome == "passed", 1.0)
                )
            await journal.close()
    return path


def podium(path: Path, *words: str) -> Result:
    return CliRunner().invoke(main, [*words, "--store", str(path)])


def listed(path: Path, *words: str) -> list[str]:
    result = podium(path, "show", *words, "--json")
    assert result.exit_code == 0, result.output
    return [run["run"][-1] for run in json.loads(result.stdout)["runs"]]


async def test_runs_are_found_by_name_state_time_and_number(path: Path) -> None:
    assert listed(path) == ["c", "b", "a"]
    assert listed(path, "--name", "POEMS") == ["c", "b"]  # a file's name, and a run's
    assert listed(path, "--state", "passed", "--state", "died") == ["c", "a"]
    assert listed(path, "--since", "1d") == ["c", "b"]
    assert listed(path, "--task", "sonnet") == ["c"]
    assert listed(path, "--last", "1", "--name", "poems", "--state", "failed") == ["b"]
    assert podium(path, "show", "--name", "nobody").stderr == "no run is like that\n"


async def test_a_filter_beside_a_run_is_refused(path: Path) -> None:
    result = podium(path, "show", "2026-a", "--since", "1d")
    assert result.exit_code == 2
    assert "leave RUN out" in result.stderr


@pytest.mark.parametrize("text", ["soon", "12", "2026-13-01", "1 week", "-2h"])
async def test_what_is_no_moment_is_refused_with_what_to_write(text: str) -> None:
    with pytest.raises(ShellError, match="write"):
        moment(text, NOW)


async def test_a_moment_is_a_time_before_now_or_a_date() -> None:
    assert moment("2h", NOW) == NOW - 7_200
    assert moment("1h30m", NOW) == NOW - 5_400
    assert moment("2026-12-01", NOW) == time.mktime((2026, 12, 1, 0, 0, 0, 0, 0, -1))


async def test_notes_are_added_shown_and_found(path: Path) -> None:
    assert podium(path, "note", "2026-a", "first \x1b[31mtry").stderr == "Run 2026-a has 1 note.\n"
    podium(path, "note", "2026-a", "#keep: <b>the best</b>")
    assert listed(path, "--note", "#KEEP") == ["a"]
    table = podium(path, "show").stdout
    assert "#keep: <b>the best</b> (+1)" in table
    shown = podium(path, "show", "2026-a").stdout
    assert "first \\x1b[31mtry" in shown
    assert "\x1b" not in shown + table
    notes = json.loads(podium(path, "show", "2026-a", "--json").stdout)["notes"]
    assert [note["text"] for note in notes] == ["first \x1b[31mtry", "#keep: <b>the best</b>"]


@pytest.mark.parametrize("text", ["", "  \n", "x" * 10_001])
async def test_a_note_of_nothing_or_of_a_file_is_refused(path: Path, text: str) -> None:
    result = podium(path, "note", "2026-a", text)
    assert result.exit_code == 2
    assert "note" in result.stderr
    with closing(Store.open(path)) as store:
        assert store.notes() == []


async def test_a_note_is_written_while_a_run_is_live_and_read_by_it(path: Path) -> None:
    with closing(Store.open(path)) as live:
        journal = live.take("2026-c")
        async with live.writing():
            podium(path, "note", "2026-c", "half way")
            journal.emit(NodeStarted("main/x", "agent", "x"))
            await journal.written()
            assert [note.text for note in live.notes("2026-c")] == ["half way"]
        await journal.close()


async def test_a_store_without_notes_is_left_as_it_was(path: Path) -> None:
    with closing(Store.open(path)) as store:
        assert store.notes("2026-a") == []
    with closing(sqlite3.connect(path)) as db:
        tables = {name for (name,) in db.execute("select name from sqlite_master")}
    assert "notes" not in tables


async def test_the_page_of_a_run_is_written_with_its_texts_and_notes(path: Path) -> None:
    with closing(Store.open(path, inline=True)) as store:
        journal = store.take("2026-c")
        message = message_blob(Message("user", "What <b>rhymes</b>?"))
        intent = CallIntended(
            "main/c1", 0, "2026-c", "model", "d", Amount(1, 1, 1), "m", "r", (message[0],)
        )
        await journal.commit([intent], [message])
        journal.emit(Scored("main", "v", 0.5, False))
        await journal.close()
    podium(path, "note", "2026-c", "a <i>remark</i>")
    out = path.with_name("page.html")
    result = podium(path, "show", "2026-c", "--html", str(out))
    assert result.exit_code == 0, result.output
    page = out.read_text("utf-8")
    for part in (
        "What &lt;b&gt;rhymes&lt;/b&gt;?",
        "a &lt;i&gt;remark&lt;/i&gt;",
        "Planned and spent",
        "in flight",
    ):
        assert part in page


async def test_a_page_is_of_a_whole_run_and_needs_a_folder_that_is_there(path: Path) -> None:
    assert "the page of a whole run" in podium(path, "show", "--html", "x.html").stderr
    result = podium(path, "show", "2026-a", "--html", str(path / "no" / "page.html"))
    assert result.exit_code == 2
    assert "cannot write" in result.stderr
