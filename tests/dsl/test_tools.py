"""What a role may list in `tools`, and what goes with it."""

import pytest

from podium.dsl.bounds import asks
from podium.dsl.compile import Choice, check, compile_run
from podium.dsl.library import MemoryLibrary
from podium.dsl.problem import ProgramError
from podium.dsl.program import Agent, Role, Team, Tool
from podium.dsl.source import Source

RUN = '\ntask t { statement = "Find it." }\nrun main { flow = worker, task = t }\n'


def text(fields: str) -> str:
    return f'role worker {{ prompt = """{{{{ task.statement }}}}"""  {fields} }}{RUN}'


def role(fields: str, allow: str = "python") -> Role:
    choice = Choice(allow=lambda kind, name: kind == allow)
    flow = compile_run(Source("x.team", text(fields)), MemoryLibrary(), choice)[0].flow
    assert isinstance(flow, Agent)
    return flow.role


def told(fields: str) -> list[tuple[str, str]]:
    found = check(Source("x.team", text(fields)), MemoryLibrary())
    return [(p.code, p.message) for p in found if p.severity == "error"]


def test_tools_become_records_in_their_order() -> None:
    written = (
        'tools = [submit(3), notes, python("a.b:C.look", timeout = 5s, inflight = 2, once = true)]'
    )
    assert role(written).tools == (
        Tool("submit", "submit", {"times": 3}),
        Tool("notes", "notes"),
        Tool("look", "function", {"ref": "a.b:C.look"}, 5.0, 2, once=True),
    )


def test_a_function_as_a_tool_needs_the_permission_of_a_function() -> None:
    with pytest.raises(ProgramError) as caught:
        role('tools = [python("a:look")]', allow="file")
    assert [p.code for p in caught.value.problems] == ["E501"]


def test_a_verifier_of_the_same_function_is_another_thing() -> None:
    shown = 'verifier v = python("a:look", once = true)\n' + text("verify = v")
    found = check(Source("x.team", shown), MemoryLibrary())
    assert "E212" in {p.code for p in found}


@pytest.mark.parametrize(
    ("fields", "code", "message"),
    [
        ("tools = [nots]", "E125", "`nots` is not submit, notes"),
        ('tools = ["look"]', "E125", '`"look"` is not submit, notes'),
        ("tools = [submit(0)]", "E121", "out of range"),
        ("tools = [exact]", "E120", "`exact`"),
        ("tools = [notes, notes]", "E212", "two tools called `notes`"),
        ('tools = [python("a:b", use = final)]', "E212", "`use` says how scores are used"),
        ("context = summarise", "E212", "no history that `context` could shorten"),
        ("tools = [submit], context = restart", "E212", "leaves an agent its notes"),
        ("tools = [notes], context = cut", "E125", "`cut` is not keep, drop_oldest"),
    ],
)
def test_what_is_wrong_with_tools_is_told(fields: str, code: str, message: str) -> None:
    (problem,) = told(fields)
    assert problem[0] == code
    assert message in problem[1]


@pytest.mark.parametrize(
    ("fields", "most"),
    [
        ("tools = [notes]", 20),
        ("tools = [notes], turns = 5", 5),
        ("tools = [notes], turns = 5, output = { n: int }", 6),
        ("tools = [notes], turns = 5, context = drop_oldest", 9),
        ("tools = [notes], turns = 5, context = summarise", 17),
        ("turns = 5", 1),
    ],
)
def test_turns_bound_the_calls_of_an_agent(fields: str, most: int) -> None:
    assert asks(role(fields)) == most


def test_a_parameter_may_stand_for_how_often_may_be_submitted() -> None:
    declared = "param times: int(1 to 9) = 4\n" + text("tools = [submit(times)]")
    flow = compile_run(Source("x.team", declared), MemoryLibrary(), Choice())[0].flow
    assert isinstance(flow, Agent)
    assert flow.role.tools == (Tool("submit", "submit", {"times": 4}),)


def test_the_tools_of_a_server_need_its_command_or_its_host_allowed() -> None:
    started = role('tools = [mcp("uvx", "mcp-server-fetch", timeout = 9s)]', allow="mcp")
    command = {"command": ("uvx", "mcp-server-fetch")}
    assert started.tools == (Tool("mcp-server-fetch", "mcp", command, 9.0),)
    reached = role('tools = [mcp(url = "https://h.example/mcp")]', allow="host")
    assert reached.tools == (Tool("h.example", "mcp", {"url": "https://h.example/mcp"}),)
    for fields in ('tools = [mcp("a b")]', 'tools = [mcp(url = "https://h.example/mcp")]'):
        with pytest.raises(ProgramError) as caught:
            role(fields, allow="env")
        assert {p.code for p in caught.value.problems} <= {"E505", "E506"}


def test_a_server_has_a_command_or_an_address() -> None:
    for fields in ("tools = [mcp()]", 'tools = [mcp("a", url = "http://127.0.0.1:1")]'):
        assert [code for code, _ in told(fields)] == ["E112"]


# --- of a team at work, and of a task --------------------------------------------------------------


def flow(text: str, task: str = "", role_: str = "tools = [notes]") -> Team | Agent:
    made = (
        f'role worker {{ prompt = "Work."  {role_} }}\ntask t {{ statement = "Find it."  '
        f'verify = exact("x", use = always)  {task} }}\nrun main {{ flow = {text}, task = t }}'
    )
    whole, _ = compile_run(Source("x.team", made), MemoryLibrary(), Choice())
    assert isinstance(whole.flow, Team | Agent)
    return whole.flow


def names(found: Team | Agent) -> list[str]:
    role_ = found.role if isinstance(found, Agent) else found.members[0].role
    return [f"{tool.name}{list(tool.args.values()) or ''}" for tool in role_.tools]


@pytest.mark.parametrize(
    ("settings", "tools"),
    [
        ("", ["notes", "submit", "board", "leaderboard"]),
        (", claims = lease(10m)", ["notes", "submit", "board", "leaderboard", "claim[600.0]"]),
        (", sees = own", ["notes", "submit"]),
        (", sees = leaderboard", ["notes", "submit", "leaderboard"]),
    ],
)
def test_members_of_a_team_at_work_have_what_they_may_see(settings: str, tools: list[str]) -> None:
    assert names(flow(f"team(members = [2 of worker], style = work{settings})")) == tools


def test_the_turns_of_a_team_bound_those_that_its_roles_do_not() -> None:
    def turns(role_: str) -> int:
        found = flow("team(members = [2 of worker], style = work, turns = 30)", role_=role_)
        assert isinstance(found, Team)
        return found.members[0].role.turns

    assert (turns(""), turns("tools = [notes]  turns = 9")) == (30, 9)


@pytest.mark.parametrize(
    ("text", "style", "tools"),
    [
        ("worker", "", ["notes", "read", "submit[3]"]),
        ("team(2)", "work", ["read", "submit[3]", "board", "leaderboard"]),
        ("team(2, style = work)", "work", ["submit[3]", "board", "leaderboard", "read"]),
        ("team(2, style = discuss)", "discuss", ["read"]),
    ],
)
def test_all_who_work_on_a_task_have_its_tools(text: str, style: str, tools: list[str]) -> None:
    found = flow(text, "tools = [read, submit(3)]")
    assert names(found) == tools
    assert getattr(found, "style", "") == style


def test_a_task_may_say_that_its_teams_are_at_work() -> None:
    assert names(flow("team(2)", "style = work")) == ["submit", "board", "leaderboard"]


@pytest.mark.parametrize(
    ("text", "task", "message"),
    [
        ("team(2, order = in_turn)", "style = work", "one has `order = in_turn`"),
        ("team(2, until = consensus)", "tools = [notes]", "one waits for `consensus`"),
        (
            "team(2)",
            'tools = [python("a:post")]',
            "the task has a tool called `post`, and a team at work has one too",
        ),
    ],
)
def test_a_team_that_cannot_be_at_work_on_a_task_is_refused(
    text: str, task: str, message: str
) -> None:
    with pytest.raises(ProgramError, match=message) as caught:
        flow(text, task)
    assert [one.code for one in caught.value.problems] == ["E212"]


def test_a_tool_of_a_role_is_not_called_as_one_of_its_team_is() -> None:
    with pytest.raises(ProgramError, match="a tool called `claim`, and a team at work has one too"):
        flow(
            "team(members = [2 of worker], style = work, claims = lease(1m))",
            role_='tools = [python("a:claim")]',
        )
