"""Who sits in a team where its size and the counts of its members are both given."""

import re
from pathlib import Path

import pytest

from podium.dsl.compile import Choice, check, compile_run
from podium.dsl.format import format_text
from podium.dsl.library import MemoryLibrary
from podium.dsl.program import Team
from podium.dsl.source import Source

ROLES = 'role w { prompt = "w" }\nrole v { prompt = "v" }\n'


def source(flow: str) -> Source:
    return Source("x.team", f"{ROLES}flow squad(n: int = 8) = team(n, members = [5 of w, 1 of v])\n"
                  f"run main {{ flow = {flow} }}\n")  # fmt: skip


@pytest.mark.parametrize(
    ("flow", "says"),
    [
        ("team(4, members = [5 of w, v])", "counts 6, and the team has 4: it will be 3 of w and 1 of v"),
        ("team(n = 9, members = [1 of w, 2 of v])", "counts 3, and the team has 9: it will be 3 of w and 6 of v"),
        ("team(1, members = [1 of w, 3 of v])", "counts 4, and the team has 1: it will be 1 of v"),
    ],
)  # fmt: skip
def test_counts_that_do_not_add_up_to_the_written_size_are_told(flow: str, says: str) -> None:
    problems = check(source(flow), MemoryLibrary())
    told = [p for p in problems if p.code == "W609"]
    assert [(p.severity, says in p.message) for p in told] == [("warning", True)]


@pytest.mark.parametrize(
    "flow",
    [
        "team(6, members = [5 of w, v])",
        "team(members = [5 of w, v])",
        "team(9, members = [w, v])",
        "squad",
        "squad(3)",
    ],
)
def test_a_size_from_a_parameter_shares_its_seats_in_silence(flow: str) -> None:
    assert "W609" not in [p.code for p in check(source(flow), MemoryLibrary())]


def test_the_seats_are_those_that_were_told_and_a_run_tells_it_once() -> None:
    text = source("team(4, members = [5 of w, 1 of v])")
    program, notes = compile_run(text, MemoryLibrary(), Choice())
    assert [p.code for p in notes].count("W609") == 1
    assert isinstance(program.flow, Team)
    assert [(m.count, m.role.name) for m in program.flow.members] == [(3, "w"), (1, "v")]


# --- the end of a cycle --------------------------------------------------------------------------


def codes(text: str) -> list[str]:
    problems = check(Source("x.team", text + "\n"), MemoryLibrary())
    return [p.code for p in problems if p.severity == "error"]


def test_an_evaluator_must_be_able_to_accept() -> None:
    text = 'role j { prompt = "{{ attempt.answer }}"  output = { grade: int } }\n'
    assert codes(text + "flow f = team(2, evaluate = j)") == ["E205"]


def test_an_evaluator_is_shown_the_teams_attempt_and_not_many() -> None:
    text = 'role j { prompt = """{{ %s }}""" }\nflow f = team(2, evaluate = j)'
    assert codes(text % "attempt.answer") == []
    assert codes(text % "attempts | bullets") == ["E206"]


def test_an_evaluator_may_have_tools_but_none_that_submits_and_a_leader_none() -> None:
    text = 'role j { prompt = """{{ task.statement }}"""  tools = [%s] }\nflow f = team(2, %s = j)'
    assert codes(text % ("shell, notes", "evaluate")) == []
    assert codes(text % ("shell, submit", "evaluate")) == ["E212"]
    assert codes(text % ("shell", "ceo")) == codes(text % ("shell", "recruit")) == ["E212"]


def test_a_final_verdict_is_not_shown_to_a_team_by_the_way_of_execute() -> None:
    assert codes('flow f = team(2, execute = exact("4"))') == ["E212"]
    assert codes('flow f = team(2, execute = exact("4", use = always))') == []


def test_only_teams_migrate() -> None:
    assert codes("flow f = parallel(2, migrate = every(2)) of agent -> vote") == ["E212"]
    assert codes("flow f(n: int) of inner = parallel(n, migrate = every(2)) of inner") == []
    assert codes("flow f = parallel(2, migrate = every(2)) of team(2, budget = [9 calls])") == []


# --- what a server may reuse ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("system", "team", "warned"),
    [
        ("Round {{ round }}.", "3", True),
        ("So far: {{ team.digest }}", "3", True),
        ("You are {{ self.role }}.", "3", False),
        ("Round {{ round }}.", "3, rounds = 1", False),
        (
            "Round {{ round }}.",
            "members = [2 of m, 1 of w]",
            False,
        ),  # its own part then stands last
    ],
)
def test_a_system_text_that_changes_stands_before_the_board(
    system: str, team: str, warned: bool
) -> None:
    role = f'role m {{ system = """{system}"""  prompt = """{{{{ task.statement }}}}""" }}\n'
    members = "" if "members" in team else ", members = [m]"
    text = f"{ROLES}{role}flow f = team({team}{members})\n"
    found = [p.code for p in check(Source("x.team", text), MemoryLibrary())]
    assert (found == ["W602"]) is warned


# --- what the page of teams shows ----------------------------------------------------------------

PAGE = (Path(__file__).parents[2] / "docs" / "teams.md").read_text("utf-8")


@pytest.mark.parametrize(
    "block", re.findall(r"^```team\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
)
def test_the_examples_of_the_page_of_teams_are_without_mistakes_and_laid_out(block: str) -> None:
    source = Source("x.team", f"edition 2026\n\n{block}")
    assert [p for p in check(source, MemoryLibrary()) if p.severity == "error"] == []
    assert format_text(source) == source.text
