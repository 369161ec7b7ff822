"""Everything that happens in a run, as a list of events; all else is a fold of that list.

`body` is the JSON form, `from_body` its inverse. An event's place in the list is its number; times are
seconds since the epoch, of the machine that ran it.
"""

from collections.abc import Callable, Mapping
from dataclasses import field, fields
from typing import Any

from .call import Usage, usage_body, usage_of
from .ledger import Amount
from .quick import quick


@quick(frozen=True, slots=True)
class RunStarted:
    """Once for each life of a run; life counts from 1. pid and host: the owner.

    windows: the context of each model by name, in tokens, as its servers told. sandbox: where programs were
    started, by its name; `none` is --unsafe-sandbox, empty where the run starts none.
    """

    life: int
    pid: int
    host: str
    version: str
    windows: Mapping[str, int] = field(default_factory=dict[str, int])
    sandbox: str = ""


@quick(frozen=True, slots=True)
class AccountOpened:
    """limit: usd (micro-dollars), tokens, calls; null is no bound. seconds: the deadline's live time."""

    address: str
    parent: str
    usd: int | None
    tokens: int | None
    calls: int | None
    seconds: float | None


@quick(frozen=True, slots=True)
class NodeStarted:
    """kind: the node's form (agent, team, parallel, best, …); label: its name in the program."""

    address: str
    kind: str
    label: str


@quick(frozen=True, slots=True)
class CallIntended:
    """On disk before a byte leaves. request: its digest; held: the worst case of this try, from 0.

    kind: model, verifier or tool. replica: where a model is asked; of a tool its name.

    messages: digests of the messages' texts, in order (`role:sha256`), kept once as blobs; of many messages one
    digest, `list:sha256`, of a text that lists them.
    """

    address: str
    try_: int
    account: str
    kind: str
    request: str
    held: Amount
    model: str = ""
    replica: str = ""
    messages: tuple[str, ...] = ()


@quick(frozen=True, slots=True)
class CallAnswered:
    """On disk, with its settlement, before the answer is used. reply: the JSON form of the Reply."""

    address: str
    try_: int
    account: str
    spent: Amount
    usage: Usage
    reply: Mapping[str, Any]
    seconds: float


@quick(frozen=True, slots=True)
class CallFailed:
    """A try without an answer. kind: CallError's, or `cancelled` or `lost` (in flight when the run died).

    estimated: spent is the hold or another upper bound, not the server's figure.
    """

    address: str
    try_: int
    account: str
    kind: str
    message: str
    spent: Amount
    usage: Usage
    estimated: bool
    seconds: float


@quick(frozen=True, slots=True)
class CallWaits:
    """The try at address waits. why: budget, slot, busy (the endpoint asked for seconds),
    outage, drained, or leader (it follows a call that begins as it does)."""

    address: str
    why: str
    seconds: float | None = None


@quick(frozen=True, slots=True)
class Decided:
    """A choice that depended on time or chance, taken once: a resumed run reads it here."""

    address: str
    name: str
    value: Any


@quick(frozen=True, slots=True)
class Said:
    """A message on a team's board: seat spoke in round; text is cut to a line for showing."""

    address: str
    round: int
    seat: int
    role: str
    text: str


@quick(frozen=True, slots=True)
class Scored:
    """An attempt made at address was judged by verifier. valid, flags: as in Verdict."""

    address: str
    verifier: str
    score: float | None
    passed: bool | None
    valid: bool = True
    flags: tuple[str, ...] = ()


@quick(frozen=True, slots=True)
class Improved:
    """The run's best attempt so far. tree: its files, as of Attempt."""

    address: str
    score: float | None
    passed: bool | None
    answer: Any
    tree: str = ""


@quick(frozen=True, slots=True)
class Unflagged:
    """The best attempt so far that no flag is on, where the run's best has one."""

    address: str
    score: float | None
    passed: bool | None
    answer: Any


@quick(frozen=True, slots=True)
class Measured:
    """A finalist of a verifier whose scores are random: its attempt was scored once more."""

    address: str
    verifier: str
    first: float | None
    second: float | None
    passed: bool | None


@quick(frozen=True, slots=True)
class TaskEnded:
    """One of a run's several tasks: how it ended, as of a run of it alone. address: what its nodes' begin with.
    tree: the files of its answer, as of Attempt."""

    address: str
    task: str
    outcome: str
    reason: str
    answer: Any
    score: float | None
    passed: bool | None
    tree: str = ""


@quick(frozen=True, slots=True)
class NodeEnded:
    """outcome and reason as in `outcome.word` and `outcome.reason`; score of what it returned, if any.

    began: whether anything was done in it. rounds_left: those a team or a repeat did not begin, as it was done.
    """

    address: str
    outcome: str
    reason: str
    score: float | None = None
    began: bool = True
    rounds_left: int = 0


@quick(frozen=True, slots=True)
class Ordered:
    """An order from outside reached the run. verb: pause, stop, topup, drain or undrain; number: the order's in
    the store, 0 for one given in this process. usd, tokens, calls, seconds: what a topup adds to the run's budget.
    replica: that a drain lets run empty, and an undrain uses again."""

    verb: str
    number: int = 0
    usd: int = 0
    tokens: int = 0
    calls: int = 0
    seconds: float = 0.0
    replica: str = ""


# So much rent is held ahead at the least. What a kill may lose is charged as so much.
RENT_AHEAD_S = 30.0


@quick(frozen=True, slots=True)
class Rented:
    """Rent of the run's models, on its account: spent since the last such event, held for what comes.

    ahead: micro-dollars that RENT_AHEAD_S cost. lost: the charge is a bound, of a life that was killed.
    """

    account: str
    spent: Amount
    held: Amount
    ahead: int
    lost: bool = False


@quick(frozen=True, slots=True)
class RunEnded:
    """outcome as of the whole run; resumable: it can be taken up again. trees: the files of its answers, as of
    Attempt, one for each task; nothing where no answer has files."""

    outcome: str
    reason: str
    resumable: bool
    answer: Any
    score: float | None
    passed: bool | None
    seconds: float
    trees: tuple[str, ...] = ()


Event = (
    RunStarted
    | AccountOpened
    | NodeStarted
    | CallIntended
    | CallAnswered
    | CallFailed
    | CallWaits
    | Decided
    | Said
    | Scored
    | Improved
    | NodeEnded
    | Ordered
    | RunEnded
    | Unflagged
    | Measured
    | Rented
    | TaskEnded
)

KINDS: dict[str, type[Event]] = {
    "run_started": RunStarted,
    "account_opened": AccountOpened,
    "node_started": NodeStarted,
    "call_intended": CallIntended,
    "call_answered": CallAnswered,
    "call_failed": CallFailed,
    "call_waits": CallWaits,
    "decided": Decided,
    "said": Said,
    "scored": Scored,
    "improved": Improved,
    "node_ended": NodeEnded,
    "ordered": Ordered,
    "run_ended": RunEnded,
    "unflagged": Unflagged,
    "measured": Measured,
    "rented": Rented,
    "task_ended": TaskEnded,
}
_NAMES = {cls: name for name, cls in KINDS.items()}


def kind_of(event: Event) -> str:
    """The event's name in JSON: `call_answered`."""
    return _NAMES[type(event)]


def is_afterword(event: Event) -> bool:
    """Whether event tells of an earlier life: a lost try or rent, noted before the next life starts its clock."""
    if isinstance(event, CallFailed):
        return event.kind == "lost"
    return isinstance(event, Rented) and event.lost


def _amount_body(amount: Amount) -> dict[str, int]:
    usd, tokens, calls = amount
    return {"usd": usd, "tokens": tokens, "calls": calls}


# A tuple's items, in a field of an event, are JSON values.
_PLAIN: dict[type, Callable[[Any], Any]] = {
    Amount: _amount_body,
    Usage: usage_body,
    tuple: list,
}


def _plain(value: Any) -> Any:
    make = _PLAIN.get(value.__class__)
    return value if make is None else make(value)


def _reader(cls: type[Event]) -> Callable[[Any], dict[str, Any]]:
    """What makes an event of cls its body: its own code, a third of the time of a loop over the fields."""
    is_plain = (str, int, float, bool, float | None, int | None, bool | None, Mapping[str, Any])
    shown: list[str] = []
    for field_ in fields(cls):
        value = f"event.{field_.name}"
        value = value if field_.type in is_plain else f"plain({value})"
        shown.append(f'"{field_.name.rstrip("_")}": {value}')
    made: Callable[[Any], dict[str, Any]] = eval(  # of names that are in this file
        f"lambda event: {{{', '.join(shown)}}}", {"plain": _plain}
    )
    return made


_BODY = {cls: _reader(cls) for cls in _NAMES}


def body(event: Event) -> dict[str, Any]:
    """The event's fields as JSON values, without its kind. try_ is written `try`."""
    return _BODY[type(event)](event)


def from_body(kind: str, values: Mapping[str, Any]) -> Event:
    """The event whose body this is. Raises KeyError on an unknown kind, TypeError on missing fields."""
    plain = {("try_" if name == "try" else name): value for name, value in values.items()}
    for name in ("held", "spent"):
        if name in plain:
            plain[name] = Amount(**plain[name])
    if "usage" in plain:
        plain["usage"] = usage_of(plain["usage"])
    if "messages" in plain:
        plain["messages"] = tuple(plain["messages"])
    if "flags" in plain:
        plain["flags"] = tuple(plain["flags"])
    if "trees" in plain:
        plain["trees"] = tuple(plain["trees"])
    return KINDS[kind](**plain)


@quick(frozen=True, slots=True)
class Stamped:
    """An event in a run's list: its number from 0 and when it happened (seconds since the epoch)."""

    number: int
    time: float
    event: Event

    def as_json(self) -> dict[str, Any]:
        """The event as a line of JSON shows it: its kind in `event`, its fields in `body`."""
        kind, fields_ = kind_of(self.event), body(self.event)
        return {"number": self.number, "time": self.time, "event": kind, "body": fields_}
