"""Throughput, cache hits and makespan of teams on a transformer on a GPU, with placement on and off.

    python tests/bench/gpu.py                    # a model of 6.4 billion made-up weights, 4 replicas
    python tests/bench/gpu.py --tiny             # a model that a CPU serves too, to try the script

The server is `torch_server.py`, run by a Python that has torch and aiohttp: this one, or the one of --python.
Without a GPU it says so, and its figures say nothing of one.
"""

import argparse
import importlib.util
import json
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
from bench_prefix import HEAD, both, text

HERE = Path(__file__).parent


@contextmanager
def served(python: str, size: str, replicas: int) -> Generator[dict[str, Any]]:
    command = [python, str(HERE / "torch_server.py"), "--size", size, "--replicas", str(replicas)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            if not line:
                raise SystemExit("the server did not start: what it said is above")
            yield json.loads(line)
        finally:
            process.terminate()
            process.wait(30)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--python", default=sys.executable)
    args = parser.parse_args()
    if args.python == sys.executable and importlib.util.find_spec("torch") is None:
        raise SystemExit("this Python has no torch: name one that has it with --python")
    size, replicas, teams, members = ("tiny", 2, 4, 2) if args.tiny else ("large", 4, 10, 10)
    with served(args.python, size, replicas) as server:
        if server["device"] == "cpu":
            print("NO GPU HERE: what follows was measured on this machine's CPU")
        print(
            f"size {size} on {server['device']}, {replicas} replicas, parallel({teams}) of team({members})"
        )
        each = ", ".join(f'openai("made-up", base_url = "{url}/v1")' for url in server["urls"])
        words, reply = (60, 8) if args.tiny else (300, 200)
        found = anyio.run(both, text(each, words=words, reply=reply, teams=teams, size=members))
    print(HEAD)
    for name, measured in found.items():
        print(f"{name:9} {measured.told()}  {measured.cached / measured.read:4.0%} from a cache")
    off, on = found["off"], found["on"]
    print(f"makespan with placement: {on.seconds / off.seconds:.2f} of that without")


if __name__ == "__main__":
    main()
