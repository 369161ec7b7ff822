"""The fold of a run's events: what each node did and cost, the best so far, how the run ended.

Everything that shows a run reads this one fold, while it runs (event by event) and afterwards.
The rule this file keeps: every settled try counts once, at one node; so the run's total is the sum
of what its nodes spent themselves, after any prefix of the list.

One file of some length: each event touches several of the figures, which must agree after each.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any, Literal, assert_never

from podium.dsl.program import Budget, Program

from .event import (
    AccountOpened,
    CallAnswered,
    CallFailed,
    CallIntended,
    CallWaits,
    Decided,
    Event,
    Improved,
    Measured,
    NodeEnded,
    NodeStarted,
    Ordered,
    Rented,
    RunEnded,
    RunStarted,
    Said,
    Scored,
    Stamped,
    TaskEnded,
    Unflagged,
    is_afterword,
)
from .fates import NO_TRIES, Fates, Tries, one
from .orders import topped
from .spend import NO_SPEND, rented, spend_of, unpriced
from .spend import Spend as Spend

BASELINE = "baseline"  # the kind of the node that scores a task's
NO_SANDBOX = "none"  # the name of what --unsafe-sandbox gives
_JUDGED = ("passed", "finished")
_Rare = (
    RunStarted
    | Scored
    | Improved
    | Unflagged
    | Measured
    | TaskEnded
    | RunEnded
    | AccountOpened
    | Ordered
    | Rented
)


@dataclass(slots=True)
class Node:
    """One node that has started. outcome is None while it runs; own leaves out its children's spend.

    began, rounds_left: as in NodeEnded. line: the branch it belongs to, if to one.
    """

    address: str
    kind: str
    label: str
    outcome: str | None = None
    reason: str = ""
    score: float | None = None
    own: Spend = NO_SPEND
    began: bool = True
    rounds_left: int = 0
    line: str | None = None


@dataclass(slots=True)
class Branch:
    """One line of progress: a branch of an outermost `parallel`, or the node it stands for.

    activity: what happened last, in a few words; it may quote a model's text, uncleaned.
    """

    address: str
    label: str
    activity: str = ""
    outcome: str | None = None
    score: float | None = None
    spend: Spend = NO_SPEND


@dataclass(frozen=True, slots=True)
class Score:
    """A verdict on an attempt. by: who made it, one agent (alone or as a member) or a whole team."""

    address: str
    by: Literal["agent", "team"]
    score: float | None
    passed: bool | None


@dataclass(frozen=True, slots=True)
class Best:
    """The run's best attempt so far. tree: its files, as of Attempt."""

    address: str
    answer: Any
    score: float | None
    passed: bool | None
    tree: str = ""


@dataclass(frozen=True, slots=True)
class Baseline:
    """What there was to beat. Of several tasks: the mean of the scores, and whether all passed."""

    tasks: int
    score: float | None
    passed: bool


@dataclass(slots=True)
class Fold:
    """Feed it events in order; an event whose number it has seen changes nothing.

    unpriced, rented: names of the models whose price is unknown, and of those with a rent. better: the task's.
    budget: the run's own, as its first account was opened with.
    scores: by the attempt's address and the verifier's name.
    outside: what no node spent itself: the rent, and calls made before any node had started.
    busy: the branch in which something was done last.
    flags: of the attempts that have some, by address. unflagged: the best attempt without one, where `best` has
    one. measured: the finalists whose scores are random, by address. tasks: of a run of several those that ended.
    verifiers: what the verifiers of the run's tasks are called; nobody's where that is not known.
    sandbox: where programs were started; NO_SANDBOX where that was so in any of its lives.
    ended: None while the run is live.
    """

    unpriced: frozenset[str] = frozenset()
    better: Literal["higher", "lower"] = "higher"
    nodes: dict[str, Node] = field(default_factory=dict[str, Node])
    branches: dict[str, Branch] = field(default_factory=dict[str, Branch])
    scores: dict[tuple[str, str], Score] = field(default_factory=dict[tuple[str, str], Score])
    waiting: dict[str, CallWaits] = field(default_factory=dict[str, CallWaits])
    total: Spend = NO_SPEND
    outside: Spend = NO_SPEND
    busy: str = ""
    budget: Budget | None = None
    best: Best | None = None
    unflagged: Best | None = None
    flags: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    measured: dict[str, Measured] = field(default_factory=dict[str, Measured])
    tasks: dict[str, TaskEnded] = field(default_factory=dict[str, TaskEnded])
    ended: RunEnded | None = None
    sandbox: str = ""
    lives: int = 0
    seen: int = 0
    lost: int = 0
    _open: dict[tuple[str, int], CallIntended] = field(
        default_factory=dict[tuple[str, int], CallIntended]
    )
    _fates: Fates = field(default_factory=Fates)
    rented: frozenset[str] = frozenset()
    verifiers: frozenset[str] = frozenset()
    _before_s: float = 0.0
    _began: float | None = None
    _last: float = 0.0

    def add(self, stamped: Stamped) -> None:
        """Take one event in. Never raises, whatever came before."""
        if stamped.number < self.seen:
            return
        self.seen = stamped.number + 1
        self._take(stamped.event, stamped.time)
        if not is_afterword(stamped.event):
            self._last = stamped.time

    def _take(self, event: Event, time: float) -> None:
        match event:
            case NodeStarted():
                self._start_node(event)
            case NodeEnded():
                self._end_node(event)
            case CallIntended(address=address):
                self._open[(address, event.try_)] = event
                self._again(event)
                self._busy(address, _doing(event))
            case CallAnswered():
                self._settle(event)
            case CallFailed(address=address):
                self.lost += event.kind == "lost"
                self._settle(event)
                self._busy(address, f"failed: {event.message}")
            case CallWaits(address=address, why=why):
                self.waiting[address] = event
                self._busy(address, f"waits: {why}")
            case Said(address=address):
                said = f"round {event.round}, {event.role} {event.seat}: {event.text}"
                self._busy(address, said)
            case Decided():
                pass
            case _:
                self._take_rare(event, time)

    def _take_rare(self, event: _Rare, time: float) -> None:
        match event:
            case RunStarted(sandbox=sandbox):
                self._start_life(time)
                if self.sandbox != NO_SANDBOX:  # one life without is enough
                    self.sandbox = sandbox or self.sandbox
            case Scored():
                self._score(event)
            case Improved(tree=tree):
                self.best = Best(event.address, event.answer, event.score, event.passed, tree)
            case Unflagged():
                self.unflagged = Best(event.address, event.answer, event.score, event.passed)
            case Measured():
                self.measured[event.address] = event
            case TaskEnded():
                self.tasks[event.address] = event
            case RunEnded():
                self.ended = event
                self._before_s, self._began = event.seconds, None
            case AccountOpened(usd=usd, tokens=tokens, calls=calls, seconds=seconds):
                self.budget = self.budget or Budget(usd, tokens, calls, seconds)
            case Ordered():
                self.budget = None if self.budget is None else topped(self.budget, event)
            case Rented(spent=spent):
                rent = Spend(spent, rent=spent.usd)
                self.total, self.outside = self.total.plus(rent), self.outside.plus(rent)
            case _:
                assert_never(event)

    # --- questions ---------------------------------------------------------------------------

    @property
    def held(self) -> int:
        """Calls whose hold is not settled: 0 after every run that ended."""
        return len(self._open)

    @property
    def seconds(self) -> float:
        """How long the run was live, its earlier lives included, up to the last event seen."""
        return self.seconds_at(self._last)

    def seconds_at(self, time: float) -> float:
        """The same up to time (seconds since the epoch), if the run still lives then."""
        live = 0.0 if self._began is None else max(0.0, time - self._began)
        return self._before_s + live

    def totals(self) -> dict[str, Spend]:
        """What each node spent with all that lies below it, by address."""
        sums = dict.fromkeys(self.nodes, NO_SPEND)
        for address, node in self.nodes.items():
            above: str | None = address
            while above is not None:
                sums[above] = sums[above].plus(node.own)
                above = self.parent(above)
        return sums

    @property
    def best_unflagged(self) -> Best | None:
        """The best attempt so far that no flag is on; None where there is none."""
        flagged = self.best is not None and self.best.address in self.flags
        return self.unflagged if flagged else self.best

    @property
    def baseline(self) -> Baseline | None:
        """What the tasks' baselines are worth, as far as they are scored; None where there is none."""
        scored = [
            node
            for node in self.nodes.values()
            if node.kind == BASELINE and node.outcome in _JUDGED
        ]
        if not scored:
            return None
        scores = [node.score for node in scored if node.score is not None]
        passed = all(node.outcome == "passed" for node in scored)
        return Baseline(len(scored), fmean(scores) if scores else None, passed)

    def is_better(self, new: float, old: float) -> bool:
        """Whether new beats old in the task's direction."""
        return new > old if self.better == "higher" else new < old

    def parent(self, address: str) -> str | None:
        """The nearest started node strictly above address."""
        return self._nearest(_up(address))

    def owner(self, address: str) -> str | None:
        """The node that what happened at address belongs to: the nearest one at or above it."""
        return self._nearest(address)

    def tree(self) -> dict[str | None, list[Node]]:
        """The nodes directly below each node, in the order of their start; the topmost under None."""
        below: dict[str | None, list[Node]] = {}
        for address, node in self.nodes.items():
            below.setdefault(self.parent(address), []).append(node)
        return below

    # --- changes -----------------------------------------------------------------------------

    def _start_life(self, time: float) -> None:
        self.lives += 1
        self.ended = None
        self._before_s, self._began = self.seconds, time

    def _start_node(self, event: NodeStarted) -> None:
        """A node that starts again, in a later life, keeps what it has spent."""
        node = self.nodes.get(event.address)
        if node is None:
            node = Node(event.address, event.kind, event.label)
            self.nodes[event.address] = node
        node.kind, node.label, node.outcome, node.reason = event.kind, event.label, None, ""
        node.line = self._branch_of(event.address)
        key = None if event.kind == BASELINE else node.line
        if key is not None and event.kind == "parallel" and not self._in_parallel(key):
            # A chain that began as one line: its branches stand for it.
            self.branches.pop(key, None)
            key = None
        if key is None:
            return
        branch = self.branches.get(key)
        if branch is None:
            branch = self.branches[key] = Branch(key, event.label)
        if key == event.address:
            branch.label, branch.outcome, branch.activity = event.label, None, "starts"

    def _settle(self, event: CallAnswered | CallFailed) -> None:
        intent = self._open.pop((event.address, event.try_), None)
        self.waiting.pop(event.address, None)
        model = "" if intent is None else intent.model
        fate = self._fates.ended(intent, event)
        tries = NO_TRIES if fate is None else one(fate)
        spend = spend_of(event, model, self.unpriced, tries)
        if model in self.rented:
            spend = replace(spend, rented_ms=round(event.seconds * 1000))
        self._spend(event.address, spend)

    def _again(self, intent: CallIntended) -> None:
        """A try that is sent may change what is said of the one before it."""
        changed = self._fates.begun(intent)
        if changed is not None:
            address, was, now = changed
            self._spend(address, Spend(tries=Tries(**{was: -1, now: 1})))

    def _spend(self, address: str, spend: Spend) -> None:
        """Count spend once, at the node that address belongs to."""
        self.total = self.total.plus(spend)
        owner = self._nearest(address)
        if owner is None:
            self.outside = self.outside.plus(spend)
        else:
            node = self.nodes[owner]
            node.own = node.own.plus(spend)
        if branch := self._branch(address):
            branch.spend = branch.spend.plus(spend)

    def _score(self, event: Scored) -> None:
        team = self._team_of(event.address)
        leaves = team is not None and (team.outcome is not None or team.address == event.address)
        if team is not None and leaves and event.score is not None:
            team.score = event.score
        by: Literal["agent", "team"] = "team" if leaves else "agent"
        score = Score(event.address, by, event.score, event.passed)
        self.scores[(event.address, event.verifier)] = score
        if event.flags:
            self.flags[event.address] = event.flags
        branch = self._branch(event.address)
        if branch is None:
            return
        if event.score is None:
            branch.activity = "passed" if event.passed else "did not pass"
            return
        branch.activity = f"scored {event.score:g}"
        if branch.score is None or self.is_better(event.score, branch.score):
            branch.score = event.score

    def _team_of(self, address: str | None) -> Node | None:
        """The team that address lies in. What is judged after a team ended is the team's answer, whichever
        member wrote it; what is judged before is a member's submission."""
        while (owner := self._nearest(address)) is not None:
            if self.nodes[owner].kind == "team":
                return self.nodes[owner]
            address = _up(owner)
        return None

    def _end_node(self, event: NodeEnded) -> None:
        node = self.nodes.get(event.address)
        if node is None:
            node = self.nodes[event.address] = Node(event.address, "", "")
        node.outcome, node.reason, node.score = event.outcome, event.reason, event.score
        node.began, node.rounds_left = event.began, event.rounds_left
        branch = self.branches.get(event.address)
        if branch is not None:
            branch.outcome = event.outcome
            branch.activity = event.reason
            branch.score = branch.score if event.score is None else event.score

    def _busy(self, address: str, activity: str) -> None:
        if branch := self._branch(address):
            where = address.removeprefix(branch.address).strip("/").partition("/")[0]
            branch.activity = f"{where} {activity}".lstrip()
            self.busy = branch.address

    # --- addresses ---------------------------------------------------------------------------

    def _nearest(self, address: str | None) -> str | None:
        while address is not None and address not in self.nodes:
            address = _up(address)
        return address

    def _branch_of(self, address: str) -> str | None:
        """The line that address belongs to: the segment below the outermost parallel above it.

        A node with no parallel above it stands for itself if it lies directly below the run, and is
        no `parallel` itself: that one is shown by its branches.
        """
        first: Node | None = None
        end = address.find("/")
        below = end
        while end >= 0:
            node = self.nodes.get(address[:end])
            after = address.find("/", end + 1)
            if node is not None and node.kind == "parallel":
                return address if after < 0 else address[:after]
            if end > below:
                first = first or node
            end = after
        first = first or (self.nodes.get(address) if below >= 0 else None)
        return None if first is None or first.kind == "parallel" else first.address

    def _in_parallel(self, branch: str) -> bool:
        above = self.nodes.get(_up(branch) or "")
        return above is not None and above.kind == "parallel"

    def _branch(self, address: str) -> Branch | None:
        above = self.nodes.get(address.rpartition("/")[0])
        # A call of a node: what is found once for the node is true of all that it does itself.
        key = None if above is None or above.kind == "parallel" else above.line
        key = key or self._branch_of(address)
        return None if key is None else self.branches.get(key)


def fold_for(program: Program) -> Fold:
    """An empty fold that knows which prices are unknown, and direction and verifiers of the program's tasks."""
    better = program.tasks[0].better if program.tasks else "higher"
    own = frozenset(task.verify.name for task in program.tasks if task.verify is not None)
    return Fold(unpriced(program), better, rented=rented(program), verifiers=own)


def fold(events: Iterable[Stamped], unpriced: frozenset[str] = frozenset()) -> Fold:
    """All of events, folded."""
    folded = Fold(unpriced)
    for stamped in events:
        folded.add(stamped)
    return folded


def _up(address: str) -> str | None:
    """The address one segment shorter; None above the first."""
    return address.rpartition("/")[0] or None


def _doing(intent: CallIntended) -> str:
    match intent.kind:
        case "model":
            return f"asks {intent.model}"
        case "tool":
            return f"uses {intent.replica}"
        case _:
            return "is judged"
