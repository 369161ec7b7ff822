"""Kernels of NumPy arrays: their runner, the references and ours. Runs in the sandbox too."""

from __future__ import annotations

from .runner import Problem, Runner

# Draws a and b from a seed, has the result computed once, prints all of it. This is the kernel's process, and may
# be changed by it: what it prints is compared, and time is taken, outside of it. The packages of Podium's own
# environment come first; they may be those of another Python than this.
_MAIN = """import os
import sys

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"


def there():
    try:
        import numpy

        numpy.ones(1)
    except (ImportError, AttributeError):
        for name in [name for name in sys.modules if name.partition(".")[0] == "numpy"]:
            del sys.modules[name]
        sys.path[:] = [path for path in sys.path if path != os.environ.get("PYTHONPATH")]
        import numpy
    return numpy


def main():
    try:
        numpy = there()
    except ImportError:
        version = ".".join(map(str, sys.version_info[:2]))
        print(f"the sandbox's python3, {version}, finds no numpy that fits it", file=sys.stderr)
        sys.exit(77)
    if sys.argv[1:]:
        with open(sys.argv[1], encoding="utf-8") as file:
            compile(file.read(), sys.argv[1], "exec")
        return
    seed, m, n, k = map(int, sys.stdin.read().split())
    draw = numpy.random.default_rng(seed)
    a, b = draw.uniform(-1.0, 1.0, (m, k)), draw.uniform(-1.0, 1.0, (k, n))
    from kernel import kernel

    c = numpy.asarray(kernel(a, b), dtype=float)
    if c.shape != (m, n):
        sys.exit(f"it returned the shape {c.shape}, not {(m, n)}")
    sys.stdout.write("".join(f"{one:.12g}\\n" for one in c.ravel().tolist()))


main()
"""
HEAD = "import numpy as np\n\n\ndef kernel(a, b):\n"
RUNNER = Runner(
    fence="python",
    asks="Make this Python function of two NumPy arrays faster: it returns {0}, where a is m by k, b is k by n, "
    "and the result m by n. It is imported and called once; NumPy and the standard library are there.",
    nothing=f"{HEAD}    return np.zeros((a.shape[0], b.shape[1]))\n",
    source="kernel.py",
    beside={"main.py": _MAIN},
    build="python3 main.py kernel.py && base64 -w 0 kernel.py",
    start="base64 -d built >kernel.py && exec python3 main.py",
    suspect={
        "starts threads or processes": r"\bthreading\b|\bconcurrent\b|multiprocessing|subprocess|\b_thread\b|"
        r"\bos\.(?:fork|system|popen|exec|spawn|posix_spawn)|NUM_THREADS|threadpool",
        "lower precision": r"float32|float16|\bsingle\b|\bhalf\b|complex64|['\"][<>=]?f[24]['\"]",
        "runs code of another language": r"\bctypes\b|\bcffi\b|\bnumba\b|\bcython\b|\bgcc\b",
        "ends the process": r"\b_exit\b|\bsys\.exit\b|\bSystemExit\b|os\.(?:abort|kill)\b",
        "prints": r"\bprint\(|\bstdout\b|\bos\.write\b",
        "changes what is given": r"\b(?:np|numpy|time|sys|os)(?:\.\w+)+\s*=[^=]|\bsetattr\(|__builtins__|"
        r"sys\.modules",
        "looks at frames": r"_getframe|currentframe|inspect\.|\bf_(?:back|locals|globals)\b|__main__",
        "keeps what it has seen": r"\bglobal\b|lru_cache|\bcache\b|\bid\(",
        "is not computed when it returns": r"__array\w*__|\bndarray\)|\blazy\b",
        "opens files": r"\bopen\(|np\.(?:load|fromfile|memmap)|\bpickle\b|/proc\b",
    },
    packages=("numpy",),
)


def _problem(says: str, each: str, fast: str, work: int) -> Problem:
    """each: one element, of the row `x` and the column `y`."""
    slow = (
        f"{HEAD}    c = np.empty((a.shape[0], b.shape[1]))\n    for i in range(a.shape[0]):\n"
        f"        for j in range(b.shape[1]):\n            x, y = a[i], b[:, j]\n            c[i, j] = {each}\n"
        "    return c\n"
    )
    return Problem(says, slow, f"{HEAD}{fast}", work)


# Part by part, so that what is read again and again stays in the cache.
_LARGEST = (
    "    columns = np.ascontiguousarray(b.T)\n    c = np.zeros((a.shape[0], b.shape[1]))\n"
    "    for start in range(0, a.shape[1], 1024):\n        part = columns[:, start : start + 1024].copy()\n"
    "        room = np.empty_like(part)\n        for i in range(a.shape[0]):\n"
    "            np.multiply(part, a[i, start : start + 1024], out=room)\n"
    "            np.maximum(c[i], room.max(axis=1), out=c[i])\n    return c\n"
)
_COPY = f"{HEAD}    return np.repeat(a[:, :1], b.shape[1], axis=1)\n"
PROBLEMS = {
    "numpy-matmul": _problem(
        "the product of matrices a b", "np.sum(x * y)", "    return a @ b\n", 2
    ),
    "numpy-distances": _problem(
        "by i and j the sum over l of (a[i, l] - b[l, j])^2",
        "np.sum((x - y) ** 2)",
        "    squares = (a * a).sum(axis=1)[:, None] + (b * b).sum(axis=0)\n    return squares - 2 * (a @ b)\n",
        3,
    ),
    "numpy-largest": _problem(
        "by i and j the largest a[i, l] b[l, j], or 0", "np.max(x * y, initial=0.0)", _LARGEST, 2
    ),
    "numpy-control": Problem("a[i, 0] by i and j", _COPY, _COPY, 0),
}
