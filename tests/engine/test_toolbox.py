"""Functions of the user's as tools, and the toolbox of a run."""

from dataclasses import replace

import anyio
import pytest
import trio.testing

from podium.dsl.program import Tool
from podium.engine.call import CallError, ToolReply, ToolUse
from podium.engine.functions import Function
from podium.engine.testing.handmade import agent, program, role
from podium.engine.toolbox import MOST_BYTES, Functions, Means, bounded, open_tools, told

pytestmark = pytest.mark.anyio
TOOL = Tool("f", "function", {"ref": "f"}, timeout_s=2.0)


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    return ("trio", {"clock": trio.testing.MockClock(autojump_threshold=0)})


async def used(function: Function, **arguments: str) -> ToolReply:
    functions = Functions({"f": function}, inline=True)
    return await functions.use(ToolUse("a", "r", TOOL, "f", arguments))


async def test_what_a_function_returns_is_told_as_text_or_as_json() -> None:
    assert (await used(lambda: "yes")).text == "yes"
    assert (await used(lambda: None)).text == "done"
    assert (await used(lambda: {"a": [1]})).text == '{\n  "a": [\n    1\n  ]\n}'
    assert told(object).startswith("<class")


async def test_what_a_function_raises_is_told_and_fails_nothing() -> None:
    def broken(at: str) -> str:
        raise ValueError(f"no {at}")

    assert await used(broken, at="door") == ToolReply("f failed: ValueError: no door", failed=True)


async def test_a_function_that_takes_too_long_is_stopped() -> None:
    async def slow() -> str:
        await anyio.sleep(60)
        return "late"

    began = anyio.current_time()
    assert await used(slow) == ToolReply("f took longer than 2 s and was stopped", failed=True)
    assert anyio.current_time() - began == 2


async def test_what_is_kept_is_bounded_and_has_no_control_codes() -> None:
    def noisy() -> str:
        """Makes noise."""
        return "\x1b[2J" + "x" * (2 * MOST_BYTES)

    whole = program(agent(replace(role(), tools=(TOOL,))))
    async with open_tools(whole, Means({"f": noisy}, inline=True)) as tools:
        assert [offer.name for offer in tools.offers(TOOL)] == ["f"]
        text = (await tools.use(ToolUse("a", "r", TOOL, "f", {}))).text
    assert text.startswith("[2J")
    assert "bytes were not kept" in text
    assert len(text) < MOST_BYTES + 100
    assert bounded("short") == "short"


@pytest.mark.parametrize(
    ("ref", "told_"),
    [
        ("no.such:f", "cannot be loaded"),
        ("math:pi", "is no function but float"),
        ("operator:ne", "is no tool: its parameter"),
    ],
)
async def test_a_function_that_cannot_be_a_tool_is_told_before_anything_is_paid(
    ref: str, told_: str
) -> None:
    with pytest.raises(CallError, match=told_) as caught:
        Functions({}).offers(Tool("f", "function", {"ref": ref}))
    assert caught.value.kind == "tool"
