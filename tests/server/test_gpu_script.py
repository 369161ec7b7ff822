"""The script for a GPU machine, with its smallest model: it runs without a GPU too, and says so."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from .real.servers import Unavailable, environment

SCRIPT = Path(__file__).parents[1] / "bench" / "gpu.py"


@pytest.mark.server
def test_the_script_measures_placement_on_and_off_and_says_where() -> None:
    try:
        python = environment("vllm")  # it has torch and aiohttp
    except Unavailable as why:
        pytest.skip(f"no torch: {why}")
    command = [sys.executable, str(SCRIPT), "--tiny", "--python", str(python)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert ("on cuda" in done.stdout) != ("NO GPU HERE" in done.stdout)
    rows = re.findall(r"^(on|off) +24 .* (\d+)% from a cache$", done.stdout, re.MULTILINE)
    assert [name for name, _ in rows] == ["off", "on"]
    assert all(int(share) > 50 for _, share in rows)
