"""The tools of one agent: those that work outside of it, `notes`, and `submit`.

All of it is told by what was recorded: notes and submissions are made again by the calls that a later life reads
back, and what a tool offers is a decision of the run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import cast

from podium.dsl.program import Role, Tool
from podium.dsl.tools import SANDBOXED

from . import commons, joint, trails
from .agent.prompt import clip
from .agent.shape import Unreadable, parse, schema
from .ask import ask_tool
from .call import CallError, Offer, ToolCall, ToolUse, canonical, digest, offer
from .commons import Desk
from .joint import Came, Folder
from .reduce import attempts_of, best
from .trails import Trails
from .value import Attempt, Json, Value, Verdict
from .verdicts import judge
from .walk import Here, keep

# How often an agent may submit, where its tools do not say.
SUBMISSIONS = 5
# How much of a verdict's evidence an agent is told, in tokens.
_EVIDENCE = 200

_NOTES = offer(
    "notes",
    "Keeps a note for yourself. Your notes are all that is left to you when this conversation grows too long, so"
    " note what you found out, what you changed and what is next.",
    ("text",),
    text={"type": "string", "minLength": 1},
)


@dataclass(slots=True, eq=False)
class NodeBench:
    """A `Bench` at a node. sets: by the name of an offer, the tool that has it. room: submissions left.

    desk, folder: of a member of a team at work. trails: of the attempts it was given. tree: its files, by the name
    of the text that has them.
    """

    here: Here
    role: Role
    sets: Mapping[str, Tool]
    offered: tuple[Offer, ...]
    room: int = 0
    desk: Desk | None = None
    folder: Folder | None = None
    trails: Trails | None = None
    tree: str = ""
    kept: list[str] = field(default_factory=list[str])
    submitted: list[Attempt] = field(default_factory=list[Attempt])

    @property
    def offers(self) -> tuple[Offer, ...]:
        return self.offered

    @property
    def notes(self) -> str:
        return "\n".join(f"- {note}" for note in self.kept)

    @property
    def given(self) -> Attempt | None:
        """The best of what was scored; the last one where nothing was."""
        scored = [one for one in self.submitted if one.verdict is not None]
        if scored:
            return best(scored, self.here.task.better)
        return self.submitted[-1] if self.submitted else None

    @property
    def is_done(self) -> bool:
        won = self.desk is not None and self.desk.won
        return won or (bool(self.submitted) and self.submitted[-1].passed)

    async def use(self, call: ToolCall, address: str) -> str:
        tool, arguments = self.sets[call.name], call.arguments or {}
        match tool.kind:
            case "notes":
                self.kept.append(str(arguments["text"]))
                return "noted"
            case "submit":
                return await self._submit(arguments, address)
            case "board" | "leaderboard" | "claim":
                assert self.desk is not None, "only a team at work has these"
                return self.desk.use(call.name, arguments, address)
            case "pull":
                assert self.folder is not None, "only who has a branch has this"
                came = await self.folder.pulled(address, self.tree)
                self.tree = came.tree
                return came.told
            case "attempts":
                return self._looked_up(call.name, arguments)
            case _:
                if tool.kind in SANDBOXED:
                    return await self._handled(tool, call.name, arguments, address)
                asked = ToolUse(address, self.here.account, tool, call.name, arguments)
                return (await ask_tool(self.here, asked)).text

    async def _handled(
        self, tool: Tool, name: str, arguments: Mapping[str, Json], address: str
    ) -> str:
        """What comes of a tool that works on files, and those afterwards."""
        tree, folder = self.tree, self.folder
        if folder is not None:
            tree = folder.opened(tool.kind, address, tree)
        asked = ToolUse(address, self.here.account, tool, name, arguments, tree)
        reply = await ask_tool(self.here, asked)
        if folder is None:
            self.tree = reply.tree
            return reply.text
        came = await folder.left(address, tree, reply.tree)
        self.tree = came.tree
        return "\n".join(part for part in (reply.text, came.told) if part)

    def _looked_up(self, name: str, arguments: Mapping[str, Json]) -> str:
        assert self.trails is not None, "only who takes attempts has this"
        if name != "take_files":
            return self.trails.use(name, arguments)
        self.tree = self.trails.tree(int(cast(int, arguments["number"])))
        return (
            "your folder holds its files now" if self.tree else "it has none; your folder is empty"
        )

    async def _submit(self, arguments: Mapping[str, Json], address: str) -> str:
        if self.room <= 0:
            return "not submitted: you have no submission left"
        attempt = self._attempt(arguments, address)
        if isinstance(attempt, Unreadable):
            return f"not submitted: {attempt.why}"
        came = Came(self.tree)
        if self.folder is not None:
            came = await self.folder.submitted(address, self.tree)
        self.tree, attempt = came.tree, replace(attempt, tree=came.tree)
        if not came.done:
            return f"not submitted: {came.told}"
        told = await self._scored(attempt)
        return f"{told}\n{came.told}" if came.told else told

    async def _scored(self, attempt: Attempt) -> str:
        """What an agent is told of its submission, which counts from now on."""
        self.room -= 1
        if not visible(self.here):
            self._take(attempt)
            return f"submitted; {_left(self.room)}"
        try:
            judged = await judge(self.here, attempt)
        except CallError as error:
            self.room += 1
            failed = f"the verifier failed, which is no fault of yours: {error.message}"
            return f"not scored, and not counted as a submission: {failed}"
        self._take(judged)
        return f"{_told(judged.verdict)}; {_left(self.room)}"

    def _take(self, attempt: Attempt) -> None:
        self.submitted.append(attempt)
        keep(self.here, attempt)
        if self.desk is not None:
            self.desk.submitted(attempt)

    def _attempt(self, arguments: Mapping[str, Json], address: str) -> Attempt | Unreadable:
        if self.role.output is None:
            text = str(arguments["answer"]).strip()
            if not text:
                return Unreadable("the answer is empty")
            return Attempt(text, text, address, tree=self.tree)
        text = canonical(arguments).decode()
        answer = parse(self.role.output, text)
        if isinstance(answer, Unreadable):
            return answer
        return Attempt(answer, text, address, tree=self.tree)


def bench_at(
    here: Here,
    role: Role,
    desk: Desk | None = None,
    *,
    value: Value | None = None,
    files: str = "",
    folder: Folder | None = None,
) -> NodeBench:
    """The tools of an agent of role at here, a team's member if it has a desk. value: what it was given. files:
    the tree that its folder begins with, where it is no member's. Raises CallError("tool") where a tool is not
    there."""
    sets: dict[str, Tool] = {}
    offered: list[Offer] = []
    room = 0
    for tool in role.tools:
        if tool.kind == "submit":
            room = times_of(tool)
        for one in _offers(here, role, tool, room, value):
            if one.name in sets:
                raise CallError("tool", f"two tools of role {role.name} are called {one.name}")
            sets[one.name] = tool
            offered.append(one)
    known = Trails(attempts_of(value), here.world.told)
    if not has_files(role):
        return NodeBench(here, role, sets, tuple(offered), room, desk, None, known)
    tree = files if folder is None else folder.begins()
    return NodeBench(here, role, sets, tuple(offered), room, desk, folder, known, tree)


def has_files(role: Role) -> bool:
    """Whether who has the role works in a folder."""
    return any(tool.kind in SANDBOXED for tool in role.tools)


def times_of(tool: Tool) -> int:
    """How often a tool submits at most."""
    if tool.kind != "submit":
        return 0
    times = tool.args.get("times")
    return times if isinstance(times, int) else SUBMISSIONS


def visible(here: Here) -> bool:
    """Whether agents may know the scores of what they submit."""
    verify = here.task.verify
    return verify is not None and verify.use == "always"


def _offers(here: Here, role: Role, tool: Tool, room: int, value: Value | None) -> Sequence[Offer]:
    match tool.kind:
        case "notes":
            return (_NOTES,)
        case "submit":
            return (_submit(role, room),)
        case "leaderboard" if not visible(here):
            return ()
        case "attempts":
            return trails.offers(len(attempts_of(value)), files=has_files(role))
        case "pull":
            return (joint.PULL,) if has_files(role) else ()
        case "board" | "leaderboard" | "claim":
            return commons.OFFERS[tool.kind]
        case _:
            return offers_of(here, tool)


def offers_of(here: Here, tool: Tool) -> tuple[Offer, ...]:
    """What tool offers, as the run decided when it was first asked for."""
    name = f"offers of {digest([tool.name, tool.kind, dict(tool.args)])[:16]}"
    world = here.world

    def told() -> Json:
        return [cast(Json, asdict(one)) for one in world.offers(tool)]

    found = cast(Sequence[Mapping[str, Json]], world.recorder.decide(world.account, name, told))
    return tuple(
        Offer(
            str(one["name"]), str(one["description"]), cast(Mapping[str, Json], one["parameters"])
        )
        for one in found
    )


def _submit(role: Role, room: int) -> Offer:
    """An offer that takes the agent's answer, in the shape of its role's `output`."""
    told = (
        f"Submits your answer, at most {room} time{'s' if room > 1 else ''}. The best one counts."
    )
    if role.output is None:
        return offer("submit", told, ("answer",), answer={"type": "string"})
    return Offer("submit", told, schema(role.output))


def _told(verdict: Verdict | None) -> str:
    """A verdict for the agent: what its verifier says of it and no more."""
    assert verdict is not None, "it was judged"
    parts = [] if verdict.score is None else [f"score {verdict.score:.6g}"]
    if verdict.passed is not None:
        parts.append("passed" if verdict.passed else "not passed")
    said = ", ".join(parts) or "judged"
    return f"{said}: {clip(verdict.evidence, _EVIDENCE)}" if verdict.evidence else said


def _left(room: int) -> str:
    return (
        "no submission is left" if not room else f"{room} submission{'s' if room > 1 else ''} left"
    )
