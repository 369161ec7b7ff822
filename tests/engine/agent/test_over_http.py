"""An agent with tools, before servers of every dialect: calls and results by id, or in words."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from podium.dsl.model import Endpoint, Model
from podium.dsl.program import Program, Tool
from podium.dsl.quantity import Scalar
from podium.engine import Engine
from podium.engine.clients.dialects import PROFILES
from podium.engine.testing.dialects import dialect
from podium.engine.testing.handmade import agent, program, role
from podium.engine.testing.quirks import DIALECTS, Says
from podium.engine.testing.server import Seen

pytestmark = pytest.mark.anyio
CALL = (("look", '{"at": "the door"}'),)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def look(at: str) -> str:
    """Looks at a place."""
    return f"{at} is open"


def working(url: str, **profile: Scalar) -> Program:
    look_ = Tool("look", "function", {"ref": "look"})
    whole = program(agent(replace(role("agent"), tools=(look_,), max_output=100)))
    model = Model("m", (Endpoint("openai", "", url),), profile=profile)
    return replace(whole, models={"m": model})


async def answered(folder: Path, made: Program) -> object:
    bound = {"look": look}
    async with Engine(folder / "runs.db", environ={}, bindings=bound) as engine:
        result = await (await engine.start(made)).result()
    assert result.attempt is not None, result.outcome
    return result.attempt.answer


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n == "vllm" else pytest.mark.long) for n in DIALECTS]
)
async def test_each_kind_of_server_is_told_what_came_of_its_calls(
    tmp_path: Path, name: str
) -> None:
    asked: list[Any] = []

    def say(seen: Seen) -> Says:
        asked.append(seen.body)
        return Says("", tools=CALL) if len(asked) == 1 else Says("it is open")

    async with dialect(name, say) as fake:
        hosts = {"name": name} if PROFILES[name].hosts else {}
        assert await answered(tmp_path, working(fake.url, **hosts)) == "it is open"
    (offered,) = asked[0]["tools"]
    assert offered["function"]["parameters"]["required"] == ["at"]
    said, result = asked[1]["messages"][-2:]
    assert (result["role"], result["content"]) == ("tool", "the door is open")
    assert result["tool_call_id"] == said["tool_calls"][0]["id"]


async def test_a_server_told_of_tools_in_words_answers_in_words(tmp_path: Path) -> None:
    asked: list[Any] = []

    def say(seen: Seen) -> Says:
        asked.append(seen.body)
        block = '```tool\n{"name": "look", "arguments": {"at": "the door"}}\n```'
        return Says(block if len(asked) == 1 else "it is open")

    async with dialect("vllm", say) as fake:
        assert await answered(tmp_path, working(fake.url, tools="text")) == "it is open"
    assert "tools" not in asked[0]
    assert asked[1]["messages"][-1]["content"] == "Result of look:\n```\nthe door is open\n```"
