"""Tools under simulation: functions that are bound are called as they are, all others say something, and those
that work on files change a line of one here and there."""

import random
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import anyio

from podium.dsl.program import Program, Tool
from podium.dsl.tools import SANDBOXED

from .. import workspace
from ..call import Offer, ToolReply, ToolUse
from ..functions import Function
from ..toolbox import Functions, Means, Toolbox
from ..value import Json
from ..workspace import File

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
        yield _Box(self, means.bindings, means.kept)


@dataclass(frozen=True, slots=True)
class _Box:
    how: SimulatedTools
    bindings: Mapping[str, Function]
    kept: Callable[[str], str]

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
            return ToolReply(f"{call.name} failed: nothing is there", failed=True, tree=call.tree)
        found = ToolReply(f"{call.name} found this. " * chance.randint(1, 40), tree=call.tree)
        if call.tool.kind not in SANDBOXED or call.tool.kind == "read":
            return found
        text = workspace.written(changed(self._tree(call.tree), call.address, chance))
        name = workspace.name_of(text)
        return replace(found, tree=name, kept=((name, text),))

    def _tree(self, name: str) -> dict[str, File]:
        return workspace.read(self.kept(name) if name else "")


def changed(tree: Mapping[str, File], word: str, chance: random.Random) -> dict[str, File]:
    """tree with a line of one of three files changed to word, or without that file."""
    path = chance.choice(("a", "b", "c"))
    if path in tree and chance.random() < 0.1:
        return {name: file for name, file in tree.items() if name != path}
    lines = tree[path].data.splitlines() if path in tree else [b""] * 12
    lines[chance.randrange(len(lines))] = word.encode()
    return {**tree, path: File(b"\n".join(lines))}
