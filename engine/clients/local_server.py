"""The process that serves a GGUF file: `python -m podium.engine.clients.local_server FILE ALIAS PARENT`.

It prints {"url": …} in one line when it listens, and ends on SIGTERM or when PARENT, the process that
started it, is gone. The only file that imports xllamacpp, and no file imports this one. The key that
clients must show is in the environment, never among the arguments, which every user can read.
"""

import os
import signal
import sys
import threading
from importlib import import_module
from types import FrameType
from typing import Any

import orjson

from .local import KEY_VARIABLE

SLOTS = 4
CONTEXT = 2048  # tokens of a slot, prompt and reply; 4 slots are 0.34 GB with the embedded model
WATCH_S = 0.2


def cores() -> int:
    """Cores this process may run on; a container's CPU quota is not seen here."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def parameters(xllamacpp: Any, model: str, alias: str, key: str) -> Any:
    p = xllamacpp.CommonParams()
    p.model.path = model
    p.model_alias = {alias}
    p.hostnames = ["127.0.0.1"]
    p.port = 0
    # With a key and without CORS no web page in a browser on this machine can use the server.
    p.api_keys = [key]
    p.cors_origins = "localhost"
    p.n_parallel = SLOTS
    p.n_ctx = SLOTS * CONTEXT  # shared out evenly
    for cpu in (p.cpuparams, p.cpuparams_batch):
        # Never all: threads wait for each other at each step, and beside another busy process as many
        # threads as cores made 0.3 to 7 tokens/s where one made 40.
        cpu.n_threads = max(1, cores() - 1)
        cpu.poll = 0
    p.cache_ram_mib = 256
    p.endpoint_metrics = p.endpoint_props = True
    p.ui = p.fit_params = False
    p.verbosity = 1
    return p


def main() -> None:
    model, alias, parent = sys.argv[1], sys.argv[2], int(sys.argv[3])
    stop = threading.Event()

    def ended(number: int, frame: FrameType | None) -> None:
        stop.set()

    signal.signal(signal.SIGTERM, ended)
    key = os.environ.pop(KEY_VARIABLE)
    xllamacpp: Any = import_module("xllamacpp")  # native code without types
    server = xllamacpp.Server(parameters(xllamacpp, model, alias, key))  # returns when it listens
    # The ready line, which the parent reads from this process.
    print(orjson.dumps({"url": server.listening_address}).decode(), flush=True)  # noqa: T201
    while os.getppid() == parent and not stop.wait(WATCH_S):
        pass
    del server  # its destructor stops it and cuts running streams


if __name__ == "__main__":
    main()
