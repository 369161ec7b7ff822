"""Whether two expressions are equal, by `math-verify` in a process of its own; without it nothing more is equal.

The process gets data and gives a word. It is killed with all it takes after some seconds: what a reply holds may
be made to take for ever.
"""

import json
import re
import subprocess
import sys
from functools import cache
from importlib.util import find_spec

SECONDS = 10
_SOURCE = f"""
import json, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
resource.setrlimit(resource.RLIMIT_CPU, ({SECONDS}, {SECONDS}))
from math_verify import parse, verify
answer, expected = (parse(f"${{one}}$") for one in json.load(sys.stdin))
print(bool(answer) and bool(expected) and verify(expected, answer, float_rounding=12))
"""
_DECIMAL = re.compile(r"\d\.\d|\\approx")
_NUMERIC = re.compile(r"\\(?:sum|prod|int|lim|binom|ldots|dots)|\bor\b|\band\b|[?]")


@cache
def is_there() -> bool:
    """Whether the library is installed."""
    return find_spec("math_verify") is not None


def equal(answer: str, expected: str) -> bool:
    """Whether the library takes them for equal. No decimal equals what has none, nor does a sum not worked out."""
    if not is_there() or len(answer) > 4 * len(expected) + 40:
        return False
    for unlike in (_DECIMAL, _NUMERIC):
        if unlike.search(answer) and not unlike.search(expected):
            return False
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-c", _SOURCE],
            input=json.dumps([answer, expected]),
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False
    return done.stdout.strip().endswith("True")
