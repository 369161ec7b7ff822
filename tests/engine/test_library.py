"""Texts from the project and from nowhere else; permissions; stored runs without the disk."""

from pathlib import Path

import pytest

from podium.dsl.compile import Choice, check, compile_run
from podium.dsl.library import LibraryError, MemoryLibrary
from podium.dsl.problem import ProgramError
from podium.dsl.source import Source
from podium.engine.families import families, family
from podium.engine.library import DiskLibrary, StoredLibrary, allowance, project_root

MAIN = """
from std.roles import solver
import "./lib/house.team" as house
task t { statement = file("issue.md")  verify = house.taste }
run main { flow = solver  task = t }
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a main file, a module that imports another, and a secret beside it."""
    root = tmp_path / "project"
    (root / "lib").mkdir(parents=True)
    (root / "podium.toml").write_text("")
    (root / "main.team").write_text(MAIN)
    (root / "issue.md").write_text("Fix it.")
    (root / "lib" / "house.team").write_text(
        'import "../deep.team" as deep\nverifier taste = deep.v\n'
    )
    (root / "deep.team").write_text('verifier v = exact("good")\n')
    (tmp_path / "secret.md").write_text("secret")
    return root


def library(project: Path) -> tuple[Source, DiskLibrary]:
    path = project / "main.team"
    return Source(str(path), path.read_text()), DiskLibrary(str(path))


def test_a_module_and_a_file_are_found_from_the_file_that_names_them(project: Path) -> None:
    source, disk = library(project)
    assert check(source, disk) == ()
    program, _ = compile_run(source, disk, Choice(allow=allowance(["file:*.md"])))
    assert program.tasks[0].statement == "Fix it."
    names = [s.name for s in program.sources]
    assert names[0] == source.name
    assert {str(project / "lib" / "house.team"), str(project / "deep.team"), "std.roles"} <= set(
        names
    )


def test_a_stored_run_compiles_again_without_the_disk(project: Path) -> None:
    source, disk = library(project)
    program, _ = compile_run(source, disk, Choice())
    for path in project.rglob("*.*"):
        path.unlink()
    again, _ = compile_run(program.sources[0], StoredLibrary(program.sources), Choice())
    assert again == program


def test_what_a_stored_run_does_not_hold_is_an_error() -> None:
    stored = StoredLibrary((Source("a.team", ""),))
    with pytest.raises(LibraryError, match="holds no"):
        stored.module("./b.team", is_file=True, importer="a.team")


@pytest.mark.parametrize("path", ["../secret.md", "lib/../../secret.md", "link.md", "up/secret.md"])
def test_nothing_outside_the_project_is_read(project: Path, path: str) -> None:
    (project / "link.md").symlink_to(project.parent / "secret.md")
    (project / "up").symlink_to(project.parent)
    source, disk = library(project)
    with pytest.raises(LibraryError) as caught:
        disk.text(path, importer=source.name)
    assert caught.value.code == "E502"
    with pytest.raises(LibraryError) as caught:
        disk.text(str(project.parent / "secret.md"), importer=source.name)
    assert caught.value.code == "E502"


def test_a_link_inside_the_project_is_followed(project: Path) -> None:
    (project / "link.md").symlink_to(project / "issue.md")
    source, disk = library(project)
    assert disk.text("link.md", importer=source.name) == "Fix it."


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("none.md", "there is no file"),
        ("lib", "is a folder"),
        ("latin.md", "not UTF-8"),
        ("loop.md", "cannot be read"),
        ("a\0b", "cannot be read"),
        ("x" * 400, "cannot be read"),
    ],
)
def test_a_text_that_cannot_be_had_is_told(project: Path, name: str, says: str) -> None:
    (project / "latin.md").write_bytes(b"one\ncaf\xe9")
    (project / "loop.md").symlink_to(project / "loop.md")
    source, disk = library(project)
    with pytest.raises(LibraryError, match=says):
        disk.text(name, importer=source.name)


def test_an_import_that_leaves_the_project_is_told_at_its_place(project: Path) -> None:
    (project / "main.team").write_text('import "../other.team" as o\n')
    (project.parent / "other.team").write_text("")
    source, disk = library(project)
    (problem,) = check(source, disk)
    assert (problem.code, problem.place.source.position(problem.place.span.start).line) == (
        "E502",
        1,
    )


def test_a_file_is_refused_without_a_rule_and_the_help_names_it(project: Path) -> None:
    source, disk = library(project)
    with pytest.raises(ProgramError) as caught:
        compile_run(source, disk, Choice(allow=allowance([])))
    (problem,) = caught.value.problems
    assert "--allow file:issue.md" in problem.help


def test_the_root_is_the_nearest_folder_with_a_mark(tmp_path: Path) -> None:
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    (tmp_path / "a" / ".git").mkdir()
    assert project_root(deep) == (tmp_path / "a").resolve()
    (deep / "podium.toml").write_text("")
    assert project_root(deep) == deep.resolve()


def test_without_a_mark_the_root_is_the_files_folder(project: Path) -> None:
    (project / "podium.toml").unlink()
    source, disk = library(project)
    assert disk.text("issue.md", importer=source.name) == "Fix it."
    with pytest.raises(LibraryError):
        disk.text("../secret.md", importer=source.name)


def test_an_expression_reads_from_the_folder_it_is_given_in(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    assert DiskLibrary("<expression>").text("issue.md", importer="<expression>") == "Fix it."
    assert DiskLibrary("main.team").text("issue.md", importer="main.team") == "Fix it."


def test_the_standard_library_needs_no_disk_of_the_project() -> None:
    for reader in (DiskLibrary("<expression>"), MemoryLibrary()):
        assert reader.module("std.flows", is_file=False, importer="x").name == "std.flows"
        for name in ("std.nothing", "std", "flows", "std.../x", "std.a.b"):
            with pytest.raises(LibraryError):
                reader.module(name, is_file=False, importer="x")


@pytest.mark.parametrize("name", sorted(families()))
def test_every_family_of_the_index_makes_a_task_with_a_verifier(name: str) -> None:
    assert family(name, {}).verify is not None


def test_a_family_that_is_none_is_told_with_the_one_that_was_meant() -> None:
    with pytest.raises(LibraryError, match="there is no task family `wrods`") as caught:
        family("wrods", {})
    assert caught.value.help == "did you mean `words`?"
    with pytest.raises(LibraryError) as caught:
        family("chess", {})
    assert caught.value.help == f"families are {', '.join(sorted(families()))}"


@pytest.mark.parametrize(
    ("task", "argument", "message", "help_"),
    [
        (
            'family("words", sede = 3)',
            "sede = 3",
            "there is no argument `sede`",
            "did you mean `seed`? it takes `count` (1 to 24), `seed` (0 or more), `max_words` (1 or more)",
        ),
        ('family("words", seed = 1, count = 99)', "count = 99", "count is 99; 1 to 24", ""),
        ('family("arithmetic", hidden = 1)', "hidden = 1", "true or false is needed", ""),
        ('family("wrods")', '"wrods"', "there is no task family `wrods`", "did you mean `words`?"),
    ],
)
def test_a_family_that_is_asked_wrongly_is_told_at_the_argument(
    task: str, argument: str, message: str, help_: str
) -> None:
    source = Source("x.team", f"task t = {task}\n")
    (problem,) = check(source, DiskLibrary("x.team"))
    assert source.text[problem.place.span.start : problem.place.span.end] == argument
    assert message in problem.message
    assert problem.help == help_


@pytest.mark.parametrize(
    ("name", "help_"),
    [
        ("sms", "did you mean `sums`?"),
        ("wrods", "tasks of the file are sums; did you mean `words`?"),
        ("chess", f"tasks of the file are sums; families are {', '.join(sorted(families()))}"),
    ],
)
def test_a_task_that_is_none_is_told_with_those_that_are(name: str, help_: str) -> None:
    text = 'task sums { statement = "1 + 1?" }\nrun main { flow = agent  task = sums }\n'
    with pytest.raises(ProgramError) as caught:
        compile_run(Source("x.team", text), DiskLibrary("x.team"), Choice(task=name))
    (problem,) = caught.value.problems
    assert (problem.message, problem.help) == (f"there is no task `{name}`", help_)


@pytest.mark.parametrize(
    ("rules", "kind", "value", "allowed"),
    [
        (["env:FAST_KEY"], "env", "FAST_KEY", True),
        (["env:FAST_*"], "env", "FAST_KEY", True),
        (["env:fast_key"], "env", "FAST_KEY", False),
        (["host:10.0.0.*"], "env", "10.0.0.1", False),
        (["file:*"], "file", "a/b.md", True),
        ([], "file", "a.md", False),
    ],
)
def test_a_rule_allows_what_it_names(
    rules: list[str], kind: str, value: str, allowed: bool
) -> None:
    assert allowance(rules)(kind, value) is allowed


@pytest.mark.parametrize("rule", ["FAST_KEY", "env:", "disk:x", ""])
def test_a_rule_that_is_none_is_refused(rule: str) -> None:
    with pytest.raises(ValueError, match="KIND:PATTERN"):
        allowance([rule])
