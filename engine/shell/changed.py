"""What has changed in the files since a run began, what the nodes that used it cost, and a fork of the run."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from podium.dsl.changes import Change, changes
from podium.dsl.library import TREE, LibraryError, standard
from podium.dsl.source import Source

from ..clients.address import BASE
from ..fold import Fold
from ..folders import gathered
from ..library import DiskLibrary, allowance
from ..request import Request, compiled
from ..spend import Spend, total_of
from .inputs import allow_rules
from .loading import Loaded, reach
from .project import NAME as PROJECT_FILE
from .project import read_project
from .safe import safe_line
from .summary import dollars
from .texts import read_program
from .units import counted, show_calls

_MOST = 10  # changes that are told one by one


def since(request: Request) -> tuple[Change, ...]:
    """What differs between the texts the run began with and those on the disk now."""
    return changes(request.texts, [now for old in request.texts if (now := _now(old)) is not None])


def _now(old: Source) -> Source | None:
    """The text of that name as it is now; None where it cannot be had. What has no file stays."""
    if old.name.startswith("std."):
        try:
            return standard(old.name)
        except LibraryError:
            return None
    if old.name.startswith("<"):
        return old
    try:
        if old.name.endswith(TREE):
            return Source(old.name, gathered(Path(old.name), old.name))
        return Source(old.name, Path(old.name).read_text("utf-8-sig"))
    except (OSError, ValueError, LibraryError):
        return None


def told(found: tuple[Change, ...], folded: Fold) -> list[str]:
    """A line for each change, with what the nodes that use it have cost."""
    lines = [_line(change, folded) for change in found[:_MOST]]
    return lines + ([f"and {len(found) - _MOST} more"] if len(found) > _MOST else [])


def _line(change: Change, folded: Fold) -> str:
    name = safe_line(change.name, 60)
    what = f"{change.kind} {name}" if change.kind != "file" else name
    nodes, spend = _cost(change, folded)
    used = f"{counted(nodes, 'node')} used it"
    cost = f" ({used}: {show_calls(spend.amount.calls)}, {dollars(spend)})"
    return f"{what} was {change.what}" + (cost if nodes else "")


def _cost(change: Change, folded: Fold) -> tuple[int, Spend]:
    """The lowest nodes that are named like a user of what changed, and what they cost with all below."""
    named = {a for a, node in folded.nodes.items() if node.label in change.users}
    above = {up for address in named for up in _above(address)}
    totals = folded.totals()
    return len(named - above), total_of(totals[address] for address in named - above)


def _above(address: str) -> list[str]:
    parts = address.split("/")
    return ["/".join(parts[:n]) for n in range(1, len(parts))]


def loaded_now(request: Request, allow: Sequence[str], environ: Mapping[str, str]) -> Loaded:
    """The same request for the texts as they are now. allow: what they may use, beyond what the project allows.

    Raises ProgramError and ShellError.
    """
    old = request.source
    source = old if old.name.startswith("<") else read_program(old.name)
    library = DiskLibrary(source.name, environ.get(BASE))
    project = read_project(library.root / PROJECT_FILE)
    asked = replace(request, source=source, texts=())
    allowed = allowance((*allow_rules(allow, request.models), *project.rules))
    program, warnings = compiled(asked, library, allowed, default_url=environ.get(BASE))
    reach(library.root)
    return Loaded(asked, program, warnings, project)
