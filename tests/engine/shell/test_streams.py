"""Standard output and standard error that take nothing: what is said, and the exit code."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from podium.engine.shell.exits import Exit
from podium.engine.testing.server import Answer, FakeServer, always, in_thread

PODIUM = [sys.executable, "-c", "from podium.engine.shell.cli import main; main()"]
PROGRAM = '''
model small {{ endpoint = openai("", base_url = "{url}") }}
role writer {{ prompt = """{{{{ task.statement }}}}"""  max_output = 20 tokens }}
task hello {{ statement = "Say something."  verify = contains("reply") }}
run main {{ task = hello, flow = writer, budget = [100k tokens] }}
'''
pytestmark = pytest.mark.skipif(
    not Path("/dev/full").exists(), reason="the system has no /dev/full"
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    with in_thread(FakeServer(always(Answer(text="reply")))) as server:
        (tmp_path / "hello.team").write_text(PROGRAM.format(url=server.url))
        yield


@contextmanager
def full() -> Generator[int]:
    """A disk that is full."""
    fd = os.open("/dev/full", os.O_WRONLY)
    yield fd
    os.close(fd)


@contextmanager
def closed() -> Generator[int]:
    """A pipe that nobody reads any more."""
    reading, writing = os.pipe()
    os.close(reading)
    yield writing
    os.close(writing)


def podium(*words: str, out: int = subprocess.PIPE, err: int = subprocess.PIPE) -> tuple[int, str]:
    """The command's exit code, and what it could say."""
    done = subprocess.run(
        [*PODIUM, *words], stdout=out, stderr=err, text=True, timeout=60, check=False
    )
    said = (done.stdout or "") + (done.stderr or "")
    assert "Traceback" not in said
    assert "Exception ignored" not in said
    return done.returncode, said


@pytest.mark.parametrize("words", [["explain", "E121"], ["--help"]])
def test_a_full_disk_behind_standard_output_is_told_and_is_no_mistake_of_ours(
    words: list[str],
) -> None:
    with full() as out:
        code, said = podium(*words, out=out)
    assert code == Exit.FAILED
    assert said == "podium: the output cannot be written: no space left on device\n"


def test_a_reader_that_has_seen_enough_is_told_nothing() -> None:
    with closed() as out:
        assert podium("explain", "E121", out=out) == (Exit.FAILED, "")


@pytest.mark.long
@pytest.mark.parametrize(("lost", "options"), [(full, []), (closed, ["--quiet", "--json"])])
def test_a_run_whose_answer_cannot_be_written_says_where_it_is(
    lost: Callable[[], AbstractContextManager[int]], options: list[str]
) -> None:
    with lost() as out:
        code, said = podium("run", "hello.team", *options, out=out)
    assert code == Exit.FAILED, said
    assert "the answer could not be written to standard output: " in said
    run = said.rpartition("show ")[2].partition("`")[0]
    shown = json.loads(podium("show", run, "--json")[1])
    assert (shown["answer"], shown["outcome"]) == ("reply", "passed")


@pytest.mark.slow
@pytest.mark.parametrize("lost", [full, closed])
def test_a_run_that_cannot_talk_gives_its_answer_and_its_code(
    lost: Callable[[], AbstractContextManager[int]],
) -> None:
    with lost() as err:
        assert podium("run", "hello.team", err=err) == (Exit.PASSED, "reply\n")


def test_a_command_that_cannot_talk_is_no_mistake_of_ours() -> None:
    with full() as err:
        assert podium("check", "hello.team", err=err) == (Exit.FAILED, "")
