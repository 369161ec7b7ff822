"""The index of families: what a program may name by `family("name", …)`."""

import json
from functools import partial
from importlib import import_module
from importlib.resources import files

import anyio
import pytest

from podium.dsl.compile import Choice, compile_run
from podium.dsl.format import format_text
from podium.dsl.library import LibraryError
from podium.dsl.program import Compare, Task
from podium.dsl.source import Source
from podium.engine.call import VerifierCall
from podium.engine.families import family, names
from podium.engine.library import DiskLibrary
from podium.engine.reduce import settled
from podium.engine.value import Verdict
from podium.engine.verify import judge

INDEX = json.loads((files("podium") / "tasks" / "index.json").read_text("utf-8"))


@pytest.mark.parametrize("name", sorted(INDEX))
def test_a_family_makes_a_task_named_after_it_with_a_verifier(name: str) -> None:
    module, _, attribute = INDEX[name]["make"].partition(":")
    task = getattr(import_module(module), attribute)()
    assert isinstance(task, Task)
    assert task.name.partition("/")[0] == name
    assert task.verify is not None
    if isinstance(task.pass_rule, Compare):
        assert type(task.pass_rule.value) is float  # as a program has it, and who shows it expects


def test_every_family_is_a_folder_with_a_readme() -> None:
    folder = files("podium") / "tasks"
    families = sorted(entry.name for entry in folder.iterdir() if (entry / "README.md").is_file())
    assert sorted(INDEX) == families


@pytest.mark.parametrize("name", sorted(INDEX))
def test_every_shipped_problem_has_a_name_that_makes_it(name: str) -> None:
    made = {family(f"{name}:{one}", {}).statement for one in names(name)}
    assert len(made) == len(names(name))
    assert made or family(f"{name}:7", {}) != family(f"{name}:8", {})


def test_a_name_that_no_problem_has_is_told_with_a_near_one() -> None:
    with pytest.raises(LibraryError, match="seed is 'seven'"):
        family("words:seven", {})
    with pytest.raises(LibraryError, match="there is no task family `word`") as caught:
        family("word:7", {})
    assert "words" in caught.value.help


@pytest.mark.parametrize("name", sorted(INDEX))
def test_a_family_says_which_cheats_fail_and_what_cannot_be_solved(name: str) -> None:
    text = (files("podium") / "tasks" / name / "README.md").read_text("utf-8")
    assert "\n## Cheats\n" in text
    assert "\n## Control\n" in text


@pytest.mark.parametrize("name", sorted(INDEX))
def test_the_reference_of_a_family_passes(name: str) -> None:
    """Of families that start programs, in the tests marked `sandbox`."""
    task = family(name, {})
    reference = import_module(f"podium.tasks.{name}").reference(task)
    assert isinstance(reference, str)
    assert task.verify is not None
    if task.verify.kind != "command":
        assert judged(task, reference).passed


# What makes a family's control, where it is not `control = true`.
CONTROLS: dict[str, dict[str, int | bool]] = {
    "arithmetic": {"digits": 6, "hidden": True},
    "words": {"count": 6, "max_words": 11},
}


@pytest.mark.parametrize("name", sorted(INDEX))
def test_the_control_of_a_family_is_not_solved_by_the_reference(name: str) -> None:
    task = family(name, {**CONTROLS.get(name, {"control": True})})
    assert task.verify is not None
    if task.verify.kind != "command":
        solution = import_module(f"podium.tasks.{name}").reference(family(name, {}))
        assert not judged(task, solution).passed


def judged(task: Task, text: str) -> Verdict:
    assert task.verify is not None
    call = VerifierCall("a/v", "run", task.verify, task, text, text)
    return settled(anyio.run(partial(judge, call, inline=True)), task, task.verify)


@pytest.mark.parametrize("name", sorted(INDEX))
def test_the_example_of_a_family_runs_on_it(name: str) -> None:
    text = (files("podium") / "tasks" / name / "example.team").read_text("utf-8")
    source = Source("example.team", text)
    choice = Choice(allow=lambda kind, value: False)
    program, warnings = compile_run(source, DiskLibrary("<x>"), choice)
    assert warnings == ()
    assert program.tasks
    assert f'family("{name}"' in text
    assert format_text(source) == text
