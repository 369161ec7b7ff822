"""The tools that work on an agent's files: `read`, `write` and `edit`, and `shell` and `python` in the sandbox.

Files are kept as `workspace` has them: a call gets the tree that the one before it left, and says which one it
leaves. So nothing is left on a disk between calls, and a call that was cut changes nothing.
"""

import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import anyio.to_thread

from podium.dsl.program import Tool

from . import workspace
from .call import CallError, Offer, ToolReply, ToolUse, offer
from .sandbox import Command, Limits, Ran, Sandbox, SandboxFailed
from .value import Json
from .workspace import File, TooLarge

# Trees of the latest calls, so that a store is asked only after a life has ended.
REMEMBERED = 256
# What a command may use beside its time: enough to compile and test a small project.
_MEMORY, _PROCESSES = 2 << 30, 128
# Python keeps what it compiled beside a program; that is no work of the agent's, and other bytes each time.
_ENVIRON = {"PYTHONDONTWRITEBYTECODE": "1"}


def _offer(name: str, says: str, required: tuple[str, ...], **properties: str) -> Offer:
    fields: dict[str, Json] = {}
    for key, told in properties.items():
        counts = key in ("first", "lines")
        kind: dict[str, Json] = {"type": "integer", "minimum": 1} if counts else {"type": "string"}
        fields[key] = {**kind, "description": told}
    return offer(name, says, required, **fields)


OFFERS: Mapping[str, Offer] = {
    one.name: one
    for one in (
        _offer(
            "shell",
            "Runs a command line in your folder with sh, without a network. Files that it leaves are kept.",
            ("command",),
            command="the command line",
        ),
        _offer(
            "python",
            "Runs a Python 3 program in your folder, without a network. Files that it leaves are kept.",
            ("code",),
            code="the program; print what you want to see",
        ),
        _offer(
            "read",
            "Shows a file of your folder, or lists your files where no path is given.",
            (),
            path="such as src/main.py",
            first="the first line to show",
            lines="how many lines to show",
        ),
        _offer(
            "write",
            "Writes a file of your folder, in place of what it held.",
            ("path", "text"),
            path="such as src/main.py",
            text="all that it is to hold",
        ),
        _offer(
            "edit",
            "Replaces a text that occurs exactly once in a file of your folder.",
            ("path", "old", "new"),
            path="such as src/main.py",
            old="the text to replace, with enough around it to occur once",
            new="what stands in its place",
        ),
    )
}


@dataclass(slots=True, eq=False)
class Handiwork:
    """sandbox: where commands run; None where no tool needs one. kept: the text of a name, as the store has it."""

    sandbox: Sandbox | None
    kept: Callable[[str], str]
    _texts: dict[str, str] = field(default_factory=dict[str, str])

    def offers(self, tool: Tool) -> tuple[Offer, ...]:
        return (OFFERS[tool.kind],)

    async def use(self, call: ToolUse) -> ToolReply:
        tree = workspace.read(self._text(call.tree))
        try:
            match call.tool.kind:
                case "shell" | "python":
                    text, failed = await self._run(call, tree)
                case "read":
                    return ToolReply(_read(tree, call.arguments), tree=call.tree)
                case "write":
                    text, failed = _write(tree, call.arguments), False
                case _:
                    text, failed = _edit(tree, call.arguments), False
            written = workspace.written(tree)
        except (ValueError, TooLarge) as error:
            said = f"{call.name} changed nothing: {error}"
            return ToolReply(said, failed=True, tree=call.tree)
        name = workspace.name_of(written)
        kept = () if name == call.tree else ((name, written),)
        self._remember(name, written)
        return ToolReply(text, failed, name, kept)

    def _text(self, name: str) -> str:
        if not name:
            return ""
        return self._texts[name] if name in self._texts else self.kept(name)

    def _remember(self, name: str, text: str) -> None:
        self._texts.pop(name, None)
        self._texts[name] = text
        while len(self._texts) > REMEMBERED:
            del self._texts[next(iter(self._texts))]

    async def _run(self, call: ToolUse, tree: dict[str, File]) -> tuple[str, bool]:
        """Run a command on tree, which is then as it left it."""
        if self.sandbox is None:
            raise CallError("tool", f"there is no sandbox for {call.name}")
        folder = Path(tempfile.mkdtemp(prefix="podium-"))
        try:
            await anyio.to_thread.run_sync(workspace.laid_out, tree, folder)
            ran = await self.sandbox.run(_command(call, folder))
            left = await anyio.to_thread.run_sync(workspace.picked_up, folder)
        except SandboxFailed as error:
            raise CallError("tool", f"the sandbox failed: {error}") from error
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(lambda: shutil.rmtree(folder, ignore_errors=True))
        tree.clear()
        tree.update(left)
        return _told(ran), not ran.fine


def _command(call: ToolUse, folder: Path) -> Command:
    seconds = call.tool.timeout_s
    limits = Limits(
        wall_s=seconds,
        cpu_s=max(1, int(seconds)),
        memory_bytes=_MEMORY,
        processes=_PROCESSES,
        disk_bytes=4 * workspace.MOST_BYTES,
    )
    if call.tool.kind == "shell":
        line = str(call.arguments["command"])
        return Command(("sh", "-c", line), folder=folder, environ=_ENVIRON, limits=limits)
    code = str(call.arguments["code"]).encode()
    return Command(("python3", "-"), stdin=code, folder=folder, environ=_ENVIRON, limits=limits)


def _told(ran: Ran) -> str:
    parts = [part.rstrip("\n") for part in (ran.out.text, ran.err.text) if part.strip()]
    if ran.ended != "exit":
        parts.append(f"[it was ended at its limit ({ran.ended}) after {ran.seconds:.1f} s]")
    elif ran.code:
        parts.append(f"[it ended with code {ran.code}]")
    return "\n".join(parts) or "[it ended well and printed nothing]"


def _read(tree: Mapping[str, File], arguments: Mapping[str, Json]) -> str:
    if not arguments.get("path"):
        return "\n".join(f"{path}  {len(file.data)} bytes" for path, file in sorted(tree.items()))
    lines = _found(tree, arguments).data.decode(errors="replace").splitlines(keepends=True)
    first, count = _number(arguments, "first", 1), _number(arguments, "lines", len(lines))
    return "".join(lines[first - 1 : first - 1 + count])


def _number(arguments: Mapping[str, Json], name: str, otherwise: int) -> int:
    given = arguments.get(name)
    return int(given) if isinstance(given, int | float) else otherwise


def _found(tree: Mapping[str, File], arguments: Mapping[str, Json]) -> File:
    path = workspace.path_of(str(arguments["path"]))
    if path not in tree:
        raise ValueError(f"there is no file {path}")
    return tree[path]


def _write(tree: dict[str, File], arguments: Mapping[str, Json]) -> str:
    path = workspace.path_of(str(arguments["path"]))
    above = {str(one) for one in Path(path).parents}
    if above & tree.keys() or any(one.startswith(f"{path}/") for one in tree):
        raise ValueError(f"{path} is a folder, or lies in a file")
    data = str(arguments["text"]).encode()
    tree[path] = File(data, path in tree and tree[path].starts)
    return f"{path} has {len(data)} bytes now"


def _edit(tree: dict[str, File], arguments: Mapping[str, Json]) -> str:
    file, old = _found(tree, arguments), str(arguments["old"])
    path, text = workspace.path_of(str(arguments["path"])), file.data.decode(errors="replace")
    if not old or text.count(old) != 1:
        raise ValueError(f"the text to replace occurs {text.count(old) if old else 0} times")
    tree[path] = file._replace(data=text.replace(old, str(arguments["new"])).encode())
    return f"{path} is changed"
