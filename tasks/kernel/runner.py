"""What differs between kernels in one language and in another: how a kernel is built, started and looked at.

All else, the trials and what is compared and timed, is in `check` and the same for all. Runs in the sandbox too.
"""

from __future__ import annotations

from typing import NamedTuple

# What `build` ends with where its tool is not there; its error output then says which.
MISSING = 77


class Problem(NamedTuple):
    """slow: the reference; fast: ours. work: floating-point operations for each i, j and l."""

    says: str
    slow: str
    fast: str
    work: int


class Runner(NamedTuple):
    """fence: behind the fence of an answer. asks: what is asked for, of what the kernel computes, `{}`. nothing: a
    kernel that takes no time and may be wrong.

    source: the file that a kernel becomes. beside: files with it, by name, for build and start. build: a line for
    the shell that makes of source what start needs, and writes it to the output as one line of text; it must not
    run the kernel. start: a line that has the kernel run, once, with that text in the file `built`. It reads
    `SEED M N K` (a seed that is never 0) and prints the m n results, a line each, to 12 digits; what it draws of a
    seed and a shape is the same for all kernels. packages: Python packages of Podium's own environment that it
    needs. suspect: patterns, by the words of the flag for what each finds in a source.
    """

    fence: str
    asks: str
    nothing: str
    source: str
    beside: dict[str, str]
    build: str
    start: str
    suspect: dict[str, str]
    packages: tuple[str, ...] = ()
