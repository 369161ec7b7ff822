"""How long `podium --version` takes, whole process, as a ratio to `python -c "import click"`.

Both are started in turn, and the ratio is taken pair by pair: a drift of the machine's speed then does not count.
Prints the medians and the median ratio; it should stay below 1.5. Run by hand:

    python tests/bench/bench_start.py
"""

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

RUNS = 30
PODIUM = (str(Path(sys.executable).parent / "podium"), "--version")
CLICK = (sys.executable, "-c", "import click")


def wall_ms(command: Sequence[str]) -> float:
    """Milliseconds from the command's start to its end."""
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return (time.perf_counter() - start) * 1000


def main() -> None:
    for command in (PODIUM, CLICK):
        wall_ms(command)  # compiled modules and file caches
    pairs = [(wall_ms(PODIUM), wall_ms(CLICK)) for _ in range(RUNS)]
    print(f"wall ms, median of {RUNS}")
    print(f"podium --version {median(ours for ours, _ in pairs):8.1f}")
    print(f"import click     {median(bare for _, bare in pairs):8.1f}")
    print(f"ratio            {median(ours / bare for ours, bare in pairs):8.2f}")


if __name__ == "__main__":
    main()
