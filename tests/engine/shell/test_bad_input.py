"""Everything that a user, a server or a disk can do to a run: a clear message, the right code, in seconds.

The servers are real ones on loopback; the keys are looked for in every byte that is left behind.
"""

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncGenerator, Generator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import orjson
import pytest
from click.testing import CliRunner, Result

from podium.engine.clients.http import HttpClient
from podium.engine.clients.wire import Wire
from podium.engine.run import Engine
from podium.engine.shell.cli import main
from podium.engine.shell.doors import Doors
from podium.engine.shell.exits import Exit
from podium.engine.testing.server import (
    Answer,
    FakeServer,
    Script,
    Seen,
    always,
    in_thread,
    json_answer,
)

PROGRAM = '''
model small {{ endpoint = openai("{name}", base_url = "{url}"{key}) }}
role writer {{ prompt = """{{{{ task.statement }}}}"""  max_output = 20 tokens }}
task hello {{ statement = "Say something."  verify = contains("reply") }}
run main {{
  task   = hello
  flow   = parallel(3) of team(2, members = [2 of writer], rounds = 1) -> best
  budget = [100k tokens, 60 calls]
}}
run one {{ task = hello, flow = writer, budget = [100k tokens] }}
'''
WITHIN_S = 5.0
pytestmark = pytest.mark.slow
PODIUM = "from podium.engine.shell.cli import main; main()"
ENVIRON = {"PATH": os.environ["PATH"]}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(url: str, *, name: str = "", key: str = "") -> None:
    """hello.team, on the server at url. key: the variable with the key."""
    given = f', key = env("{key}")' if key else ""
    Path("hello.team").write_text(PROGRAM.format(url=url, name=name, key=given))


@contextmanager
def serving(script: Script, **more: Any) -> Generator[FakeServer]:
    with in_thread(FakeServer(script, **more)) as server:
        write(server.url)
        yield server


@asynccontextmanager
async def impatient(store: str) -> AsyncGenerator[Engine]:
    """An engine that waits less long for a server's first words."""
    async with (
        HttpClient({}, wire=Wire(probe_s=0.2)) as client,
        Engine(store, client=client, environ={}) as engine,
    ):
        yield engine


def podium(*words: str, environ: Mapping[str, str] | None = None, patience: bool = True) -> Result:
    """The command, within WITHIN_S, without a traceback or a word of ours."""
    doors = Doors(None if patience else impatient, environ or {})
    began = time.monotonic()
    result = CliRunner().invoke(main, list(words), obj=doors)
    assert time.monotonic() - began < WITHIN_S
    assert "Traceback" not in result.stderr
    assert result.exit_code != Exit.BUG, result.stderr
    return result


# --- the program ---------------------------------------------------------------------------------

N = 4_000
DEEP = {
    "brackets": "run main { flow = " + "(" * N + "agent" + ")" * N + " }",
    "lists": "task t { files = " + "[" * N + "]" * N + " }",
    "blocks": "run main " + "{ a = " * N + "}" * N,
    "unclosed": "(" * N,
    "copies": "run main { flow = " + "parallel(2) of " * N + "agent }",
    "steps": "run main { flow = " + "agent -> " * N + "agent }",
    "conditions": "run main { flow = agent -> repeat(2, until = "
    + "not " * N
    + "passed) of agent }",
    "sums": "param n: int = " + "1 + " * N + "1",
    "signs": "param n: int = " + "- " * N + "1",
    "calls": "param n: int = " + "f(" * N + "1" + ")" * N,
    "fields": 'role r { prompt = """{{ task' + ".x" * N + ' }}""" }',
    "slots": 'role r { prompt = """' + "{{ if a }}" * N + "{{ end }}" * N + '""" }',
    "names": "".join(f"flow f{i} = f{i + 1}\n" for i in range(999)) + "run main { flow = f0 }",
    "itself": "flow a = b\nflow b = a\nrun main { flow = a }",
}


@pytest.mark.parametrize("name", DEEP)
def test_a_program_as_deep_as_one_likes_is_one_short_report(folder: Path, name: str) -> None:
    (folder / "deep.team").write_text(DEEP[name])
    for words in (["check"], ["run"]):
        result = podium(*words, "deep.team")
        assert result.exit_code == Exit.USAGE
        assert "deep.team:" in result.stderr
        assert len(result.stderr) < 3_000


@pytest.mark.parametrize("command", ["check", "run", "fmt", "graph"])
def test_a_text_of_10_mb_is_refused_before_it_is_read(folder: Path, command: str) -> None:
    (folder / "long.team").write_bytes(b"# \xff\n" * 2_500_000)
    result = podium(command, "long.team")
    assert result.exit_code == Exit.USAGE
    assert "at most 1 MB" in result.stderr


@pytest.mark.parametrize("raw", [b"\xff\xfe", b"## ok\nrun\x80", "run".encode("utf-16")])
def test_a_text_that_is_not_utf_8_says_where(folder: Path, raw: bytes) -> None:
    (folder / "odd.team").write_bytes(raw)
    result = podium("run", "odd.team")
    assert result.exit_code == Exit.USAGE
    assert "odd.team is not UTF-8 text: byte 0x" in result.stderr
    assert "save the file as UTF-8" in result.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["gone.team"], 'there is no file "gone.team"'),
        (["."], "is a folder"),
        (["hello.team", "nobody"], "nobody"),
        (["hello.team", "-e", "agent", "--task", "helo"], "hello"),
        (["hello.team", "one", "--model", "smal=http://127.0.0.1:1"], "small"),
        (["hello.team", "one", "--max-tokens", "30"], "too small for one call"),
        (["hello.team", "one", "--max-tokens", "0"], "0"),
        (["hello.team", "one", "--store", "hello.team"], "hello.team"),
        (["hello.team", "one", "--store", "/proc/none/runs.db"], "/proc/none"),
        (["hello.team", "one", "--out", "hello.team"], "cannot make hello.team"),
    ],
)
def test_a_name_that_is_not_there_is_exit_2_and_nothing_is_sent(
    words: list[str], said: str
) -> None:
    with serving(always(Answer(text="reply"))) as server:
        result = podium("run", *words)
        assert result.exit_code == Exit.USAGE, result.stderr
        assert said in result.stderr
        assert server.started == 0


def test_an_empty_file_says_that_it_has_no_run(folder: Path) -> None:
    for text in ("", "\n\n", "## only a remark\n", "\ufeff"):
        (folder / "empty.team").write_text(text)
        result = podium("run", "empty.team")
        assert (result.exit_code, "no run" in result.stderr) == (Exit.USAGE, True)


# --- servers -------------------------------------------------------------------------------------


def failed(said: str, **more: Any) -> None:
    """`podium run` ends with exit code 4, with a message, and with a run that nothing was sent for."""
    result = podium("run", "hello.team", **more)
    assert result.exit_code == Exit.FAILED, result.stderr
    assert said in result.stderr


def test_a_server_that_is_down_is_named(folder: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        write(f"http://127.0.0.1:{port}")
        failed(f"127.0.0.1:{port} cannot be reached")


@pytest.mark.parametrize("status", [200, 404, 502])
def test_a_server_that_answers_html_is_named(status: int) -> None:
    page = Answer(body=b"<html><b>\x1b[2JHi</b></html>", content_type="text/html", status=status)
    routes = {"/v1/models": page, "/models": page}
    with serving(always(page), routes=routes) as server:
        failed(server.url.removeprefix("http://"))
        assert server.started == 0


def test_html_in_place_of_an_answer_is_named() -> None:
    page = Answer(body=b"<html>Hi</html>", content_type="text/html", status=403)
    with serving(always(page)) as server:
        failed(server.url.removeprefix("http://"))


def test_a_server_that_never_answers_is_named() -> None:
    silent = Answer(delay_s=60)
    with serving(always(silent), routes={"/v1/models": silent, "/models": silent}):
        failed("fell silent", patience=False)


def test_a_server_that_speaks_no_http_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def greet() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")

        thread = threading.Thread(target=greet, daemon=True)
        thread.start()
        write(f"http://127.0.0.1:{listener.getsockname()[1]}")
        failed("does not speak HTTP")
        thread.join(5)


@pytest.mark.parametrize(
    "delay", [{"delay_s": 60.0}, {"stall": True, "finish": None, "done": False}]
)
def test_a_server_that_stalls_ends_at_the_deadline_with_nothing_held(delay: dict[str, Any]) -> None:
    answer = Answer(text="rep", usage=None, **delay)
    with serving(always(answer)):
        result = podium("run", "hello.team", "one", "--max-time", "0.3s", "--json")
    assert result.exit_code == Exit.EXHAUSTED, result.stderr
    shown = orjson.loads(result.stdout)
    assert (shown["held"], shown["spent"]["unknown_calls"]) == (0, 1)


def test_a_name_that_is_not_a_model_lists_those_near_it() -> None:
    models = [{"id": "qwen-small"}, {"id": "qwen-large"}]
    with serving(always(Answer()), models=models) as server:
        failed("serves several models; choose one: qwen-small, qwen-large (its name goes into the")
        write(server.url, name="qwen-smal")
        failed("serves no model 'qwen-smal'; did you mean qwen-small")
        write(server.url, name="zebra")
        failed("serves no model 'zebra'; it serves qwen-small, qwen-large")
        assert server.started == 0


# --- keys ----------------------------------------------------------------------------------------

KEY, OTHER, VENDOR = (
    "sk-one-0123456789abcdef",
    "sk-two-fedcba9876543210",
    "sk-vendor-00112233445566",
)
KEYS = {"ONE_KEY": KEY, "TWO_KEY": OTHER, "OPENAI_API_KEY": VENDOR}
ALLOWED = ("--allow", "env:ONE_KEY", "--allow", "env:TWO_KEY")
LEFT = ("-v", "--events", "e.jsonl", "--out", "out", "--json")


def leaks(folder: Path, result: Result) -> list[str]:
    """Where a key is to be read after result: files of folder, and what was printed."""
    texts = {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    texts |= {"stdout": result.stdout_bytes, "stderr": result.stderr_bytes}
    keys = [value.encode() for value in KEYS.values()]
    return [name for name, text in texts.items() if any(key in text for key in keys)]


@pytest.mark.parametrize("allowed", [True, False])
def test_a_missing_key_is_named_and_nothing_is_sent(allowed: bool) -> None:
    with serving(always(Answer())) as server:
        write(server.url, key="ONE_KEY")
        result = podium("run", "hello.team", *(ALLOWED if allowed else ()))
        assert result.exit_code == (Exit.FAILED if allowed else Exit.USAGE)
        assert "ONE_KEY" in result.stderr
        assert server.seen == []


def authorizations(server: FakeServer) -> set[str | None]:
    return {seen.headers.get("authorization") for seen in server.seen}


def test_each_server_gets_the_key_that_was_given_for_it_and_no_other(folder: Path) -> None:
    script = always(Answer(text="reply"))
    with (
        in_thread(FakeServer(script)) as first,
        in_thread(FakeServer(script)) as second,
        in_thread(FakeServer(script)) as third,
    ):
        text = f'''
model a {{ endpoint = openai("", base_url = "{first.url}", key = env("ONE_KEY")) }}
model b {{ endpoint = openai("", base_url = "{second.url}", key = env("TWO_KEY")) }}
model c {{ endpoint = openai("", base_url = "{third.url}") }}
role x {{ prompt = """{{{{ task.statement }}}}""", model = a, max_output = 9 tokens }}
role y {{ prompt = """{{{{ task.statement }}}}""", model = b, max_output = 9 tokens }}
role z {{ prompt = """{{{{ task.statement }}}}""", model = c, max_output = 9 tokens }}
task hello {{ statement = "Say something.", verify = contains("reply") }}
run main {{ task = hello, flow = parallel of [x, y, z] -> best, budget = [9k tokens] }}
'''
        (folder / "keys.team").write_text(text)
        result = podium("run", "keys.team", *ALLOWED, *LEFT, environ=KEYS)
    assert result.exit_code == 0, result.stderr
    assert (first.started, second.started, third.started) == (1, 1, 1)
    assert authorizations(first) == {f"Bearer {KEY}"}
    assert authorizations(second) == {f"Bearer {OTHER}"}
    assert authorizations(third) == {None}
    assert leaks(folder, result) == []


@pytest.mark.parametrize("status", [400, 401, 429, 500])
def test_a_key_that_a_server_repeats_is_shown_nowhere(folder: Path, status: int) -> None:
    def script(seen: Seen) -> Answer:
        said = f"Incorrect key {KEY}; got {seen.headers['authorization']} not {VENDOR}"
        return json_answer({"error": {"message": said, "code": said}}, status=status)

    with serving(script) as server:
        write(server.url, key="ONE_KEY")
        words = ("run", "hello.team", "one", "--max-time", "0.3s", *ALLOWED, *LEFT)
        result = podium(*words, environ={"ONE_KEY": KEY})
    assert result.exit_code in (Exit.FAILED, Exit.EXHAUSTED), result.stderr
    assert leaks(folder, result) == []


def test_a_key_that_a_server_repeats_inside_an_answer_is_shown_nowhere(folder: Path) -> None:
    broken = Answer(text="", error={"message": f"Incorrect key {KEY}", "code": KEY})
    with serving(always(broken)) as server:
        write(server.url, key="ONE_KEY")
        words = ("run", "hello.team", "one", "--max-time", "0.3s", *ALLOWED, *LEFT)
        result = podium(*words, environ={"ONE_KEY": KEY})
    assert result.exit_code in (Exit.FAILED, Exit.EXHAUSTED), result.stderr
    assert leaks(folder, result) == []


def test_a_key_in_the_first_words_of_a_server_is_shown_nowhere(folder: Path) -> None:
    page = Answer(body=f"<p>no {KEY}</p>".encode(), content_type="text/html")
    with serving(always(page), routes={"/v1/models": page, "/models": page}) as server:
        write(server.url, key="ONE_KEY")
        result = podium("run", "hello.team", *ALLOWED, *LEFT, environ={"ONE_KEY": KEY})
    assert result.exit_code == Exit.FAILED
    assert leaks(folder, result) == []


def test_secrets_given_to_the_engine_are_not_kept(folder: Path) -> None:
    with serving(always(Answer(text="reply"))) as server:
        write(server.url, key="ONE_KEY")
        text = Path("hello.team").read_text()

        async def work() -> None:
            async with Engine("runs.db", environ={}, allow=["env:ONE_KEY"]) as engine:
                run = await engine.start(text, run="one", secrets={"ONE_KEY": KEY})
                await run.result()

        anyio.run(work)
        assert authorizations(server) == {f"Bearer {KEY}"}
    assert leaks(folder, podium("show", "--store", "runs.db")) == []


def test_a_server_named_on_the_command_line_gets_no_key_of_the_file(folder: Path) -> None:
    with serving(always(Answer(text="reply"))) as first, in_thread(FakeServer()) as second:
        write(first.url, key="ONE_KEY")
        words = ("run", "hello.team", "one", "--model", f"small={second.url}", *ALLOWED, *LEFT)
        result = podium(*words, environ=KEYS)
    assert result.exit_code == Exit.NOT_PASSED, result.stderr
    assert (first.seen, authorizations(second)) == ([], {None})
    assert leaks(folder, result) == []


@pytest.mark.parametrize("where", ["/v1/models", "/v1/chat/completions"])
def test_a_redirect_gets_no_key(folder: Path, where: str) -> None:
    with in_thread(FakeServer()) as thief:
        away = Answer(status=307, headers={"Location": f"{thief.url}{where}"}, body=b"")
        moved = {where: away} if where == "/v1/models" else {}
        with serving(always(away), routes=moved) as server:
            write(server.url, key="ONE_KEY")
            result = podium(
                "run", "hello.team", "one", "--max-time", "0.3s", *ALLOWED, environ=KEYS
            )
            assert result.exit_code in (Exit.FAILED, Exit.EXHAUSTED)
            assert "redirect" in result.stderr
        assert thief.seen == []
    assert leaks(folder, result) == []


def test_an_address_with_a_password_is_refused_and_not_shown(folder: Path) -> None:
    write(f"http://user:{KEY}@127.0.0.1:9/v1")
    result = podium("run", "hello.team", environ=KEYS)
    assert result.exit_code in (Exit.USAGE, Exit.FAILED)
    (folder / "hello.team").unlink()
    assert leaks(folder, result) == []


# --- the store -----------------------------------------------------------------------------------


@pytest.fixture
def stuck() -> Iterator[tuple[FakeServer, threading.Event]]:
    """A server that never answers, and whether a call has come."""
    came = threading.Event()

    def script(seen: Seen) -> Answer:
        came.set()
        return Answer(delay_s=60)

    with serving(script) as server:
        yield server, came


def test_a_run_of_another_process_is_exit_2_and_names_it(
    folder: Path, stuck: tuple[FakeServer, threading.Event]
) -> None:
    words = [sys.executable, "-c", PODIUM, "run", "hello.team", "one", "--quiet"]
    with subprocess.Popen(words, env=ENVIRON) as process:
        try:
            assert stuck[1].wait(20)
            (run,) = [
                line.split()[0] for line in podium("show").stdout.splitlines() if "one" in line
            ]
            sent = stuck[0].started
            named, latest = podium("resume", run), podium("resume")
            assert stuck[0].started == sent
        finally:
            process.kill()
    for result in (named, latest):
        assert result.exit_code == Exit.USAGE, result.stderr
        assert f"run {run} is being run by process {process.pid}" in result.stderr
        assert socket.gethostname() in result.stderr
        assert "died" not in result.stderr


def test_a_log_that_cannot_be_written_is_said_once_and_ends_no_run() -> None:
    with serving(always(Answer(text="reply"))):
        result = podium("run", "hello.team", "--events", "/dev/full")
    assert (result.exit_code, result.stdout) == (0, "reply\n")
    assert result.stderr.count("no more events go to /dev/full: No space left") == 1


# Python would cut its own caches of modules short there, for all who import them later.
FULL = """
import resource, sys
sys.dont_write_bytecode = True
resource.setrlimit(resource.RLIMIT_FSIZE, ({bytes}, {bytes}))
from podium.engine.shell.cli import main
main()
"""


@pytest.mark.parametrize("size", [20_000, 80_000])
def test_a_disk_that_is_full_pauses_the_run_which_is_finished_when_there_is_space(
    folder: Path, size: int
) -> None:
    with serving(always(Answer(text="reply"))) as server:
        words = [sys.executable, "-c", FULL.format(bytes=size), "run", "hello.team", "--json"]
        first = subprocess.run(
            words, env=ENVIRON, capture_output=True, text=True, timeout=60, check=False
        )
        sent = server.started
        if first.returncode == Exit.FAILED:  # no room for the store itself
            assert (sent, "store" in first.stderr) == (0, True), first.stderr
            return
        assert first.returncode == Exit.EXHAUSTED, first.stderr
        shown = orjson.loads(first.stdout)
        assert (shown["outcome"], shown["reason"].partition(": ")[0]) == ("paused", "disk")
        assert (shown["resumable"], shown["held"]) == (True, 0)
        assert f"podium resume {shown['run']}" in first.stderr
        assert sent <= 9
        second = podium("resume", shown["run"], "--json")
    assert second.exit_code == 0, second.stderr
    done = orjson.loads(second.stdout)
    assert (done["outcome"], done["answer"], done["held"]) == ("passed", "reply", 0)
    assert done["spent"]["calls"] == server.started
