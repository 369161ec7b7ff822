"""What a role may list in `tools`, and what goes with it."""

import pytest

from podium.dsl.bounds import asks
from podium.dsl.compile import Choice, check, compile_run
from podium.dsl.library import MemoryLibrary
from podium.dsl.problem import ProgramError
from podium.dsl.program import Agent, Role, Tool
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
