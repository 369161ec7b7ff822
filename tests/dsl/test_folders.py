"""`files` of a task: read once as a run is compiled, and never one file in the place of another."""

import pytest

from podium.dsl.compile import Choice, check, compile_run
from podium.dsl.library import MemoryLibrary
from podium.dsl.problem import Problem, ProgramError
from podium.dsl.program import Program, Team
from podium.dsl.source import Source

LIBRARY = MemoryLibrary(
    files={
        "bug/sum.py": "def add(a, b): return a - b",
        "bug/lib/more.py": "",
        "fix/sum.py": "",
        "notes.md": "see sum.py",
        "lib": "no folder",
        "rows.jsonl": '{"q": "one", "at": "bug"}\n{"q": "two", "at": "fix"}\n{"q": "three", "at": "bug"}\n',
    }
)


def compiled(task: str, flow: str = "agent") -> tuple[Program, tuple[Problem, ...]]:
    text = f"task t = {task}" if task.startswith("rows") else f"task t {{ {task} }}"
    source = Source("x.team", f"{text}\nrun main {{ task = t  flow = {flow} }}\n")
    return compile_run(source, LIBRARY, Choice(allow=lambda kind, name: True))


def refused(task: str) -> list[Problem]:
    with pytest.raises(ProgramError) as caught:
        compiled(task)
    return list(caught.value.problems)


def given(files: str, more: str = "tools = [read]") -> str:
    return f'statement = "mend it"  files = {files}  {more}'


def test_a_folder_is_read_into_a_text_of_the_program() -> None:
    program, notes = compiled(given('"bug"'))
    assert notes == ()
    assert program.tasks[0].files == ("bug/",)
    text = next(one.text for one in program.sources if one.name == "bug/")
    assert "def add(a, b): return a - b" in text
    assert "lib/more.py" in text


def test_a_list_may_have_folders_and_files() -> None:
    program, _ = compiled(given('["bug", "notes.md", "bug"]'))
    assert program.tasks[0].files == ("bug/", "notes.md/")


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ('["bug", "fix"]', '"bug" and "fix" both have `sum.py`'),
        ('["bug", "lib"]', '"bug" and "lib" both have `lib`'),
        ('["lib", "bug"]', '"lib" and "bug" both have `lib`'),
    ],
)
def test_one_file_never_takes_the_place_of_another(files: str, told: str) -> None:
    (problem,) = refused(given(files))
    assert (problem.code, problem.message) == ("E120", told)


def test_what_is_not_there_is_told_where_it_stands() -> None:
    (problem,) = refused(given('"none"'))
    assert (problem.code, problem.message) == ("E104", 'there is no file or folder "none"')


def test_reading_a_folder_needs_permission() -> None:
    source = Source(
        "x.team",
        f"task t {{ {given(chr(34) + 'bug' + chr(34))} }}\nrun main {{ task = t  flow = agent }}",
    )
    with pytest.raises(ProgramError) as caught:
        compile_run(source, LIBRARY, Choice(allow=lambda kind, name: False))
    (problem,) = caught.value.problems
    assert (problem.code, problem.help) == (
        "E502",
        "add `--allow file:bug`, or list it under [allow] in podium.toml",
    )


def test_each_row_may_have_files_of_its_own() -> None:
    with_ = "{ statement = row.q  files = row.at  tools = [read] }"
    program, _ = compiled(f'rows("rows.jsonl") with {with_}')
    assert [task.files for task in program.tasks] == [("bug/",), ("fix/",), ("bug/",)]
    assert [one.name for one in program.sources if one.name.endswith("/")] == ["bug/", "fix/"]


def test_a_team_with_files_is_at_work() -> None:
    program, _ = compiled(given('"bug"'), "team(2)")
    assert isinstance(program.flow, Team)
    assert program.flow.style == "work"
    program, _ = compiled(given('"bug"', "tools = [read]  style = discuss"), "team(2)")
    assert isinstance(program.flow, Team)
    assert program.flow.style == "discuss"


def test_files_that_no_agent_can_open_are_told_once() -> None:
    _, notes = compiled(given('"bug"', "tools = [notes]"))
    assert [note.code for note in notes] == ["W610"]
    text = 'task t { statement = "x"  files = "bug" }\nrun main { task = t  flow = agent }'
    assert [note.code for note in check(Source("x.team", text), LIBRARY)] == ["W610"]


@pytest.mark.parametrize(
    ("tools", "workspace", "codes"),
    [
        ("notes", "shared", ["W611"]),
        ("notes", "branches", ["W611"]),
        ("notes", "private", []),
        ("notes, read", "shared", []),
    ],
)
def test_a_workspace_that_no_member_works_in_is_told(
    tools: str, workspace: str, codes: list[str]
) -> None:
    team = f"team(2, style = work, workspace = {workspace})"
    _, notes = compiled(f'statement = "x"  tools = [{tools}]', team)
    assert [note.code for note in notes] == codes
