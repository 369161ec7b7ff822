"""Parsing and checking a file of 1,000 lines, as a ratio to Lark alone on the same text.

Prints CPU milliseconds, the least of several runs, and the ratios; and the memory of files of several lengths,
which grows with them and no faster. Run by hand:

    python tests/bench/bench_check.py
"""

import time
import tracemalloc
from collections.abc import Callable
from importlib.resources import files
from itertools import count

from lark import Lark

from podium.dsl.compile import check
from podium.dsl.library import MemoryLibrary
from podium.dsl.parse import parse
from podium.dsl.source import Source

RUNS = 5
LINES = 1_000

_BLOCK = '''
## Writes one part, number {i}.
role writer_{i} {{
  system     = "You write short, clear sentences."
  prompt     = """
    {{{{ task.statement | clip(2k tokens) }}}}
    You are member {{{{ self.index }}}} of {{{{ team.size }}}}.
    """
  max_output = {cap} tokens
  sampling   = {{ temperature = 0.8, stop = ["END"] }}
}}

task puzzle_{i} {{
  statement = "What is {i} + {i}?"
  verify    = number({double})
}}

flow squad_{i}(size: int = {size}, k: int = 4) =
  parallel(k) of team(size, members = [writer_{i}], rounds = 2, budget = [10k tokens, 1m])
  -> best

run run_{i} {{
  task   = puzzle_{i}
  flow   = parallel(3) of squad_{i}(size = 5) -> best
  budget = [100k tokens, 10m]
}}
'''


def program(lines: int) -> str:
    """A valid program of at least lines lines: roles, tasks, flows and runs that use each other."""
    blocks, count = ["edition 2026\n"], 1
    while count < lines:
        i = len(blocks)
        block = _BLOCK.format(i=i, cap=100 + i, double=2 * i, size=2 + i % 9)
        blocks.append(block)
        count += block.count("\n")
    return "".join(blocks)


def least_ms(work: Callable[[], object]) -> float:
    """CPU milliseconds of one run of work: the least of RUNS, after one to warm up."""
    work()
    spent: list[float] = []
    for _ in range(RUNS):
        start = time.process_time()
        work()
        spent.append(time.process_time() - start)
    return min(spent) * 1000


_number = count()


def _fresh(text: str) -> Source:
    """The text as a source that was never parsed before: the trees of earlier ones are kept."""
    return Source(f"bench_{next(_number)}.team", text)


def peak_kb(lines: int) -> float:
    """Kilobytes at the peak of checking a program of at least so many lines."""
    source = _fresh(program(lines))
    tracemalloc.start()
    check(source, MemoryLibrary())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1024


def main() -> None:
    text = program(LINES)
    source = Source("bench.team", text)
    grammar = (files("podium") / "grammar" / "podium.lark").read_text("utf-8")
    lark = Lark(grammar, parser="lalr", lexer="basic", start="file")
    problems = check(source, MemoryLibrary())
    if errors := [problem for problem in problems if problem.severity == "error"]:
        raise SystemExit(f"the benchmark's own program has {len(errors)} mistakes: {errors[0]}")
    bare = least_ms(lambda: lark.parse(text))  # pyright: ignore[reportUnknownMemberType]
    print(f"{text.count(chr(10))} lines, {len(text)} characters; CPU ms, least of {RUNS}")
    print(f"Lark alone      {bare:8.1f}")
    for name, work in (
        ("parse", lambda: parse(source)),
        ("parse and check", lambda: check(_fresh(text), MemoryLibrary())),
    ):
        spent = least_ms(work)
        print(f"{name:15} {spent:8.1f}   {spent / bare:5.2f} x Lark alone")
    print("Memory at the peak of a check")
    for lines in (LINES, 2 * LINES, 4 * LINES):
        kilobytes = peak_kb(lines)
        print(f"{lines:5} lines {kilobytes:10,.0f} kB   {kilobytes / lines:5.1f} kB a line")


if __name__ == "__main__":
    main()
