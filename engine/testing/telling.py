"""A broken promise in words: the sentence, the smallest file, the faults, and how to see it again. Pure."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from .cases import Tried
from .checking import Checked
from .invariants import Promise, Violation
from .words import told_fault

# What the smallest file is called in the command that shows it; whoever runs that saves it.
SMALLEST = "smallest.team"
_ENGINE: dict[Promise, str] = {
    "cap": "an account went above its limit",
    "conservation": "the books do not add up",
    "outcomes": "a node did not end exactly once",
    "leftover": "something was left running or held",
    "termination": "the run did not end",
    "replay": "replayed from what it recorded, the run went another way",
    "bill": "the servers generated more than the books say",
    "bug": "the engine failed",
}


@dataclass(frozen=True, slots=True)
class Failure:
    """One broken promise, for a report. given, program: of the smallest case that still breaks it.

    command: shows the case again; smallest: shows it with program in the place of the file, "" where a run broke.
    """

    name: str
    case: int
    seed: int
    promise: str
    sentence: str
    given: tuple[str, ...]
    program: str
    command: str
    smallest: str

    def told(self) -> str:
        parts = [f"{self.name} broke a promise in case {self.case}.", f"  {self.sentence}", ""]
        if self.program:
            parts += ["The smallest file that still breaks it:", "", _indented(self.program), ""]
        if self.given:
            parts += ["Its faults:", "", f"    given = [{', '.join(self.given)}]", ""]
        else:
            parts += ["No fault is needed for it.", ""]
        if self.smallest:
            parts += [f"To see that file break, save it as {SMALLEST}: {self.smallest}"]
        return "\n".join([*parts, f"To see it again: {self.command}"])


def failure(checked: Checked, file: str, seed: int, options: Sequence[str] = ()) -> Failure | None:
    """What checked found. options: what the command line said that changes what is tried."""
    found, small = checked.found, checked.shrunk
    if found is None or small is None:
        return None
    name, last = checked.subject.name, small.tried
    again = ["podium", "test", file, name, "--seed", str(seed), "--case", str(found.case.number)]
    own = ["podium", "test", SMALLEST, name, "--seed", str(last.case.seed), "--case", "1"]
    is_test = checked.subject.test is not None
    return Failure(
        name,
        found.case.number,
        last.case.seed,
        found.broken[0].promise,
        sentence(last if small.text else found),
        tuple(told_fault(fault) for fault in last.case.faults),
        small.text,
        shlex.join([*again, *options]),
        shlex.join([*own, *options]) if is_test and small.text else "",
    )


def sentence(found: Tried) -> str:
    """The broken promise with its values, as one sentence."""
    first = found.broken[0]
    if first.promise in _ENGINE:
        who = f" ({first.who})" if first.who else ""
        return (
            f"{_ENGINE[first.promise]}{_when(found, first)}: {first.message}{who}. "
            "This is a mistake in Podium; please report it with the file below."
        )
    return f"`{first.who}` was broken{_when(found, first)}: {first.message}."


def _when(found: Tried, first: Violation) -> str:
    events = found.simulation.events
    if first.event is None or not events:
        return ""
    stamped = next((s for s in events if s.number == first.event), None)
    return "" if stamped is None else f" {stamped.time - events[0].time:.1f} s after the start"


def _indented(text: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in text.splitlines())
