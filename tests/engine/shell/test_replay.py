"""`podium run --replay`: a recorded run again, without a server."""

import json
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from podium.engine.pack import DICTIONARY
from podium.engine.pieces import read_number
from podium.engine.shell.cli import main
from podium.engine.shell.doors import Doors
from podium.engine.testing.server import Answer, FakeServer, Seen, in_thread

STORE = ".podium/runs.db"
PROGRAM = '''
model small {{ endpoint = openai("", base_url = "{url}") }}
role writer {{ prompt = """{{{{ task.statement }}}}"""  max_output = 20 tokens }}
task hello {{ statement = "Say something."  verify = contains("7") }}
run main {{
  task   = hello
  flow   = parallel(8, stop = first_pass) of team(2, members = [2 of writer], rounds = 1)
  budget = [100k tokens, 60 calls]
}}
'''


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeServer]:
    monkeypatch.chdir(tmp_path)

    def script(seen: Seen) -> Answer:
        return Answer(text=f"answer {len(server.calls)}", delay_s=0.01)

    with in_thread(FakeServer(script)) as server:
        Path("hello.team").write_text(PROGRAM.format(url=server.url))
        yield server


def podium(*words: str) -> Result:
    return CliRunner().invoke(main, list(words), obj=Doors(environ={}))


@pytest.mark.parametrize("seed", ["0", "1", "2"])
def test_a_race_replays_to_the_same_transcript_whatever_the_latencies(
    server: FakeServer, seed: str
) -> None:
    ran = podium("run", "hello.team", "--json")
    run = json.loads(ran.stdout)["run"]
    asked = len(server.calls)
    shown = json.loads(podium("run", "--replay", STORE, run, "--seed", seed, "--json").stdout)
    assert (shown["same"], shown["difference"], shown["run"]) == (True, "", run)
    assert shown["transcript"] == shown["replayed"]
    assert len(server.calls) == asked


def tampered(body: bytes) -> bytes:
    """A record of the store with another answer in it."""
    size, begin = read_number(body, 1)
    text = zlib.decompressobj(-13, DICTIONARY).decompress(body[begin + size :])
    packing = zlib.compressobj(6, zlib.DEFLATED, -13, 5, zlib.Z_DEFAULT_STRATEGY, DICTIONARY)
    changed = packing.compress(text.replace(b"answer 1", b"answer 0"))
    return body[: begin + size] + changed + packing.flush()


def test_a_record_that_was_tampered_with_does_not_replay_to_the_same(server: FakeServer) -> None:
    podium("run", "hello.team")
    with closing(sqlite3.connect(STORE, isolation_level=None)) as db:
        db.create_function("tampered", 1, tampered)
        db.execute("update records set body = tampered(body)")
    result = podium("run", "--replay", STORE)
    assert result.exit_code == 1
    assert "another transcript" in result.stdout


def test_what_cannot_be_replayed_says_why(server: FakeServer) -> None:
    assert "there is no store" in podium("run", "--replay", STORE).stderr
    podium("run", "hello.team")
    assert "there is no run x" in podium("run", "--replay", STORE, "x").stderr
