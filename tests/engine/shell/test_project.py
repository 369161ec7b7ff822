"""The project file: what it allows, and where it is wrong."""

from pathlib import Path

import pytest

from podium.dsl.problem import Problem, ProgramError
from podium.engine.shell.project import KEYS, Project, read_project, shown


def written(folder: Path, text: str) -> Path:
    path = folder / "podium.toml"
    path.write_text(text)
    return path


def wrong(folder: Path, text: str) -> list[Problem]:
    with pytest.raises(ProgramError) as caught:
        read_project(written(folder, text))
    return list(caught.value.problems)


def test_a_project_without_a_file_allows_nothing(tmp_path: Path) -> None:
    assert read_project(tmp_path / "podium.toml") == Project()
    assert list(shown(Project())) == []


def test_a_project_allows_by_kind(tmp_path: Path) -> None:
    path = written(tmp_path, '[allow]\nenv = ["A", "B_*"]\nhost = ["gpu1"]\n')
    project = read_project(path)
    assert project.rules == ["env:A", "env:B_*", "host:gpu1"]
    assert list(shown(project)) == [f"Project {path} allows env:A, env:B_*, host:gpu1."]


def test_an_empty_project_file_says_so(tmp_path: Path) -> None:
    project = read_project(written(tmp_path, "# nothing yet\n"))
    assert next(iter(shown(project))).endswith("allows nothing.")


@pytest.mark.parametrize("kind", KEYS["allow"])
def test_each_key_takes_patterns(tmp_path: Path, kind: str) -> None:
    assert read_project(written(tmp_path, f'[allow]\n{kind} = ["a*"]\n')).rules == [f"{kind}:a*"]


@pytest.mark.parametrize(
    ("text", "code", "line", "at", "says"),
    [
        ("alow = 1", "E106", 1, "alow", "did you mean `allow`?"),
        ("\n[alow]\nenv = []", "E106", 2, "alow", "did you mean `allow`?"),
        ("[budget]\n", "E106", 1, "budget", "it has `allow`"),
        ("allow = 1", "E120", 1, "allow", "write `[allow]`"),
        ('[allow]\nfile = []\nevn = ["A"]', "E106", 3, "evn", "did you mean `env`?"),
        ('allow.evn = ["A"]', "E106", 1, "evn", "did you mean `env`?"),
        ('[allow]\nenv = "A"', "E120", 2, "env", 'env = ["NAME"]'),
        ('[allow]\nenv = ["A", 3]', "E120", 2, "env", 'env = ["NAME"]'),
        ('[allow]\nhost = [""]', "E120", 2, "host", 'host = ["NAME"]'),
        ("[allow]\nenv = [", "T002", 2, "", ""),
    ],
)
def test_a_mistake_is_told_with_its_line_and_what_was_meant(
    tmp_path: Path, text: str, code: str, line: int, at: str, says: str
) -> None:
    (problem,) = wrong(tmp_path, text)
    source, span = problem.place.source, problem.place.span
    assert (problem.code, source.position(span.start).line) == (code, line)
    assert source.text[span.start : span.end] == at
    assert says in problem.help


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    problems = wrong(tmp_path, '[allow]\nevn = ["A"]\nfile = 1\n[other]\n')
    assert [p.code for p in problems] == ["E106", "E120", "E106"]
