"""How well mistakes land, and how quickly programs are generated.

Each token of each file of the corpus is blanked, and doubled, in turn: reports for each mistake, those on its
line, and offered fixes that leave one problem less. Then two fields of a declaration get one such mistake each.
Last, CPU milliseconds of a generated program, alone and with its text. Run by hand:

    python tests/bench/bench_recovery.py
"""

import random
import sys
import time
from itertools import combinations
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings

from podium.dsl import syntax as s
from podium.dsl.lex import begin, end, lex
from podium.dsl.parse import parse
from podium.dsl.problem import Problem, apply
from podium.dsl.source import Source
from podium.engine.testing.strategies import Generated, programs

ROOT = Path(__file__).parents[2]
FILES = sorted([*ROOT.glob("examples/**/*.team"), *ROOT.glob("tests/corpus/valid/*.team")])
GENERATED = 1_000
DRAWS = 3  # of a mistake in each field


def mutants(text: str, mode: str) -> list[tuple[int, str]]:
    """The line of each token, and the text with the token blanked or doubled."""
    source, found = Source("x", text), list[tuple[int, str]]()
    for token in lex(text).tokens:
        a, b = begin(token), end(token)
        new = " " * (b - a) if mode == "blank" else f"{token} {token}"
        found.append((source.position(a).line, text[:a] + new + text[b:]))
    return found


def is_mended(text: str, problem: Problem, problems: list[Problem]) -> bool:
    return len(parse(Source("x", apply(text, problem.edits)))[1]) < len(problems)


def recovery(mode: str) -> str:
    """A line of the table, over the corpus."""
    told = most = tried = near = fixes = mended = 0
    for path in FILES:
        for line, text in mutants(path.read_text("utf-8"), mode):
            source = Source("x", text)
            problems = parse(source)[1]
            tried += bool(problems)
            told += len(problems)
            most = max(most, len(problems))
            near += any(source.position(p.place.span.start).line == line for p in problems)
            offered = [p for p in problems if p.edits]
            fixes += len(offered)
            mended += sum(is_mended(text, p, problems) for p in offered)
    return (
        f"{mode:7} {tried:9} {told / tried:17.2f} {most:5} {near / tried:10.1%}"
        f" {fixes:6} {mended / max(1, fixes):12.1%}"
    )


def places(text: str) -> set[tuple[str, int]]:
    """Code and line of each report."""
    source = Source("x", text)
    return {(p.code, source.position(p.place.span.start).line) for p in parse(source)[1]}


def planted(text: str, field: s.Field, chosen: random.Random) -> tuple[int, int, str]:
    """A change of one token of field: text[start:end] becomes what is third."""
    found = [t for t in lex(text).tokens if field.span.start < begin(t) < field.span.end]
    inside = [t for t in found if "\n" not in t]  # the lines below stay where they are
    token = chosen.choice(inside)
    a, b = begin(token), end(token)
    return a, b, chosen.choice([" " * (b - a), f"{token} {token}"])


def changed(text: str, *changes: tuple[int, int, str]) -> str:
    for start, stop, new in sorted(changes, reverse=True):
        text = text[:start] + new + text[stop:]
    return text


def two_mistakes() -> str:
    """Of pairs of fields of one declaration with a mistake each: how many are told as they are alone."""
    chosen = random.Random(1)
    pairs = both = third = 0
    for path in FILES:
        text = path.read_text("utf-8")
        for declaration in parse(Source("x", text))[0].declarations:
            fields = declaration.value.fields if isinstance(declaration.value, s.Record) else ()
            for _ in range(DRAWS):
                made = [planted(text, field, chosen) for field in fields]
                alone = {change: places(changed(text, change)) for change in made}
                for one, two in combinations([c for c in made if len(alone[c]) == 1], 2):
                    told = places(changed(text, one, two))
                    pairs += 1
                    both += told == alone[one] | alone[two]
                    third += len(told) > 2
    return f"{pairs} pairs of mistakes in two fields: both told as alone {both / pairs:.1%}, a third {third}"


def generation() -> str:
    made: list[Generated] = []

    @settings(
        max_examples=GENERATED,
        database=None,
        deadline=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow],
    )
    @given(programs())
    def draw(one: Generated) -> None:
        made.append(one)

    start = time.process_time()
    draw()
    drawn = time.process_time()
    lines = sum(one.text.count("\n") for one in made)
    laid_out = time.process_time()
    each = 1_000 / len(made)
    return (
        f"{len(made)} programs of {lines / len(made):.0f} lines: {(drawn - start) * each:.2f} ms each to draw, "
        f"{(laid_out - drawn) * each:.2f} ms each to print, lay out and verify"
    )


def main() -> None:
    print(f"{len(FILES)} files, every token")
    print("token    mistakes  reports a mistake  most  same line  fixes  fixes parse")
    for mode in ("blank", "double"):
        print(recovery(mode))
        sys.stdout.flush()
    print(two_mistakes())
    print(generation())


if __name__ == "__main__":
    main()
