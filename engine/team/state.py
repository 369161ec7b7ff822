"""One team at work: what its phases read and change."""

from dataclasses import dataclass, field

from podium.dsl.program import Role, Team

from ..commons import Commons
from ..condition import names
from ..event import Said
from ..joint import Joint
from ..outcome import Exhausted
from ..value import Attempt, Value
from ..walk import Ended, Failure, Here
from .board import Post
from .ceo import Settings

# How much of a message an event shows, in characters.
LINE = 200


@dataclass(slots=True, eq=False)
class State:
    """own: each seat's last solution. provisional: solutions kept until the team has submitted one.

    standing: the solution that members judge and build on. stale: rounds since the best score rose.
    rounds: how many have begun. evaluation: what was said at the end of the last cycle.
    commons: of a team at work. joint: its files, where members have a folder. winners: seats that submitted what
    ends it. won: the round was ended by one.
    """

    flow: Team
    here: Here
    value: Value
    settings: Settings
    roles: dict[int, Role]
    posts: list[Post] = field(default_factory=list[Post])
    own: dict[int, str] = field(default_factory=dict[int, str])
    personas: dict[int, str] = field(default_factory=dict[int, str])
    submissions: list[tuple[int, Attempt]] = field(default_factory=list[tuple[int, Attempt]])
    provisional: list[Attempt] = field(default_factory=list[Attempt])
    standing: Attempt | None = None
    evaluation: str = ""
    rounds: int = 0
    stop: bool = False
    refused: Exhausted | None = None
    stale: int = 0
    consensus: bool = False
    accepted: bool = False
    commons: Commons | None = None
    joint: Joint | None = None
    winners: set[int] = field(default_factory=set[int])
    won: bool = False
    failures: list[Failure] = field(default_factory=list[Failure])

    @property
    def scores_visible(self) -> bool:
        verifier = self.here.task.verify
        return verifier is not None and verifier.use == "always"

    @property
    def marks(self) -> bool:
        """Whether members are asked to say that they agree; a cycle's end accepts in their place."""
        asked = {"consensus"} if self.flow.closes else {"consensus", "accepted"}
        return not names(self.flow.until).isdisjoint(asked)


def note_end(state: State, ended: Ended) -> None:
    """Keep what went wrong. A refusal ends the team after this round, unless it was a seat's own budget."""
    state.failures.extend(ended.failures)
    outcome = ended.outcome
    own = f"{state.here.world.account}/{state.here.address}/m"
    if isinstance(outcome, Exhausted) and not outcome.account.startswith(own):
        state.refused = state.refused or outcome


def told_by_others(state: State, name: str, text: str) -> None:
    """Put words from outside the members on the board; they are no solution of the team's own."""
    state.posts.append(Post(state.rounds, 0, name, text, solution=False))
    line = " ".join(text.split())[:LINE]
    state.here.recorder.emit(Said(state.here.address, state.rounds, 0, name, line))
