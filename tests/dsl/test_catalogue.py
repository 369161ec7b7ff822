"""Each code of the catalogue has a program that earns it, and a mended one that is clean."""

import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from podium.dsl.catalogue import Entry, Example, catalogue
from podium.dsl.compile import Choice, check, compile_run
from podium.dsl.library import MemoryLibrary
from podium.dsl.problem import Problem, ProgramError
from podium.dsl.source import Source
from podium.engine.access import check_budget
from podium.engine.agent.act import DEFAULT_WINDOW

ROOT = Path(__file__).parents[2]
ENTRIES = list(catalogue().values())
# Earned only by a mistake in the formatter itself; test_format makes one.
WITHOUT_PROGRAM = {"F001"}
CODE = re.compile(r"""["']([A-Z]\d{3})["']""")


def literals(package: str) -> Iterator[str]:
    """Every code that the modules of package have as a string of its own."""
    for path in (ROOT / package).rglob("*.py"):
        yield from CODE.findall(path.read_text("utf-8"))


def choice(example: Example) -> Choice:
    """What the example's options say; all that they do not allow is refused."""
    words = shlex.split(example.options)
    given = list(zip(words[::2], words[1::2], strict=True))
    assert {option for option, _ in given} <= {"--set", "--allow"}
    allowed = {value for option, value in given if option == "--allow"}
    settings = [value.split("=") for option, value in given if option == "--set"]
    params: Mapping[str, tuple[str, str]] = {name: (value, "--set") for name, value in settings}
    return Choice(params=params, allow=lambda kind, value: f"{kind}:{value}" in allowed)


def told(entry: Entry, example: Example) -> list[Problem]:
    """What is told of the example: by the check, or by all that happens before a run's first call."""
    source = Source("x.team", example.whole())
    library = MemoryLibrary(modules=entry.files, files=entry.files)
    if not entry.compiled:
        return list(check(source, library))
    try:
        program, notes = compile_run(source, library, choice(example))
        check_budget(program, dict.fromkeys(program.models, DEFAULT_WINDOW))
    except ProgramError as error:
        return list(error.problems)
    return list(notes)


def test_every_code_that_the_sources_report_has_an_entry() -> None:
    assert {code for package in ("dsl", "engine") for code in literals(package)} == set(catalogue())


def test_only_what_no_program_earns_has_no_example() -> None:
    assert {entry.code for entry in ENTRIES if entry.failing is None} == WITHOUT_PROGRAM
    assert {entry.code for entry in ENTRIES if entry.mended is None} == WITHOUT_PROGRAM


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.code)
def test_an_entry_says_its_rule_in_a_few_sentences(entry: Entry) -> None:
    assert not entry.title.endswith(".")
    assert len(entry.title) <= 72
    assert "\n" not in entry.why
    assert entry.why.endswith(".")
    assert 2 <= len(re.findall(r"[.:;](?=\s|$)", entry.why)) <= 6


@pytest.mark.parametrize(
    "entry", [entry for entry in ENTRIES if entry.failing], ids=lambda entry: entry.code
)
def test_each_failing_program_earns_its_code_once_and_the_mended_one_is_clean(entry: Entry) -> None:
    assert entry.failing is not None
    assert entry.mended is not None
    problems = told(entry, entry.failing)
    severity = {"W": "warning", "N": "note"}.get(entry.code[0], "error")
    if entry.code == "T008":  # the note behind a hundred others
        problems, severity = problems[-1:], "note"
    assert [(p.code, p.severity) for p in problems] == [(entry.code, severity)]
    assert [p.code for p in told(entry, entry.mended)] == []
