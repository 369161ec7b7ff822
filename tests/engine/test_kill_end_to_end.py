"""A run over HTTP killed with SIGKILL and resumed: what each life sent is counted at the server."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import pytest

from podium.engine.event import CallAnswered
from podium.engine.store import Store
from podium.engine.testing.server import Answer, FakeServer, Seen, echo, in_thread

DRIVER = Path(__file__).parents[1] / "fixtures" / "killed_over_http.py"
PLAIN = {"PATH": os.environ["PATH"]}
CALLS = 6  # of the undisturbed run: two members and one answer in each of two teams
SAMPLE = ("made:0", "written:11", "made:24", "written:31")


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with in_thread(FakeServer(echo("reply {hash}", 0.0))) as server:
        yield server


def request_id(run: str, address: str, try_: int) -> str:
    return str(uuid5(NAMESPACE_URL, f"{run}/{address}/{try_}"))


def lives(server: FakeServer, folder: Path, points: Sequence[str]) -> list[dict[str, Any]]:
    """The driver's lines: of the undisturbed run, then of one killed at each point (none: at all)."""
    words = [sys.executable, str(DRIVER), server.url, str(folder), *points]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return [json.loads(line) for line in done.stdout.splitlines()]


def check(server: FakeServer, shown: Sequence[dict[str, Any]]) -> None:
    """Every promise about every killed run, at the server."""
    requests = Counter(seen.headers["x-request-id"] for seen in server.calls)
    whole = shown[0]["after"]
    assert (shown[0]["died"], whole["outcome"], len(whole["intended"])) == (0, "passed", CALLS)
    accounted: set[str] = set()
    for line in shown[1:]:
        before, after, point = line["before"], line["after"], line["point"]
        assert (line["died"], line["resumed"]) == (-signal.SIGKILL, 0), point
        assert (after["outcome"], after["answer"]) == ("passed", whole["answer"]), point
        assert after["open"] == [], point
        run = after["run"]
        sent = Counter({(a, t): requests[request_id(run, a, t)] for a, t in after["intended"]})
        assert max(sent.values()) == 1, point
        for address, try_ in before["answered"]:
            again = [one for one in sent if one[0] == address and one[1] != try_ and sent[one]]
            assert (sent[address, try_], again) == (1, []), point
        assert CALLS <= sum(sent.values()) <= CALLS + len(before["open"]), point
        accounted |= {request_id(run, a, t) for a, t in after["intended"]}
    accounted |= {request_id(whole["run"], a, t) for a, t in whole["intended"]}
    # Nothing was sent whose intent was not on disk before.
    assert set(requests) <= accounted


@pytest.mark.slow
def test_a_run_killed_at_a_record_is_finished_and_sends_no_answered_call_again(
    tmp_path: Path, server: FakeServer
) -> None:
    shown = lives(server, tmp_path, SAMPLE)
    assert [line["point"] for line in shown[1:]] == list(SAMPLE)
    check(server, shown)


@pytest.mark.server
def test_a_run_killed_at_every_record_is_finished_and_sends_no_answered_call_again(
    tmp_path: Path, server: FakeServer
) -> None:
    shown = lives(server, tmp_path, ())
    assert len(shown) == 1 + 2 * shown[0]["after"]["events"] > 80
    check(server, shown)
    at_a_call = [line for line in shown if line["before"]["open"]]
    assert at_a_call, "some kills find calls in flight"


# --- the command line ----------------------------------------------------------------------------

PODIUM = (sys.executable, "-c", "from podium.engine.shell.cli import main; main()")
PROGRAM = '''
model small {{ endpoint = openai("", base_url = "{url}") }}
role writer {{ prompt = """{{{{ task.statement }}}}"""  max_output = 20 tokens }}
task hello {{ statement = "Say something."  verify = contains(["reply"]) }}
run main {{
  task   = hello
  flow   = parallel(2) of team(2, members = [2 of writer], rounds = 1) -> best
  budget = [100k tokens, 60 calls]
}}
'''


def answers_kept(store: Path) -> list[tuple[str, str, int]]:
    with closing(Store.open(store)) as opened:
        (run,) = opened.runs()
        events = [stamped.event for stamped in opened.events(run.id)]
    return [(run.id, e.address, e.try_) for e in events if isinstance(e, CallAnswered)]


@pytest.mark.long
def test_podium_run_that_was_killed_is_finished_by_podium_resume(tmp_path: Path) -> None:
    # Three members are answered, so one team asks for its answer; the server sits on that and on the
    # fourth member.
    sits, stuck = True, threading.Event()

    def script(seen: Seen) -> Answer:
        if len(server.calls) == 5:
            stuck.set()
        return Answer(text="reply", delay_s=60.0 if sits and len(server.calls) > 3 else 0.0)

    with in_thread(FakeServer(script)) as server:
        (tmp_path / "hello.team").write_text(PROGRAM.format(url=server.url))
        words = [*PODIUM, "run", "hello.team", "--quiet"]
        with subprocess.Popen(words, cwd=tmp_path, env=PLAIN) as first:
            assert stuck.wait(20)
            first.kill()
        assert first.returncode == -signal.SIGKILL
        kept = {request_id(*one) for one in answers_kept(tmp_path / ".podium" / "runs.db")}
        before, sits = [seen.headers["x-request-id"] for seen in server.calls], False
        words = [*PODIUM, "resume", "--json"]
        done = subprocess.run(
            words, cwd=tmp_path, env=PLAIN, capture_output=True, text=True, timeout=60, check=False
        )
        again = [seen.headers["x-request-id"] for seen in server.calls][len(before) :]
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    assert (shown["outcome"], shown["answer"], shown["held"]) == ("passed", "reply", 0)
    assert kept <= set(before)
    assert len(kept) >= 2
    assert not kept & set(again)
    assert len(again) == CALLS - len(kept)
    lost = len(before) - len(kept)
    assert f"{lost} calls were in flight" in done.stderr
    assert shown["spent"]["calls"] == len(before) + len(again)
    assert shown["spent"]["unknown_calls"] == lost
