"""What the scripts of docs/reproduction share: the commands of `podium` on simulated agents, and their reports.

Nothing here decides anything: `podium compare` and `podium scale` do, as a user runs them. Only the model server
is replaced, by simulated agents that answer at once and whose scores follow a law (`podium.engine.testing`).
"""

import json
import os
import platform
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from click.testing import CliRunner
from marked import put

from podium.dsl.program import Program
from podium.engine import Engine
from podium.engine.call import ModelCall
from podium.engine.life import Run
from podium.engine.shell.cli import main
from podium.engine.shell.doors import Doors
from podium.engine.stats import pass_interval
from podium.engine.testing import Agents, Law, Server, SimulatedFleet, Speech

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs" / "reproduction"
BEGIN, END = "<!-- measured -->\n", "<!-- end -->\n"
# Answers at once: what a reply costs is counted, not waited for.
AT_ONCE = Server(replicas=1, slots=200, latency_s=0.0, prefill=1e12, decode=1e12, jitter=0.0)

# Where commits wait for no disk, if there is such a place: simulated agents do not wait either.
QUICK = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None

Made = Callable[[Program], Callable[[ModelCall], Speech]]


@dataclass(slots=True)
class Speakers:
    """Who answers: made anew for each run, as what agents say depends on its program and its seed."""

    made: Made
    now: Callable[[ModelCall], Speech] | None = None

    def __call__(self, call: ModelCall) -> Speech:
        assert self.now is not None  # a run has started before it calls
        return self.now(call)


class Lab(Engine):
    """An engine whose agents are simulated. Runs come one at a time, as they do in blocks of a comparison."""

    def __init__(self, store: str, made: Made) -> None:
        self._speakers = Speakers(made)
        fleet = SimulatedFleet(self._speakers, {"": AT_ONCE})
        super().__init__(store, client=fleet, environ={}, inline=True, allow=("python:podium.*",))

    async def start(self, program: str | Any, **asked: Any) -> Run:
        if isinstance(program, Program):
            self._speakers.now = self._speakers.made(program)
        return await super().start(program, **asked)


def by_law(law: Law) -> Made:
    """Agents whose scores follow law, drawn anew by the seed of each run."""
    return lambda program: Agents(program, program.seed, law)


@dataclass(frozen=True, slots=True)
class Shell:
    """`podium` with a store and simulated agents, or, without made, with the models that a file names."""

    store: Path
    made: Made | None = None

    def json(self, *words: str) -> dict[str, Any]:
        """What the command prints with `--json`. Raises RuntimeError where it does not end well."""
        done = self.run(*words, "--json")
        found: dict[str, Any] = json.loads(done)
        return found

    def run(self, *words: str) -> str:
        given = [*words, "--store", str(self.store), "--allow", "python:podium.*"]
        made = self.made
        doors = Doors() if made is None else Doors(lambda store: Lab(store, made), {})
        done = CliRunner().invoke(main, given, obj=doors)
        if done.exit_code != 0:
            raise RuntimeError(f"podium {' '.join(given)}: {done.output}")
        return done.stdout


@contextmanager
def shell(made: Made | None = None, store: Path | None = None) -> Generator[Shell]:
    """One with this store, or with one of its own, which is gone afterwards."""
    if store is not None:
        yield Shell(store, made)
        return
    with TemporaryDirectory(dir=QUICK) as folder:
        yield Shell(Path(folder) / "runs.db", made)


# --- reports -------------------------------------------------------------------------------------


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)]) + "\n"


def share(count: int, of: int) -> str:
    """A rate with its exact 95 % interval, in whole per cents."""
    if not of:
        return "-"
    found = pass_interval(count, of)
    return f"{count / of:.0%} ({found.low:.0%} to {found.high:.0%})"


def machine(since: float) -> str:
    """Where this runs, and how long it took since that time of `time.monotonic`."""
    cores, minutes = len(os.sched_getaffinity(0)), (time.monotonic() - since) / 60
    return f"{platform.machine()}, {cores} cores, Python {platform.python_version()}, {minutes:.0f} minutes"


@dataclass(frozen=True, slots=True)
class Report:
    """A page with a marked part, and the figures that it is made from, as JSON beside it."""

    name: str
    made: Callable[[Any], str]
    pages: Path = field(default=PAGES)

    @property
    def page(self) -> Path:
        return self.pages / f"{self.name}.md"

    @property
    def figures(self) -> Path:
        return self.pages / f"{self.name}.json"

    def write(self, found: Any) -> None:
        self.figures.write_text(json.dumps(found) + "\n", "utf-8")
        self.put()

    def put(self) -> None:
        """Make the marked part of the page from the figures."""
        put(self.page, BEGIN, self.text(), END)

    def text(self) -> str:
        return "\n" + self.made(json.loads(self.figures.read_text("utf-8")))

    def is_current(self) -> bool:
        """Whether the page says what its figures say."""
        return f"{BEGIN}{self.text()}{END}" in self.page.read_text("utf-8")
