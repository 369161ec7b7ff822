"""The path of one call, put together: journal look-up, retry, admission, intent on disk, the wire, then
answer and settlement on disk.

Each step is a small function of its own; this file's order is the order of the promises, and it is long so that
they stand beside each other. An answered call costs nothing again; what may be paid is held before it is sent;
what was sent is settled once, however it ended; no answer is used before it is on disk. A call of a tool that an
earlier life left without an answer is made again, unless the tool is declared `once`.
"""

import math
import random
import uuid
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha1
from typing import Protocol, assert_never, runtime_checkable

import anyio
import anyio.lowlevel

from podium.dsl.model import Model, Price

from .admit import Admission, Grant, Waiting, verifier_pool
from .call import (
    BudgetExhausted,
    Call,
    CallError,
    Client,
    Handler,
    Interrupted,
    Message,
    ModelCall,
    ModelReply,
    Pausing,
    Replica,
    Reply,
    ToolReply,
    ToolUse,
    Usage,
    VerifierBroken,
    VerifierCall,
    VerifierReply,
    canonical,
    is_judging,
    reply_body,
    request_digest,
)
from .event import CallAnswered, CallFailed, CallIntended, CallWaits
from .journal import Journal, message_texts
from .ledger import NOTHING, Amount
from .outcome import STOP
from .quick import quick
from .retry import GiveUp, Resend, after
from .reuse import Reuse
from .tokens import UNTOLD, Charged, charged, spent, with_usage, worst
from .toolbox import NO_TOOLS
from .value import Verdict

Pace = Callable[[], Awaitable[None]]
Verify = Callable[[VerifierCall], Awaitable[Verdict]]
Use = Callable[[ToolUse], Awaitable[ToolReply]]


@runtime_checkable
class Counting(Protocol):
    """A client whose servers may count the tokens of a prompt, template included; None where this one does not.

    A journey before each call would cost more than it saves: it is asked where a call does not fit by its bytes.
    """

    async def count(self, call: ModelCall, replica: Replica) -> int | None: ...


# A verifier that errs so often running says nothing about the attempts.
BROKEN_AFTER = 3
# What the model is told of a call that may have been made, and may not be made twice.
MADE_ONCE = (
    "It is not known whether this call was made: the run was stopped meanwhile, and the tool is not to be called"
    " twice for the same. Find out what it did before you call it again."
)


def _nobody(_: Waiting, error: Exception) -> None:
    raise error


class Gate:
    """Closed by `interrupt`: no call of the run is sent from then on. cause: the first one given.

    Calls that wait, and those that come, raise Interrupted; what is in flight goes on to its end. A run that is
    stopped for good, with cause STOP, still has its verifiers, which say what the best so far is.
    """

    def __init__(self) -> None:
        self.cause: str | None = None
        self.queued: dict[Waiting, Call] = {}  # in the queue of `refuse`'s admission
        self.refuse: Callable[[Waiting, Exception], None] = _nobody
        self._scopes: dict[anyio.CancelScope, Call] = {}

    def interrupt(self, cause: str) -> None:
        self.cause = self.cause or cause
        for scope, call in self._scopes.items():
            if not self.admits(call):
                scope.cancel()
        for waiting, call in tuple(self.queued.items()):
            if not self.admits(call):
                self.refuse(waiting, Interrupted(self.cause))

    def admits(self, call: Call) -> bool:
        """Whether call may be sent."""
        return self.cause is None or (self.cause == STOP and is_judging(call))

    def check(self, call: Call) -> None:
        if not self.admits(call):
            raise Interrupted(self.cause)

    @contextmanager
    def waiting(self, call: Call) -> Generator[None, None, None]:
        """Around a wait of call, which is not sent; but for that in the queue."""
        self.check(call)
        with anyio.CancelScope() as scope:
            self._scopes[scope] = call
            try:
                yield
                return
            finally:
                del self._scopes[scope]
        raise Interrupted(self.cause)


@dataclass(slots=True, kw_only=True)
class CallPath:
    """What the calls of one run pass through.

    models by name, for their prices. verify raises CallError("verifier") where it fails, use CallError("tool")
    where there is no such tool: what goes wrong in one is its reply. chance spreads resends. pools: the fleet's
    names of models that it knows under another than the program's. reuse: answers of an earlier run, which cost
    nothing here. salt: as ModelCall's, for all calls. pace: waited for before a recorded answer is given again.
    errors: of verifiers running, by pool. judging: who judges now, by request.
    """

    journal: Journal
    admission: Admission
    client: Client
    models: Mapping[str, Model]
    verify: Verify
    chance: random.Random
    gate: Gate
    pools: Mapping[str, str] = field(default_factory=dict[str, str])
    reuse: Reuse | None = None
    salt: str = ""
    pace: Pace = anyio.lowlevel.checkpoint
    use: Use = NO_TOOLS.use
    errors: dict[str, int] = field(default_factory=dict[str, int])
    judging: dict[str, anyio.Event] = field(default_factory=dict[str, anyio.Event])


def handler(path: CallPath) -> Handler:
    """The run's door to the world.

    Raises BudgetExhausted, CallError, Interrupted (with its kinds Outage, VerifierBroken and DiskError,
    after which the gate is closed), Diverged. Cancelled, a call in flight is charged at its hold and
    leaves no slot, no hold and no stream behind.
    """
    journal, gate, reuse = path.journal, path.gate, path.reuse
    gate.refuse = path.admission.refuse

    async def call(call: Call) -> Reply:
        request = request_digest(call)
        known = journal.answered(call.address, request)
        if known is not None:
            await path.pace()
            return known
        try:
            if isinstance(call, VerifierCall):
                return await _judge_once(path, call, request)
            if isinstance(call, ToolUse):
                return await _used(path, call, request)
            gate.check(call)
            again = None if reuse is None else await _reused(path, call, request, reuse)
            return again or await _with_retries(path, call, request)
        except Pausing as pausing:
            gate.interrupt(pausing.cause)
            raise

    return call


async def _judge_once(path: CallPath, call: VerifierCall, request: str) -> Reply:
    """The verdict on this content, made once in the run whoever asks; who asks meanwhile waits for it.

    Where the one who judges fails or is cancelled, the next one judges.
    """
    while True:
        known = path.journal.judged(request)
        if known is not None:
            await path.pace()
            return known
        if request not in path.judging:
            break
        with path.gate.waiting(call):
            await path.judging[request].wait()
    ready = path.judging[request] = anyio.Event()
    try:
        return await _with_retries(path, call, request)
    finally:
        del path.judging[request]
        ready.set()


async def _used(path: CallPath, call: ToolUse, request: str) -> Reply:
    """The tool's reply. One that is to be called once, and was in the air when an earlier life ended or was cut,
    is not called again."""
    number = path.journal.tries(call.address)
    if not (call.tool.once and number):
        return await _with_retries(path, call, request)
    path.gate.check(call)
    reply = ToolReply(MADE_ONCE, failed=True, tree=call.tree)
    at, account = call.address, call.account
    intent = CallIntended(at, number, account, "tool", request, NOTHING, replica=call.name)
    answer = CallAnswered(at, number, account, NOTHING, UNTOLD, reply_body(reply), 0.0)
    await path.journal.commit([intent, answer])
    return reply


async def _reused(path: CallPath, call: ModelCall, request: str, reuse: Reuse) -> Reply | None:
    """The answer that an earlier run got to the same request, on disk as this run's own before it is used."""
    reply = reuse.take(call.address, request)
    if reply is None:
        return None
    names, texts = message_texts(call.messages)
    number = path.journal.tries(call.address)
    at, account, model = call.address, call.account, call.model
    intent = CallIntended(
        at, number, account, "model", request, NOTHING, model, reply.replica, names
    )
    answer = CallAnswered(at, number, account, NOTHING, UNTOLD, reply_body(reply), 0.0)
    await path.journal.commit([intent, answer], texts)
    return reply


async def _with_retries(path: CallPath, call: Call, request: str) -> Reply:
    tries, avoid = 0, None
    while True:
        grant = await _admitted(path, call, avoid)
        tries += 1
        try:
            return await _try(path, call, request, grant)
        except CallError as error:
            avoid = grant.replica
            match _next_step(path, error, tries, grant):
                case GiveUp():
                    raise
                case Resend(wait_s=wait_s):
                    with path.gate.waiting(call):
                        await anyio.sleep(wait_s)


def _next_step(path: CallPath, error: CallError, tries: int, grant: Grant) -> Resend | GiveUp:
    now, model, replica = anyio.current_time(), grant.waiting.pool, grant.replica
    if replica is None:
        return after(error, tries, down=False, elsewhere=False, chance=path.chance)
    fleet = path.admission.fleet
    if error.kind == "busy":
        # Each endpoint is asked as often as one alone would be: they may all be busy.
        tries = -(-tries // fleet.endpoints(model))
    elsewhere = fleet.is_elsewhere(model, replica, now)
    down = fleet.is_down(replica)
    return after(error, tries, down=down, elsewhere=elsewhere, chance=path.chance)


async def _admitted(path: CallPath, call: Call, avoid: Replica | None) -> Grant:
    """Wait until call may be sent, elsewhere than avoid if that can be. The wait is told as an event."""
    tell = partial(_tell_wait, path.journal, call.address)
    amount = price = None
    if isinstance(call, ModelCall):
        price = path.models[call.model].price
        amount = worst(call, price)
        pool = path.pools.get(call.model, call.model)
        call = call if pool == call.model else replace(call, model=pool)
    path.gate.check(call)
    try:
        grant = await path.admission.enter(call, amount, tell, avoid, path.gate.queued)
    except BudgetExhausted:
        if (amount := await _counted(path, call, price)) is None:
            raise
        path.gate.check(call)
        grant = await path.admission.enter(call, amount, tell, avoid, path.gate.queued)
    if not path.gate.admits(call):
        grant.leave()
        grant.settle(NOTHING)
        raise Interrupted(path.gate.cause)
    return grant


def _tell_wait(journal: Journal, address: str, why: str, seconds: float | None) -> None:
    journal.emit(CallWaits(address, why, seconds))


async def _counted(path: CallPath, call: Call, price: Price | None) -> Amount | None:
    """What call may cost by its server's own count of its prompt; None where no server counts it."""
    if not (isinstance(call, ModelCall) and isinstance(path.client, Counting)):
        return None
    try:
        count = await path.client.count(call, path.admission.fleet.replicas((call.model,))[0])
    except CallError:
        return None
    return None if count is None else worst(call, price, count)


@quick(frozen=True, slots=True)
class _Try:
    """A try under way. number: from 0, of the tries at the call's address. began: on the clock of the loop."""

    path: CallPath
    call: Call
    grant: Grant
    number: int
    began: float

    @property
    def held(self) -> Amount:
        return NOTHING if self.grant.hold is None else self.grant.hold.amount

    @property
    def seconds(self) -> float:
        return anyio.current_time() - self.began

    def failed(
        self, kind: str, message: str, charge: Amount, usage: Usage = UNTOLD, *, estimated: bool
    ) -> None:
        """Note how it failed, give its slot back, settle its hold at charge."""
        call = self.call
        event = CallFailed(
            address=call.address,
            try_=self.number,
            account=call.account,
            kind=kind,
            message=message,
            spent=charge,
            usage=usage,
            estimated=estimated,
            seconds=self.seconds,
        )
        self.path.journal.emit(event)
        self.grant.leave(broken_off=kind in ("cancelled", "silent", "mute"))
        self.grant.settle(charge)


async def _try(path: CallPath, call: Call, request: str, grant: Grant) -> Reply:
    """Send once. On every way out the slot is given back and the hold settled."""
    one = _Try(path, call, grant, path.journal.tries(call.address), anyio.current_time())
    await _ready(one, request)
    try:
        reply = await _send(one)
    except CallError as error:
        charge, usage, estimated = _charge(one, error)
        if grant.replica is not None:
            path.admission.fleet.failed(grant.replica, error, anyio.current_time())
        one.failed(error.kind, error.message, charge, usage, estimated=estimated)
        _count_verifier_error(path, call, error)
        raise
    except BaseException:
        # The server may have worked to the end of its cap: nobody will say what it used.
        one.failed("cancelled", "in flight", one.held, estimated=grant.hold is not None)
        raise
    return await _answer(one, reply)


async def _ready(one: _Try, request: str) -> None:
    """Put the intent on disk. Where that fails, or the call is cancelled meanwhile, it costs nothing."""
    try:
        await _intend(one, request)
    except BaseException:
        one.grant.leave()
        one.grant.settle(NOTHING)
        raise
    try:
        await anyio.lowlevel.checkpoint_if_cancelled()
    except BaseException:
        one.failed("cancelled", "before it was sent", NOTHING, estimated=False)
        raise


async def _intend(one: _Try, request: str) -> None:
    """Put the intent on disk, with the texts it sends."""
    grant, number, held = one.grant, one.number, one.held
    match call := one.call:
        case ModelCall():
            names, texts = message_texts(call.messages)
            assert grant.replica is not None
            intent = CallIntended(
                call.address,
                number,
                call.account,
                "model",
                request,
                held,
                call.model,
                grant.replica.name,
                names,
            )
        case VerifierCall():
            texts = []
            intent = CallIntended(call.address, number, call.account, "verifier", request, held)
        case ToolUse():
            names, texts = message_texts([Message("tool", canonical(call.arguments).decode())])
            at, account = call.address, call.account
            intent = CallIntended(
                at, number, account, "tool", request, held, replica=call.name, messages=names
            )
        case _:
            assert_never(call)
    await one.path.journal.commit([intent], texts)


async def _send(one: _Try) -> Reply:
    path, grant = one.path, one.grant
    match call := one.call:
        case ModelCall():
            assert grant.replica is not None
            name = f"{path.journal.run}/{call.address}/{one.number}"
            request_id = _uuid(name)
            begun = None if grant.lead is None else grant.begun
            told = call.sent(path.salt, begun)
            return with_usage(call, await path.client.send(told, grant.replica, request_id))
        case VerifierCall():
            verdict = await path.verify(call)
            if verdict.score is not None and not math.isfinite(verdict.score):
                raise CallError("verifier", f"the score {verdict.score} is not a finite number")
            return VerifierReply(verdict)
        case ToolUse():
            return await path.use(call)


_URL = sha1(uuid.NAMESPACE_URL.bytes, usedforsecurity=False)


def _uuid(name: str) -> str:
    """As `uuid.uuid5` makes it of a URL, in a fifth of the time."""
    hashed = _URL.copy()
    hashed.update(name.encode())
    raw = bytearray(hashed.digest())
    raw[6], raw[8] = raw[6] & 0x0F | 0x50, raw[8] & 0x3F | 0x80
    made = raw.hex()
    return f"{made[:8]}-{made[8:12]}-{made[12:16]}-{made[16:20]}-{made[20:32]}"


async def _answer(one: _Try, reply: Reply) -> Reply:
    """Put answer and settlement on disk in one commit; the hold lasts until they are."""
    path, call, grant, now = one.path, one.call, one.grant, anyio.current_time()
    usage, charge = UNTOLD, NOTHING
    if isinstance(call, ModelCall) and isinstance(reply, ModelReply):
        usage = reply.usage
        charge = spent(usage, path.models[call.model].price)
    _tell_answer(path, call, grant, charge, now)
    grant.leave()
    at, account, body = call.address, call.account, reply_body(reply)
    answer = CallAnswered(at, one.number, account, charge, usage, body, now - one.began)
    kept = reply.kept if isinstance(reply, ToolReply) else ()
    try:
        await path.journal.commit([answer], kept)
    finally:
        grant.settle(charge)
    return reply


def _tell_answer(path: CallPath, call: Call, grant: Grant, charge: Amount, now: float) -> None:
    if isinstance(call, VerifierCall):
        path.errors[verifier_pool(call)] = 0
    if grant.replica is None:
        return
    assert grant.hold is not None
    grant.begun()
    fleet, held = path.admission.fleet, grant.hold.amount
    fleet.answered(grant.replica, now)
    if charge.usd > held.usd or charge.tokens > held.tokens:
        error = CallError(
            "protocol",
            f"{grant.replica.name} used {charge.tokens} tokens where at most {held.tokens} were"
            f" possible, at {call.address}; no call is sent to its endpoint",
        )
        fleet.close(grant.replica, error)


def _count_verifier_error(path: CallPath, call: Call, error: CallError) -> None:
    """Raises VerifierBroken where the call's verifier has erred too often running."""
    if isinstance(call, VerifierCall):
        pool = verifier_pool(call)
        path.errors[pool] = path.errors.get(pool, 0) + 1
        if path.errors[pool] >= BROKEN_AFTER:
            raise VerifierBroken(call.verifier.name, error.message) from error


def _charge(one: _Try, error: CallError) -> Charged:
    """What the failed try is charged. A verifier costs nothing."""
    if isinstance(one.call, ModelCall):
        return charged(error, one.held, one.path.models[one.call.model].price)
    return Charged()
