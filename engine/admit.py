"""Admission: money, slot and replica together or not at all.

`admit` is one synchronous function over the queue, the ledger and the fleet. Nobody waits with money in
hand and nobody waits with a slot in hand, so there is no deadlock and nothing idle is held.

A call waits in one of three places. In its pool (of a model, a verifier or a tool) it waits for a slot: first
comes the account above runs that was served least, of its runs the least served one, then its team, whose turn is
for all of it that waits, and its node, whose own calls come in order of arrival. Pools whose models stand on the
same servers take turns in the same way. In the line of the account that refused it, a call waits for money: first
come, first served. Behind a call that begins as it does it waits for that to have been read, as `leading` has it.
A change wakes the places it concerns and no others.

Long because the pure decision and the door that waits for it share every field of the queue.
"""

import math
from collections.abc import Callable, Iterable, MutableMapping
from dataclasses import dataclass, field
from heapq import heappop, heappush

import anyio

from .call import BudgetExhausted, Call, ModelCall, Replica, ToolUse, VerifierCall, digest
from .fair import REMEMBERED, Turns
from .fleet import Fleet, Spot, Wish
from .leading import HANDS, Lead, Leads, marks_of
from .ledger import NOTHING, Amount, Hold, Ledger, Refused
from .placing import prefix_of

# Calls of one verifier at a time, where it does not say.
VERIFIER_INFLIGHT = 8
# Calls of one tool at a time, likewise.
TOOL_INFLIGHT = 16
# Calls moved from an account's line to full pools in one go, while something that is held there will
# wake the line again: it bounds what an event costs when both money and slots are short.
MOVES = 16
TICK_S = 0.001


@dataclass(slots=True, eq=False)
class Waiting:
    """A call that waits. path: with whom it shares turns, as of `fair.Waiter`. amount None: it needs no
    money. prefix: of its prompt, as of `placing.prefix_of`; marks: as of `leading.marks_of`; follows: how often it
    followed another call. avoid: where it failed last. outcome: a Grant, or what its task must raise. in_line: it
    waits for money."""

    order: int
    pool: str
    path: tuple[str, ...]
    account: str
    amount: Amount | None
    team: str = ""
    prefix: int = 0
    marks: tuple[int, ...] = ()
    homes: tuple[int, ...] = ()
    follows: int = 0
    avoid: Replica | None = None
    outcome: "Grant | Exception | None" = None
    gone: bool = False
    in_line: bool = False
    wake: anyio.Event | None = None

    def __lt__(self, other: "Waiting") -> bool:
        return self.order < other.order

    @property
    def live(self) -> bool:
        return self.outcome is None and not self.gone

    @property
    def tokens(self) -> int:
        return 0 if self.amount is None else self.amount.tokens

    @property
    def wish(self) -> Wish:
        return Wish(self.pool, self.team or self.path[-1], self.tokens, self.prefix, self.avoid)

    @property
    def service(self) -> int:
        """What its turn counts for; a call without tokens counts for itself."""
        return self.tokens or 1


@dataclass(slots=True, eq=False)
class Grant:
    """The right to send one try. replica and hold are None for a verifier and for a tool.

    `begun` says that its prompt was read, `leave` gives the slot back, `settle` ends the hold at what the try
    cost; all wake who can go now, and may be called again without effect. lead: those who follow it.
    """

    waiting: Waiting
    replica: Replica | None
    hold: Hold | None
    _queue: "Queue"
    _turn: Callable[[], None]
    lead: Lead[Waiting] | None = None
    _left: bool = False

    def begun(self) -> None:
        if self.lead is not None and self._queue.read(self.lead):
            self._turn()

    def leave(self, *, broken_off: bool = False) -> None:
        """broken_off: the server may not have noticed yet."""
        if not self._left:
            self._left = True
            self._queue.freed(self, broken_off=broken_off)
            if self._queue.busy:
                self._turn()

    def settle(self, actual: Amount) -> None:
        if self.hold is not None and not self.hold.settled:
            self._queue.settled(self, actual)
            if self._queue.woken:
                self._turn()


@dataclass(slots=True)
class Queue:
    """All that waits, with the ledger and the fleet it waits for.

    A verifier's or a tool's pool (judges) lasts while somebody waits there or is served: tasks have verifiers
    of their own, so they may be as many as the tasks. busy: the pools where somebody may wait. served: what
    the accounts above all others were served, in all pools; level: of the one that went last.
    """

    ledger: Ledger
    fleet: Fleet
    pools: dict[str, Turns[Waiting]] = field(default_factory=dict[str, Turns[Waiting]])
    lines: dict[str, list[Waiting]] = field(default_factory=dict[str, list[Waiting]])
    woken: dict[str, None] = field(default_factory=dict[str, None])
    judging: dict[str, int] = field(default_factory=dict[str, int])
    judges: dict[str, int] = field(default_factory=dict[str, int])
    busy: dict[str, None] = field(default_factory=dict[str, None])
    served: dict[str, float] = field(default_factory=dict[str, float])
    leads: Leads[Waiting] = field(default_factory=Leads[Waiting])
    level: float = 0.0
    turn: Callable[[], None] = lambda: None
    count: int = 0

    def arrive(self, call: Call, amount: Amount | None, avoid: Replica | None = None) -> Waiting:
        """Have call wait for a slot, and for amount where it costs something; `admit` then decides. avoid: where
        it failed last."""
        self.count += 1
        match call:
            case ModelCall():
                pool, group = call.model, call.group
            case VerifierCall():
                pool, group = verifier_pool(call), ""
                self.judges[pool] = call.verifier.inflight or VERIFIER_INFLIGHT
            case ToolUse(tool=tool):
                wanted = digest([tool.kind, dict(tool.args)])
                pool, group = f"tool {tool.name} {wanted[:16]}", ""
                self.judges[pool] = tool.inflight or TOOL_INFLIGHT
        node = call.address.rpartition("/")[0]
        team = f"team {group}" if group else ""
        path = (*self._above(call.account), *((team, node) if team else (node,)))
        prefix = prefix_of(call) if self.fleet.shares(pool) else 0
        marks = marks_of(call, path[0]) if self.fleet.leads(pool) else ()
        waiting = Waiting(
            self.count, pool, path, call.account, amount, team, prefix, marks, avoid=avoid
        )
        # As in `fair`: no credit for time in which an account did not wait.
        self.served[path[0]] = max(self.served_to(waiting), self.level)
        self.stand(waiting)
        return waiting

    def _above(self, account: str) -> tuple[str, ...]:
        """The account above all others, and the run where that is another one."""
        root = account
        for one in self.ledger.accounts[account].upwards():
            root = one.name
        run = account.partition("/")[0]
        return (root,) if root == run else (root, run)

    def stand(self, waiting: Waiting) -> None:
        """Have waiting in its pool."""
        if waiting.pool not in self.pools:
            self.pools[waiting.pool] = Turns[Waiting]()
        if waiting.prefix:
            waiting.homes = self.fleet.homes(waiting.wish)
        self.pools[waiting.pool].add(waiting)
        self.busy[waiting.pool] = None

    def served_to(self, waiting: Waiting) -> float:
        """What the account above waiting was served so far."""
        return self.served.get(waiting.path[0], 0.0)

    def serve(self, waiting: Waiting, tokens: int) -> None:
        self.pools[waiting.pool].serve(waiting.path, tokens)
        self.served[waiting.path[0]] = self.served_to(waiting) + tokens
        if len(self.served) > 2 * REMEMBERED:
            self.served = {name: sum_ for name, sum_ in self.served.items() if sum_ > self.level}

    def forget(self, run: str) -> None:
        """No call of run comes any more."""
        for pool in self.pools.values():
            pool.forget(self._above(run))

    def withdraw(self, waiting: Waiting) -> None:
        """waiting gives up; whoever stood behind it may go."""
        waiting.gone = True
        for account in self.ledger.accounts[waiting.account].upwards():
            self._wake(account.name)

    def freed(self, grant: Grant, *, broken_off: bool = False) -> None:
        if grant.replica is None:
            self.judging[grant.waiting.pool] -= 1
            self.tidy(grant.waiting.pool)
        else:
            now = anyio.current_time() if broken_off else -math.inf
            self.fleet.give_back(grant.replica, now)
        if grant.lead is not None:
            self.go_on(self.leads.dropped(grant.lead))

    def read(self, lead: Lead[Waiting]) -> bool:
        """The lead's prompt was read; whether somebody followed it."""
        followers = self.leads.read(lead, anyio.current_time())
        self.go_on(followers)
        return bool(followers)

    def go_on(self, followers: Iterable[Waiting]) -> None:
        """Have those who followed a lead in their pools again."""
        for waiting in followers:
            if waiting.live:
                self.stand(waiting)

    def follows(self, waiting: Waiting, spot: Spot, now: float) -> bool:
        """Have waiting follow the call that reads at spot what it begins with; False where none does."""
        lead = self.leads.leader(spot.cache, waiting.marks, now)
        if lead is None:
            return False
        waiting.follows += 1
        self.leads.follow(lead, waiting, now)
        return True

    def settled(self, grant: Grant, actual: Amount) -> None:
        hold, waiting = grant.hold, grant.waiting
        assert hold is not None
        self.ledger.settle(hold, actual)
        self.serve(waiting, actual.tokens - hold.amount.tokens)
        for account in hold.account.upwards():
            self._wake(account.name)

    def _wake(self, account: str) -> None:
        if account in self.lines:
            self.woken[account] = None

    def tidy(self, pool: str) -> None:
        """Forget a verifier's pool that is empty and idle."""
        if pool in self.judges and self.pools[pool].first() is None and not self.judging.get(pool):
            del self.pools[pool], self.judges[pool]
            self.judging.pop(pool, None)
            self.busy.pop(pool, None)

    def has_place(self, waiting: Waiting, now: float) -> bool:
        if waiting.pool in self.judges:
            return self.judging.get(waiting.pool, 0) < self.judges[waiting.pool]
        return self.fleet.has_place(waiting.pool, waiting.tokens, now)

    def first(self, account: str) -> Waiting | None:
        """The head of the account's line."""
        line = self.lines.get(account)
        while line and not line[0].live:
            heappop(line)
        if not line:
            self.lines.pop(account, None)
            return None
        return line[0]

    def wake_at(self, now: float) -> float:
        """When the passing of time may let a call go; infinite where only an event can."""
        waits = [
            self.fleet.opens_at(name, head.tokens, now)
            for name in self.busy
            if name not in self.judges and (head := self.pools[name].first()) is not None
        ]
        return min(self.leads.opens_at(), *waits, math.inf)


def verifier_pool(call: VerifierCall) -> str:
    """The name of the verifier's own pool: the same verifier, the same pool, whoever asks."""
    wanted = digest([call.verifier.kind, dict(call.verifier.args)])
    return f"verifier {call.verifier.name} {wanted[:16]}"


def admit(queue: Queue, now: float) -> list[Waiting]:
    """Decide all that can be decided now; each call returned has its outcome."""
    decided: list[Waiting] = []
    queue.fleet.pass_time(now)
    if queue.leads.led:
        queue.go_on(queue.leads.late(now))
    while queue.woken:
        _advance_line(queue, queue.woken.popitem()[0], now, decided)
    _fill(queue, now, decided)
    return decided


def _fill(queue: Queue, now: float, decided: list[Waiting]) -> None:
    """Give free slots away, one by one, each to the pool whose next account was served least."""
    heads: list[tuple[float, Waiting]] = []
    for name in tuple(queue.busy):
        _line_up(queue, name, now, heads)
    while heads:
        head = heappop(heads)[1]
        if _give(queue, head, now, decided):
            _line_up(queue, head.pool, now, heads)


def _line_up(queue: Queue, name: str, now: float, heads: list[tuple[float, Waiting]]) -> None:
    places = None if name in queue.judges else queue.fleet.places(name, now)
    head = queue.pools[name].first(places)
    if head is None:
        del queue.busy[name]
        queue.tidy(name)
    else:
        heappush(heads, (queue.served_to(head), head))


def _give(queue: Queue, head: Waiting, now: float, decided: list[Waiting]) -> bool:
    """Decide the first of a pool; False where there is no room for it."""
    refusal = None if head.pool in queue.judges else queue.fleet.refusal(head.pool, now)
    if refusal is None and not queue.has_place(head, now):
        return False
    queue.pools[head.pool].pop()
    queue.level = max(queue.level, queue.served_to(head))
    if refusal is not None:
        head.outcome = refusal
        decided.append(head)
    else:
        _consider(queue, head, now, decided)
    return True


def _advance_line(queue: Queue, account: str, now: float, decided: list[Waiting]) -> None:
    """Let the line of account move as far as its money goes."""
    moved = 0
    while (head := queue.first(account)) is not None:
        heappop(queue.lines[account])
        head.in_line = False
        if queue.has_place(head, now):
            refused_by = _consider(queue, head, now, decided)
        else:
            refused_by = _try_money(queue, head, decided)
            moved += head.outcome is None and refused_by is None
        if refused_by == account:
            return
        if moved >= MOVES and queue.ledger.accounts[account].held != NOTHING:
            return


def _blocked(queue: Queue, waiting: Waiting) -> str | None:
    """The nearest account above waiting where somebody who came earlier waits for money."""
    for account in queue.ledger.accounts[waiting.account].upwards():
        head = queue.first(account.name)
        if head is not None and head < waiting:
            return account.name
    return None


def _hold(queue: Queue, waiting: Waiting, decided: list[Waiting]) -> Hold | str | None:
    """The hold, None where none is needed or the call's outcome is set, or the account whose line it joined."""
    if waiting.amount is None:
        return None
    by = _blocked(queue, waiting) if queue.lines else None
    if by is None:
        match queue.ledger.hold(waiting.account, waiting.amount):
            case Hold() as hold:
                return hold
            case Refused(account=account, dimension=dimension, final=True):
                waiting.outcome = BudgetExhausted(account, dimension)
                decided.append(waiting)
                return None
            case Refused(account=account):
                by = account
    heappush(queue.lines.setdefault(by, []), waiting)
    waiting.in_line = True
    return by


def _try_money(queue: Queue, waiting: Waiting, decided: list[Waiting]) -> str | None:
    """Send waiting to its pool if its money is there; the account whose line it joined, else None."""
    match _hold(queue, waiting, decided):
        case str() as by:
            return by
        case Hold() as hold:
            queue.ledger.release(hold)
            queue.stand(waiting)
        case None:
            pass
    return None


def _consider(queue: Queue, waiting: Waiting, now: float, decided: list[Waiting]) -> str | None:
    """Grant waiting what it needs, or have it follow another; its pool has a place. The account whose line it
    joined, else None."""
    spot: Spot | None = None
    if waiting.marks and waiting.follows < HANDS:
        spot = queue.fleet.where(waiting.wish, now)
        if spot is not None and queue.follows(waiting, spot, now):
            return None
    found = _hold(queue, waiting, decided)
    if isinstance(found, str):
        return found
    if waiting.outcome is not None:
        return None
    replica: Replica | None = None
    led: Lead[Waiting] | None = None
    if waiting.pool in queue.judges:
        queue.judging[waiting.pool] = queue.judging.get(waiting.pool, 0) + 1
    else:
        replica = queue.fleet.place(waiting.wish, now, spot)
        assert replica is not None, "has_place was asked in the same step"
        if waiting.team and waiting.prefix:
            queue.pools[waiting.pool].moved(waiting, queue.fleet.cache_of(replica))
        if waiting.marks:
            led = queue.leads.go(queue.fleet.cache_of(replica), waiting.marks, now)
    queue.serve(waiting, waiting.service)
    waiting.outcome = Grant(waiting, replica, found, queue, queue.turn, led)
    decided.append(waiting)
    return None


def _taken(waiting: Waiting) -> Grant:
    """The grant that was decided, or the error raised."""
    outcome = waiting.outcome
    assert outcome is not None
    if isinstance(outcome, Exception):
        raise outcome
    # No ring of the two: it would wait for the collector.
    waiting.outcome, waiting.gone = None, True
    return outcome


class Admission:
    """The door that calls pass. Use it from one event loop."""

    def __init__(self, ledger: Ledger, fleet: Fleet) -> None:
        self.ledger = ledger
        self.fleet = fleet
        self._queue = Queue(ledger, fleet, turn=self.turn)
        self._waiting: dict[Waiting, None] = {}
        self._keeper: Waiting | None = None
        self._alarm: anyio.CancelScope | None = None

    async def enter(
        self,
        call: Call,
        amount: Amount | None,
        tell: Callable[[str, float | None], None],
        avoid: Replica | None = None,
        queued: MutableMapping[Waiting, Call] | None = None,
    ) -> Grant:
        """Wait, holding nothing, until call may be sent; amount is then held, its slot taken.

        tell(why, seconds) is called once if it has to wait, with why as in `CallWaits`. avoid: the replica where
        it failed last, which it goes to again only where no other endpoint has room. queued: has the call while it
        waits, for whoever may `refuse` it.
        Raises BudgetExhausted where the amount can never fit, CallError where the model's endpoints
        are closed, Outage. Cancelled, it leaves nothing behind.
        """
        waiting = self._queue.arrive(call, amount, avoid)
        self._waiting[waiting] = None
        # Behind another one it has to wait, as that one does; nothing else is there to decide.
        if self._queue.pools[waiting.pool].first() is waiting:
            self.turn()
        if waiting.outcome is None:
            queued = {} if queued is None else queued
            queued[waiting] = call
            try:
                tell(*self._why(waiting))
                await self._wait(waiting)
            except BaseException:
                self._withdraw(waiting)
                raise
            finally:
                del queued[waiting]
        return _taken(waiting)

    def refuse(self, waiting: Waiting, error: Exception) -> None:
        """Have the call of a task that waits raise error, unless something was decided on it."""
        if waiting.outcome is None:
            self._withdraw(waiting)
            waiting.outcome = error
            if waiting.wake is not None:
                waiting.wake.set()

    def turn(self) -> None:
        """Decide anew, after something changed that this door does not see (an account, a replica)."""
        now = anyio.current_time()
        for waiting in admit(self._queue, now):
            self._waiting.pop(waiting, None)
            if waiting.wake is not None:
                waiting.wake.set()
        if self._alarm is not None:
            wake_at = max(self._queue.wake_at(now), now + TICK_S)
            if (
                wake_at != self._alarm.deadline
            ):  # setting it costs the loop a look at all its deadlines
                self._alarm.deadline = wake_at

    def poke(self) -> None:
        """The same, for all lines: after a limit was raised."""
        self._queue.woken.update(dict.fromkeys(self._queue.lines))
        self.turn()

    def drain(self, replica: str, drained: bool) -> None:
        """Send nothing more to the replicas of that name, or, where drained is False, have them back."""
        (self.fleet.drain if drained else self.fleet.undrain)(replica)
        self.turn()

    def forget(self, run: str) -> None:
        """The run has ended: no call of it comes any more. Its account is still open."""
        self._queue.forget(run)

    async def _wait(self, waiting: Waiting) -> None:
        """Wait for the outcome. One of those who wait, the keeper, also watches the clock for all."""
        while waiting.outcome is None:
            wake = waiting.wake = anyio.Event()
            if self._keeper is not None:
                await wake.wait()
            else:
                self._keeper = waiting
                try:
                    await self._keep(waiting, wake)
                finally:
                    self._keeper = self._alarm = None
                    self._hand_over(waiting)

    async def _keep(self, waiting: Waiting, wake: anyio.Event) -> None:
        while waiting.outcome is None:
            now = anyio.current_time()
            # Never in the past: a clock that only jumps when all wait would stand still.
            wake_at = max(self._queue.wake_at(now), now + TICK_S)
            with anyio.CancelScope(deadline=wake_at) as self._alarm:
                await wake.wait()
            self.turn()

    def _hand_over(self, keeper: Waiting) -> None:
        """Wake another one, which then finds that there is no keeper: the latest, as it may wait longest."""
        other = next((one for one in reversed(self._waiting) if one is not keeper), None)
        if other is not None and other.wake is not None:
            other.wake.set()

    def _withdraw(self, waiting: Waiting) -> None:
        self._waiting.pop(waiting, None)
        if isinstance(waiting.outcome, Grant):
            waiting.outcome.leave()
            waiting.outcome.settle(NOTHING)
        else:
            self._queue.withdraw(waiting)
            self.turn()

    def _why(self, waiting: Waiting) -> tuple[str, float | None]:
        now = anyio.current_time()
        if waiting.in_line:
            return "budget", None
        if waiting.follows:
            return "leader", None
        if waiting.amount is None:
            return "slot", None
        opens = self.fleet.opens_at(waiting.pool, waiting.tokens, now)
        return self.fleet.why(waiting.pool, now), None if opens == math.inf else opens - now
