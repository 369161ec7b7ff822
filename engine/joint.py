"""The files of a team at work: a folder for each member, one for all of them, or a branch for each.

The rule this file keeps: which files a call finds, and what came of merging, are entries of the list that the team
has in common (`commons`), with the names of the trees and the words that the member is told. So a later life and
a replay merge nothing again. The text of a merged tree is in the store before its entry is made.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

import anyio

from podium.dsl.program import Workspace

from . import workspace
from .agent.prompt import clip
from .call import offer
from .commons import Commons, Entry
from .merging import Merged, is_marked, merged
from .value import Json
from .workspace import File, TooLarge

# How much of a clash a member is told, in tokens; and how many paths and submissions, of many.
_CLASH, _PATHS = 200, 20

PULL = offer(
    "pull",
    "Takes over into your folder what others have submitted since you last did, and says who changed what.",
    (),
)


@dataclass(slots=True, eq=False)
class Joint:
    """Of one team. begins: the tree that its work begins with. trees: each seat's own, where each has one.

    took: of branches, the team's tree that each seat's has in it. marked: the files of a seat in which marks of a
    clash may stand.
    """

    commons: Commons
    how: Workspace
    begins: str
    trees: dict[int, str] = field(default_factory=dict[int, str])
    took: dict[int, str] = field(default_factory=dict[int, str])
    marked: dict[int, Sequence[str]] = field(default_factory=dict[int, Sequence[str]])

    def main(self, round_: int) -> str:
        """The team's tree at the end of a round."""
        mains = (one for one in reversed(self.commons.entries) if "main" in one)
        found = (one["main"] for one in mains if cast(int, one["round"]) <= round_)
        return str(next(found, self.begins))

    @property
    def now(self) -> str:
        mains = (one["main"] for one in reversed(self.commons.entries) if "main" in one)
        return str(next(mains, self.begins))

    def answer(self, seat: int, round_: int) -> str:
        """The tree of what seat answers for the team at the end of a round."""
        main = self.begins if self.how == "private" else self.main(round_)
        # Also of branches, while nobody has submitted.
        alone = main == self.begins and self.how != "shared"
        return self.trees.get(seat, main) if alone else main

    def read(self, name: str) -> dict[str, File]:
        """Raises KeyError, in a replay alone."""
        return workspace.read(self.commons.here.world.kept(name) if name else "")


@dataclass(frozen=True, slots=True)
class Came:
    """What came of merging: the member's files, what it is told, and whether they are the team's now."""

    tree: str
    told: str = ""
    done: bool = True


@dataclass(frozen=True, slots=True)
class _Made:
    """An entry to be: its fields, and the text of the tree that it names, where there is a new one."""

    fields: Mapping[str, Json]
    text: str = ""


@dataclass(frozen=True, slots=True)
class Folder:
    """A member's, in one round."""

    joint: Joint
    seat: int
    round: int

    def begins(self) -> str:
        """The tree that it begins with."""
        joint, before = self.joint, self.joint.main(self.round - 1)
        if joint.how == "shared":
            return before
        joint.took.setdefault(self.seat, before)
        return joint.trees.setdefault(self.seat, before)

    def opened(self, kind: str, call: str, mine: str) -> str:
        """The tree on which a call of a tool runs. One that replaces a file runs on what the member has seen, so
        that what others have changed in it since is merged and not lost."""
        if self.joint.how != "shared" or kind == "write":
            return mine
        commons, now = self.joint.commons, self.joint.now
        number = commons.note(f"{call}/on", self.seat, self.round, "on", tree=now)
        return str(commons.entries[number]["tree"])

    async def left(self, call: str, base: str, tree: str) -> Came:
        """What becomes of the tree that a call on base has left."""
        if self.joint.how != "shared" or tree == base:
            return Came(tree)
        entry = await self._noted(f"{call}/left", "left", lambda now: self._shared(base, now, tree))
        return Came(str(entry["main"]), str(entry["told"]))

    async def submitted(self, call: str, mine: str) -> Came:
        """What is submitted of a member's files."""
        match self.joint.how:
            case "private":
                return Came(mine)
            case "shared":
                return Came(self.opened("submit", call, mine))
            case "branches":
                return await self._merged(call, mine, submits=True)

    async def pulled(self, call: str, mine: str) -> Came:
        """The member's files with those that the team has."""
        return await self._merged(call, mine, submits=False)

    async def _noted(self, call: str, what: str, make: Callable[[str], _Made]) -> Entry:
        """The entry of call, made on the team's tree as it is when the entry is."""
        commons = self.joint.commons
        while (known := commons.known(call)) is None:
            now = self.joint.now
            try:
                made = make(now)
            except KeyError:
                # A replay has no texts: the life that it replays was cut before it came so far.
                await anyio.sleep_forever()
                raise
            if made.text:
                kept = workspace.name_of(made.text), made.text
                await commons.here.world.keep((kept,))
            if self.joint.now == now:
                commons.note(call, self.seat, self.round, what, **made.fields)
        return known

    # --- one folder for all ----------------------------------------------------------------------

    def _shared(self, base: str, now: str, left: str) -> _Made:
        if now == base:
            return _Made({"main": left, "told": ""})
        read = self.joint.read
        found = merged(read(base), read(now), read(left), ("theirs", "yours"))
        try:
            text = workspace.written(found.tree)
        except TooLarge as error:
            told = f"[not kept: with what others changed at the same time there are {error}]"
            return _Made({"main": now, "told": told})
        return _Made({"main": workspace.name_of(text), "told": _lost(found)}, text)

    # --- a branch for each -----------------------------------------------------------------------

    async def _merged(self, call: str, mine: str, *, submits: bool) -> Came:
        joint, what = self.joint, "merge" if submits else "pull"
        entry = await self._noted(call, what, lambda now: self._brought(now, mine, submits=submits))
        joint.took[self.seat] = str(entry["took"])
        joint.marked[self.seat] = cast(Sequence[str], entry["marked"])
        return Came(str(entry["tree"]), str(entry["told"]), entry["done"] is True)

    def _brought(self, now: str, mine: str, *, submits: bool) -> _Made:
        """The member's files with the team's; where nothing clashes they are the team's, if it submits."""
        joint, took = self.joint, self.joint.took[self.seat]
        own, marked = joint.read(mine), joint.marked.get(self.seat, ())
        still = [path for path in marked if path in own and is_marked(own[path].data)]
        if still and submits:
            told = f"mend them first: lines that clash stand between marks in {_named(still)}"
            return _made(mine, took, told, marked=still)
        if now == took:
            told = "" if submits else "nothing new"
            return self._whole(own, now, mine, told, submits=submits, marked=still)
        found = merged(joint.read(took), own, joint.read(now), ("yours", "the team's"))
        tree = found.tree | {
            path: own[path]._replace(data=data) for path, data in found.clashes.items() if data
        }
        try:
            text = workspace.written(tree)
        except TooLarge as error:
            return _made(mine, took, f"with what others submitted there are {error}", marked=still)
        news = self._news(took)
        name = workspace.name_of(text)
        if found.clashes:
            texts = [path for path, data in found.clashes.items() if data]
            told = "\n".join([_clashed(found), *news])
            return _made(name, now, told, marked=[*still, *texts], text=text)
        told = "\n".join(["taken over into your folder:", *news])
        return self._whole(tree, now, name, told, submits=submits, marked=still, text=text)

    def _whole(
        self,
        tree: Mapping[str, File],
        now: str,
        name: str,
        told: str,
        *,
        submits: bool,
        marked: Sequence[str],
        text: str = "",
    ) -> _Made:
        """Files without a clash: the team's, if they are submitted."""
        if not submits:
            return _made(name, now, told, marked=marked, text=text, done=True)
        had = self.joint.read(now)
        changed = sorted(
            path for path in had.keys() | tree.keys() if had.get(path) != tree.get(path)
        )
        made = _made(name, name, told, marked=(), text=text, done=True)
        paths: dict[str, Json] = {"paths": changed[:_PATHS], "changed": len(changed)}
        return _Made({**made.fields, "main": name, **paths}, text)

    def _news(self, took: str) -> list[str]:
        """Who has submitted what since the member's files had the team's tree in them, a line each."""
        commons, lines = self.joint.commons, list[str]()
        for one in reversed(commons.entries):
            if one.get("main") == took:
                break
            if one.get("paths"):
                paths = _named(cast(Sequence[str], one["paths"]), cast(int, one["changed"]))
                lines.append(f"- {commons.who(cast(int, one['seat']))}: {paths}")
        return lines[:_PATHS][::-1]


def _made(
    tree: str, took: str, told: str, *, marked: Sequence[str], text: str = "", done: bool = False
) -> _Made:
    fields: dict[str, Json] = {"tree": tree, "took": took, "told": told, "marked": sorted(marked)}
    return _Made({**fields, "done": done}, text)


def _lost(found: Merged) -> str:
    """What a member is told of changes that are not in the folder of all."""
    if not found.clashes:
        return ""
    paths = _named(sorted(found.clashes))
    told = (
        f"[Not kept, as others changed the same at that time: {paths}. It is as they left it. Read it, and make"
        " your change again.]"
    )
    return "\n".join([told, *_excerpts(found)])


def _clashed(found: Merged) -> str:
    """What a member is told whose files clash with the team's."""
    texts = sorted(path for path, data in found.clashes.items() if data)
    others = sorted(path for path, data in found.clashes.items() if not data)
    told: list[str] = []
    if texts:
        told.append(
            f"lines that others changed too stand between marks in {_named(texts)}: mend them and"
            " submit again"
        )
    if others:
        told.append(
            f"others changed or deleted {_named(others)} too: yours stays in your folder, and takes"
            " the place of theirs if you submit again"
        )
    return "\n".join(["your files clash with the team's", *told, *_excerpts(found)])


def _excerpts(found: Merged) -> list[str]:
    """The beginnings of the texts that clash, as far as there is room."""
    texts = {path: data for path, data in sorted(found.clashes.items()) if data}
    room = _CLASH // max(1, len(texts))
    return [f"{path}:\n{clip(_around(data), room)}" for path, data in texts.items()][:_PATHS]


def _around(data: bytes) -> str:
    """The first stretch between marks."""
    text = data.decode(errors="replace")
    begin = text.find("<<<<<<< ")
    end = text.find("\n>>>>>>> ", begin)
    return text[begin : text.find("\n", end + 1) + 1]


def _named(paths: Sequence[str], of: int = 0) -> str:
    """The first of paths, and how many more there are. of: where paths are the first of so many."""
    more = max(len(paths), of) - _PATHS
    return ", ".join(paths[:_PATHS]) + (f" and {more} more" if more > 0 else "")
