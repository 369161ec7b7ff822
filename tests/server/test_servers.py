"""Setting up and ending real servers, with stand-ins: what is skipped, what is an error; nothing is left."""

import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from .real import servers
from .real.servers import Broken, Served, Unavailable, process, refused, running

# It answers, has a child, and both hold the lock while they live.
SERVER = """
import fcntl, http.server, os, signal, sys
held = open(sys.argv[2])
fcntl.flock(held, fcntl.LOCK_EX)
if os.fork() == 0:
    signal.pause()
class Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Answers).serve_forever()
"""
TESTS = """
import sys, time
sys.path.insert(0, sys.argv[1])
from real import servers
port = str(servers.free_port())
command = [sys.executable, "-c", sys.argv[2], port, sys.argv[3]]
with servers.process(command, {}, f"http://127.0.0.1:{port}"):
    print("ready", flush=True)
    time.sleep(60)  # it is ended meanwhile
"""
ALL_ENDED = "import fcntl, sys; fcntl.flock(open(sys.argv[1]), fcntl.LOCK_EX)"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_server_ends_with_its_children_when_the_tests_are_killed(
    tmp_path: Path, number: signal.Signals
) -> None:
    lock = tmp_path / "lock"
    lock.touch()
    command = [sys.executable, "-c", TESTS, str(Path(__file__).parent), SERVER, str(lock)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as tests:
        assert tests.stdout is not None
        assert tests.stdout.readline() == b"ready\n"
        tests.send_signal(number)
    subprocess.run([sys.executable, "-c", ALL_ENDED, str(lock)], timeout=20, check=True)


def test_a_server_that_does_not_start_is_an_error_with_its_last_words() -> None:
    command = [sys.executable, "-c", "import sys; sys.exit('no such option')"]
    with pytest.raises(Broken, match="no such option"), process(command, {}, "http://127.0.0.1:9"):
        pass


def test_only_one_server_may_be_left_out_because_its_set_up_does_not_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @contextmanager
    def broken() -> Generator[Served]:
        raise Broken("it did not start")
        yield

    monkeypatch.setattr(servers, "STARTS", dict.fromkeys(servers.STARTS, broken))
    for name in ("llama.cpp", "vllm"):
        with pytest.raises(Broken), running(name):
            pass
    with pytest.raises(Unavailable, match="it did not start"), running("sglang"):
        pass


NO_WHEEL = """\
ERROR: Could not find a version that satisfies the requirement six==99.0 (from versions: 1.16.0, 1.17.0)
ERROR: No matching distribution found for six==99.0
"""
NOT_REACHED = """\
WARNING: Retrying (Retry(total=0, connect=None, read=None, redirect=None, status=None)) after connection \
broken by 'NewConnectionError('<object>: Failed to establish a new connection: [Errno 111] Connection refused')'
ERROR: Could not find a version that satisfies the requirement six==1.17.0 (from versions: none)
ERROR: No matching distribution found for six==1.17.0
"""
FULL = "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device"
WRONG_WHEEL = "ERROR: Wheel 'six' located at /tmp/six-1.17.0-py2.py3-none-any.whl is invalid."


@pytest.mark.parametrize(
    ("said", "kind", "why"),
    [
        (NO_WHEEL, Unavailable, "the package index has no wheel of six==99.0 for this machine"),
        (NOT_REACHED, Unavailable, "the package index cannot be reached"),
        (FULL, Unavailable, "the disk is full"),
        (WRONG_WHEEL, Broken, f"it could not be installed: {WRONG_WHEEL}"),
        (NOT_REACHED.splitlines()[0] + f"\n{WRONG_WHEEL}", Broken, "it could not be installed"),
        ("", Broken, "it could not be installed: it said nothing"),
    ],
)
def test_what_pip_said_tells_what_cannot_be_had_from_what_is_broken(
    said: str, kind: type[Exception], why: str
) -> None:
    found = refused(said)
    assert type(found) is kind
    assert why in str(found)
