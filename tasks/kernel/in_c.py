"""Kernels in C: their runner, the references and ours. Runs in the sandbox too."""

from __future__ import annotations

from .runner import Problem, Runner

# Draws a and b from a seed, has c computed once, prints all of c. Time is taken outside of the process.
_MAIN = r"""#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

void kernel(const double *a, const double *b, double *c, long m, long n, long k);

static uint64_t state;

static double drawn(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 11) / 4503599627370496.0 - 1.0;
}

static double *array(long count) {
    double *found = malloc(sizeof(double) * (size_t)count);
    if (!found) exit(99);
    for (long i = 0; i < count; i++) found[i] = drawn();
    return found;
}

int main(void) {
    long m, n, k;
    if (scanf("%lu %ld %ld %ld", &state, &m, &n, &k) != 4) return 98;
    double *a = array(m * k), *b = array(k * n), *c = array(m * n);
    kernel(a, b, c, m, n, k);
    for (long i = 0; i < m * n; i++) printf("%.12g\n", c[i]);
    return 0;
}
"""
HEAD = "void kernel(const double *a, const double *b, double *c, long m, long n, long k) {\n"
RUNNER = Runner(
    fence="c",
    asks="Make this C function faster: {}; a is m by k, b is k by n, c is m by n, in rows, and they do not "
    "overlap. It is built with gcc -O3 -march=native.",
    nothing=f"{HEAD}}}\n",
    source="kernel.c",
    beside={"main.c": _MAIN},
    build="command -v gcc >/dev/null || { echo gcc is not installed where the sandbox looks >&2; exit 77; }; "
    "gcc -O3 -march=native -w -o made kernel.c main.c -lm && base64 -w 0 made",
    start="base64 -d built >run && chmod +x run && exec ./run",
    suspect={
        "starts threads or processes": r"pthread|\bfork\b|\bclone\b|omp\.h|pragma\s+omp|threads\.h",
        "lower precision": r"\bfloat\b|_Float16|__bf16|ffast-math|fast-math",
        "assembly": r"\b(?:__)?asm(?:__)?\b",
        "ends the process": r"\b_?exit\b|\babort\b|\bquick_exit\b",
        "prints": r"\b(?:printf|puts|putchar|write|fwrite|dprintf)\s*\(",
        "runs before it is called": r"\bconstructor\b|\bifunc\b|\binit_array\b",
        "replaces what draws": r"^(?:\w+[ \t*]+)+(?:malloc|calloc|free|\w*scanf)[ \t]*\(|\bsyscall\b",
        "changes the clock": r"\bclock_gettime\b|\bgettimeofday\b",
        "keeps what it has seen": r"^\s*static\s+(?!inline)[^()]*[;=]",
        "includes a file": r'#\s*include\s*"|\.incbin',
    },
)


def _slow(step: str) -> str:
    return (
        f"{HEAD}    for (long i = 0; i < m; i++)\n        for (long j = 0; j < n; j++) {{\n"
        "            double found = 0;\n            for (long l = 0; l < k; l++) {\n"
        "                double x = a[i * k + l], y = b[l * n + j];\n"
        f"                {step.format('found')}\n            }}\n"
        "            c[i * n + j] = found;\n        }\n}\n"
    )


def _fast(step: str) -> str:
    """The same sums in another order: along rows of b and c, which the compiler can do by vectors."""
    return (
        f"{HEAD}    for (long i = 0; i < m * n; i++) c[i] = 0;\n    for (long i = 0; i < m; i++)\n"
        "        for (long l = 0; l < k; l++) {\n            double x = a[i * k + l];\n"
        "            const double *row = b + l * n;\n            double *restrict out = c + i * n;\n"
        "            for (long j = 0; j < n; j++) {\n                double y = row[j];\n"
        f"                {step.format('out[j]')}\n            }}\n        }}\n}}\n"
    )


_STEPS = {
    "matmul": ("c = a b, a product of matrices", "{} += x * y;", 2),
    "distances": (
        "c[i, j] = the sum over l of (a[i, l] - b[l, j])^2",
        "{} += (x - y) * (x - y);",
        3,
    ),
    "largest": ("c[i, j] = the largest a[i, l] b[l, j], or 0", "{0} = x * y > {0} ? x * y : {0};", 2),
}  # fmt: skip
_COPY = f"{HEAD}    for (long i = 0; i < m * n; i++) c[i] = a[i / n * k];\n}}\n"
PROBLEMS = {
    name: Problem(says, _slow(step), _fast(step), work)
    for name, (says, step, work) in _STEPS.items()
} | {"control": Problem("c[i, j] = a[i, 0]", _COPY, _COPY, 0)}
