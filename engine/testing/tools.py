"""Tools under simulation: functions that are bound are called as they are, all others say something."""

import random
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio

from podium.dsl.program import Program, Tool

from ..call import Offer, ToolReply, ToolUse
from ..functions import Function
from ..toolbox import Functions, Means, Toolbox
from ..value import Json

_PARAMETERS: Mapping[str, Json] = {
    "type": "object",
    "properties": {"input": {"type": "string"}},
    "required": ["input"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class SimulatedTools:
    """In place of `toolbox.open_tools`: no thread, no process, no server. seconds: what a call takes, on average.

    failing: the share of calls that the tool says went wrong.
    """

    seed: int = 0
    seconds: float = 3.0
    failing: float = 0.1

    @asynccontextmanager
    async def __call__(self, program: Program, means: Means) -> AsyncGenerator[Toolbox]:
        yield _Box(self, means.bindings)


@dataclass(frozen=True, slots=True)
class _Box:
    how: SimulatedTools
    bindings: Mapping[str, Function]

    def offers(self, tool: Tool) -> tuple[Offer, ...]:
        if str(tool.args.get("ref")) in self.bindings:
            return Functions(self.bindings, inline=True).offers(tool)
        return (Offer(tool.name, f"A simulated {tool.name}.", _PARAMETERS),)

    async def use(self, call: ToolUse) -> ToolReply:
        if str(call.tool.args.get("ref")) in self.bindings:
            return await Functions(self.bindings, inline=True).use(call)
        chance = random.Random(f"{self.how.seed} {call.address}")
        await anyio.sleep(self.how.seconds * chance.uniform(0.5, 1.5))
        if chance.random() < self.how.failing:
            return ToolReply(f"{call.name} failed: nothing is there", failed=True)
        return ToolReply(f"{call.name} found this. " * chance.randint(1, 40))
