"""What flows between nodes: `Task`, `Attempt`, `Many`; all frozen, all with a JSON form."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from types import MappingProxyType
from typing import Any

from podium.dsl.program import Task

from .quick import quick

Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]

_NO_FILES: Mapping[str, bytes] = MappingProxyType({})


def _no_files() -> Mapping[str, bytes]:
    return _NO_FILES


@quick(frozen=True, slots=True)
class Verdict:
    """A verifier's judgement. score: finite; None where the verifier gave only pass or fail.

    passed None: neither the verifier nor the task's pass rule says.
    valid: false where the attempt is nothing that can be scored; it then has no score and does not pass.
    flags: what makes it look like a cheat, a few words each; they are reported, and change no score.
    cost: seconds of computing that judging took, where the verifier says. first: the score of the first
    measurement, where this is that of a second one.
    """

    score: float | None
    passed: bool | None
    evidence: str = ""
    valid: bool = True
    flags: tuple[str, ...] = ()
    cost: float | None = None
    first: float | None = None


@quick(frozen=True, slots=True)
class Attempt:
    """answer: the parsed `output`, else the whole reply; text: the reply as received.

    address: of the node that made it. before: the attempt this one revises, without its own before.
    cut: the reply ended at its cap, so that only a verifier can make it a success.
    tree: the files that come with it, by the name of the text that has them (`workspace`); empty where none do.
    files: these, by path; only a verifier in Python is given them.
    """

    answer: Json
    text: str
    address: str
    verdict: Verdict | None = None
    before: "Attempt | None" = None
    cut: bool = False
    tree: str = ""
    files: Mapping[str, bytes] = field(default_factory=_no_files, compare=False, repr=False)

    @property
    def score(self) -> float | None:
        return None if self.verdict is None else self.verdict.score

    @property
    def passed(self) -> bool:
        return self.verdict is not None and self.verdict.passed is True


@quick(frozen=True, slots=True)
class Many:
    """Attempts in a stable order, which never depends on timing."""

    attempts: tuple[Attempt, ...]


Value = Task | Attempt | Many


def verdict_body(verdict: Verdict) -> dict[str, Json]:
    """The verdict's JSON form; `verdict_from` is its inverse. What it does not say is left out."""
    body: dict[str, Json] = {
        "score": verdict.score,
        "passed": verdict.passed,
        "evidence": verdict.evidence,
    }
    body |= {} if verdict.valid else {"valid": False}
    body |= {"flags": list(verdict.flags)} if verdict.flags else {}
    body |= {} if verdict.cost is None else {"cost": verdict.cost}
    return body | ({} if verdict.first is None else {"first": verdict.first})


def verdict_from(body: Mapping[str, Any]) -> Verdict:
    """The verdict whose body this is. Raises TypeError on another shape."""
    fields: dict[str, Any] = {**body, "flags": tuple(body.get("flags", ()))}
    return Verdict(**fields)
