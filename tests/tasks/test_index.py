"""The index of families: what a program may name by `family("name", …)`."""

import json
from importlib import import_module
from importlib.resources import files

import pytest

from podium.dsl.library import LibraryError
from podium.dsl.program import Task
from podium.engine.families import family, names

INDEX = json.loads((files("podium") / "tasks" / "index.json").read_text("utf-8"))


@pytest.mark.parametrize("name", sorted(INDEX))
def test_a_family_makes_a_task_named_after_it_with_a_verifier(name: str) -> None:
    module, _, attribute = INDEX[name]["make"].partition(":")
    task = getattr(import_module(module), attribute)()
    assert isinstance(task, Task)
    assert task.name.partition("/")[0] == name
    assert task.verify is not None


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
