"""Real inference servers on this machine's CPU, for tests: set up once, started, ended with all their processes.

Each has an environment of its own under `~/.cache/podium/servers`, named after the hash of its pins, so that it
is installed once; the weights are those of the embedded model, for all of them.

A test is skipped, with a sentence, only for what is no fault of ours: another Python, an index that cannot be
reached or has not that wheel, too little disk or memory, and whatever keeps SGLang, which is built for GPUs, from
being set up. All else that keeps a server from being there is an error of the run.
"""

import fcntl
import hashlib
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio

from podium.engine.call import CallError
from podium.engine.clients import local

from .guard import LEFT

HERE = Path(__file__).parent
MODEL = "smollm2-135m"
READY_S, STOP_S = 240.0, 30.0
INSTALL_S = 1200.0
DISK_GB, MEMORY_GB = 8, 6


class Unavailable(Exception):
    """There can be no such server here, and the message says why; it is no fault of the project."""


class Broken(Exception):
    """There is no such server here, though there should be one."""


@dataclass(frozen=True, slots=True)
class Served:
    """A server that answers. key: "" for none."""

    name: str
    url: str
    key: str = ""

    @property
    def environ(self) -> dict[str, str]:
        """What gives a client of ours the key."""
        return {"OPENAI_BASE_URL": self.url, "OPENAI_API_KEY": self.key} if self.key else {}


@contextmanager
def running(name: str) -> Generator[Served]:
    """The server of this name: llama.cpp, vllm or sglang. Raises Unavailable and Broken."""
    with ExitStack() as stack:
        try:
            served = stack.enter_context(STARTS[name]())
        except Broken as problem:
            if name == "sglang":
                raise Unavailable(f"its set-up does not work here: {problem}") from problem
            raise
        yield served


# --- what they need ------------------------------------------------------------------------------


def _cache(kind: str) -> Path:
    return local.cache_folder(os.environ).parent / kind


def _gguf() -> Path:
    try:
        return anyio.run(local.fetch, local.cache_folder(os.environ), _quiet)
    except CallError as problem:
        told = refused(problem.message)
        if isinstance(
            told, Unavailable
        ):  # it quotes pip's last line alone, which is the same for both
            told = Unavailable(
                f"the package index cannot be reached or lacks it: {problem.message}"
            )
        raise told from problem


def _quiet(_: str) -> None:
    pass


@contextmanager
def _alone(folder: Path) -> Generator[None]:
    """One process at a time makes what folder is to hold."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def environment(name: str) -> Path:
    """The Python of the server's environment, made if it is not there."""
    pins = HERE / f"{name}-cpu.txt"
    folder = _cache("servers") / f"{name}-{_hash(pins)}"
    python, made = folder / "bin" / "python", folder / "made"
    with _alone(folder):
        if not made.exists():
            _install(folder, pins)
            if name == "sglang":
                _stand_in(python)
            made.touch()
    return python


def _hash(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()[:12]


def _install(folder: Path, pins: Path) -> None:
    if sys.platform != "linux" or sys.version_info[:2] != (3, 11):
        raise Unavailable("its wheels are for Python 3.11 on Linux")
    if shutil.disk_usage(folder.parent).free < DISK_GB * 10**9:
        raise Unavailable(f"{folder.parent} has less than {DISK_GB} GB free")
    shutil.rmtree(folder, ignore_errors=True)
    _done([sys.executable, "-m", "venv", str(folder)])
    pip = [str(folder / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check"]
    _done([*pip, "--no-deps", "--only-binary", ":all:", "-r", str(pins)])


def _done(command: Sequence[str]) -> None:
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=INSTALL_S, check=False
    )
    if done.returncode:
        raise refused(done.stdout.decode(errors="replace"))


NOT_REACHED = re.compile(
    r"Failed to establish a new connection|Max retries exceeded|Read timed out|ProxyError"
    r"|Name or service not known|name resolution|Connection (aborted|broken|reset)"
)


def refused(said: str) -> Unavailable | Broken:
    """What follows from what pip said when it failed: whether it is the index, the disk, or a fault of ours."""
    lines = said.strip().splitlines() or ["it said nothing"]
    why = next((line for line in reversed(lines) if line.startswith("ERROR")), lines[-1])
    wheel = re.search(r"No matching distribution found for (\S+)", said)
    if "No space left on device" in said:
        return Unavailable("the disk is full")
    if NOT_REACHED.search(said if wheel else why):
        return Unavailable("the package index cannot be reached")
    if wheel:
        return Unavailable(f"the package index has no wheel of {wheel[1]} for this machine")
    return Broken(f"it could not be installed: {why[:300]}")


def _need_memory() -> None:
    free = re.search(r"MemAvailable: +(\d+) kB", Path("/proc/meminfo").read_text())
    if free and int(free[1]) < MEMORY_GB * 10**6:
        raise Unavailable(f"less than {MEMORY_GB} GB of memory are free")


def _stand_in(python: Path) -> None:
    """SGLang is built for CUDA. Its HTTP layer, scheduler, cache and grammars are Python; its kernels are never
    called on a CPU, and the registry's torchvision cannot register its operators beside a torch without CUDA."""
    asked = [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'), end='')"]
    packages = Path(subprocess.check_output(asked, text=True))
    (packages / "torchvision" / "_meta_registrations.py").write_text("")
    kernel = packages / "sgl_kernel"
    kernel.mkdir(exist_ok=True)
    (kernel / "__init__.py").write_text((HERE / "no_kernels.py").read_text())


def _weights(python: Path) -> Path:
    """The embedded model as a folder that vLLM and SGLang load."""
    script = HERE / "gguf_to_hf.py"
    folder = _cache("models") / f"{MODEL}-hf-{_hash(script)}"
    with _alone(folder):
        if not (folder / "made").exists():
            _done([str(python), str(script), str(_gguf()), str(folder)])
            (folder / "made").touch()
    return folder


# --- starting and ending --------------------------------------------------------------------------


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    return port


@contextmanager
def process(command: Sequence[str], environ: Mapping[str, str], url: str) -> Generator[None]:
    """The server while the block runs; then neither it nor a process that it started is left, also where this
    process is killed."""
    guarded = [sys.executable, str(HERE / "guard.py"), str(STOP_S), *command]
    with tempfile.TemporaryFile() as log:
        guard = subprocess.Popen(
            guarded,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            env={**os.environ, **environ},
            start_new_session=True,
        )
        try:
            if not _ready(guard, url):
                log.seek(0)
                said = log.read().decode(errors="replace").strip().splitlines()[-12:]
                raise Broken("it did not start:\n" + "\n".join(said))
            yield
        finally:
            assert guard.stdin is not None
            guard.stdin.close()
            left = guard.wait(3 * STOP_S) == LEFT
        assert not left, "a process of the server is left"


def _ready(process: "subprocess.Popen[bytes]", url: str) -> bool:
    for _ in range(int(READY_S * 4)):
        if process.poll() is not None:
            return False
        try:
            with urllib.request.urlopen(f"{url}/health", timeout=10) as answer:
                if answer.status == 200:
                    return True
        except OSError:  # an HTTP error too: not ready yet
            pass
        time.sleep(0.25)
    return False


@contextmanager
def _llama() -> Generator[Served]:
    """The embedded model's own server, which ends with its parent too."""
    key = "key-of-a-test"
    module = "podium.engine.clients.local_server"
    command = [sys.executable, "-m", module, str(_gguf()), MODEL, str(os.getpid())]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, local.KEY_VARIABLE: key},
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline().decode()
            if not line:
                raise Broken("it did not start")
            yield Served("llama.cpp", line.split('"')[3], key)
        finally:
            process.terminate()
            process.wait(STOP_S)


@contextmanager
def _vllm() -> Generator[Served]:
    _need_memory()
    python = environment("vllm")
    port = free_port()
    # Not the command `vllm`: that of the distribution for CPUs does not find its own version.
    command = [str(python), "-m", "vllm.entrypoints.openai.api_server", "--model"]
    command += [str(_weights(python)), "--served-model-name", MODEL, "--host", "127.0.0.1"]
    command += ["--port", str(port), "--dtype", "float32", "--max-model-len", "2048"]
    command += ["--max-num-seqs", "32", "--enforce-eager", "--scheduling-policy", "priority"]
    command += ["--enable-auto-tool-choice", "--tool-call-parser", "hermes"]
    command += ["--enable-prompt-tokens-details"]
    # On a CPU 0.32.0 dies where it reads a prompt in pieces for a request with a seed.
    command += ["--max-num-batched-tokens", "32768"]
    offline = {"VLLM_NO_USAGE_STATS": "1", "VLLM_CPU_KVCACHE_SPACE": "1", **_OFFLINE}
    url = f"http://127.0.0.1:{port}"
    with process(command, offline, url):
        yield Served("vllm", url)


@contextmanager
def _sglang() -> Generator[Served]:
    _need_memory()
    python = environment("sglang")
    port = free_port()
    command = [str(python), "-m", "sglang.launch_server", "--model-path", str(_weights(python))]
    command += ["--served-model-name", MODEL, "--host", "127.0.0.1", "--port", str(port)]
    command += ["--device", "cpu", "--dtype", "float32", "--attention-backend", "torch_native"]
    command += ["--sampling-backend", "pytorch", "--grammar-backend", "xgrammar"]
    command += ["--disable-cuda-graph", "--disable-overlap-schedule", "--context-length", "2048"]
    command += ["--max-total-tokens", "16384", "--mem-fraction-static", "0.2"]
    command += ["--enable-metrics", "--enable-cache-report", "--tool-call-parser", "qwen25"]
    # It tells its load with each token, not each fortieth.
    command += ["--decode-log-interval", "1"]
    url = f"http://127.0.0.1:{port}"
    with process(command, {"SGLANG_USE_CPU_ENGINE": "1", **_OFFLINE}, url):
        yield Served("sglang", url)


_OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "DO_NOT_TRACK": "1"}
STARTS = {"llama.cpp": _llama, "vllm": _vllm, "sglang": _sglang}


@contextmanager
def named_by(variable: str, name: str) -> Generator[Served]:
    """One that runs already, where the variable of the environment has its URL; else one that is started."""
    url = os.environ.get(variable)
    with running(name) if url is None else _given(name, url) as served:
        yield served


@contextmanager
def _given(name: str, url: str) -> Generator[Served]:
    yield Served(name, url.rstrip("/"))
