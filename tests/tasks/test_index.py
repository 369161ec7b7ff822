"""The index of families: what a program may name by `family("name", …)`."""

import json
from importlib import import_module
from importlib.resources import files

import pytest

from podium.dsl.program import Task

INDEX = json.loads((files("podium") / "tasks" / "index.json").read_text("utf-8"))


@pytest.mark.parametrize("name", sorted(INDEX))
def test_a_family_makes_a_task_named_after_it_with_a_verifier(name: str) -> None:
    module, _, attribute = INDEX[name].partition(":")
    task = getattr(import_module(module), attribute)()
    assert isinstance(task, Task)
    assert task.name == name
    assert task.verify is not None


def test_every_family_is_a_folder_with_a_readme() -> None:
    folder = files("podium") / "tasks"
    families = sorted(entry.name for entry in folder.iterdir() if (entry / "README.md").is_file())
    assert sorted(INDEX) == families
