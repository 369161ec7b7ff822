"""The kernels: the reference in C, ours, and the work of one element. Runs in the sandbox too."""

from __future__ import annotations

from typing import NamedTuple

# Draws a and b from a seed, has c computed once, prints all of c. Time is taken outside of the process.
MAIN = r"""#include <stdint.h>
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


class Problem(NamedTuple):
    """slow: the reference; fast: ours. work: floating-point operations for each i, j and l."""

    says: str
    slow: str
    fast: str
    work: int


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
