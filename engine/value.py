"""What flows between nodes: `Task`, `Attempt`, `Many`; all frozen, all with a JSON form."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from podium.dsl.program import Task

Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """A verifier's judgement. score: finite; None where the verifier gave only pass or fail.

    passed None: neither the verifier nor the task's pass rule says.
    """

    score: float | None
    passed: bool | None
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class Attempt:
    """answer: the parsed `output`, else the whole reply; text: the reply as received.

    address: of the node that made it. before: the attempt this one revises, without its own before.
    cut: the reply ended at its cap, so that only a verifier can make it a success.
    """

    answer: Json
    text: str
    address: str
    verdict: Verdict | None = None
    before: "Attempt | None" = None
    cut: bool = False

    @property
    def score(self) -> float | None:
        return None if self.verdict is None else self.verdict.score

    @property
    def passed(self) -> bool:
        return self.verdict is not None and self.verdict.passed is True


@dataclass(frozen=True, slots=True)
class Many:
    """Attempts in a stable order, which never depends on timing."""

    attempts: tuple[Attempt, ...]


Value = Task | Attempt | Many
