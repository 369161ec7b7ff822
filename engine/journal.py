"""A run's list of events: recorded, durable, and read back when the run is taken up again.

The rule this file keeps: numbers have no gap, and what `commit` returned from is on disk.
"""

import contextlib
import hashlib
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, TypeVar, cast

import anyio
import orjson

from .call import DIGEST, Message, Reply, Usage, reply_of
from .database import DiskError, Ending, StoreError, read_event, read_events
from .event import (
    CallAnswered,
    CallFailed,
    CallIntended,
    Decided,
    Event,
    Ordered,
    RunEnded,
    Stamped,
    body,
)
from .ledger import NOTHING, Amount, Charge, Ledger, Limit
from .lock import RunLock
from .past import Past
from .pieces import Row, Shelf
from .records import MICRO
from .value import Json
from .writer import Job, Writer

T = TypeVar("T")
PAGE = 256
# A call of more messages than so many refers to a list of them, by a name that begins so.
LISTED, LIST = 4, "list:"


class Diverged(Exception):
    """The program asks another request at an address than the one that was answered there."""

    def __init__(self, address: str, recorded: str, asked: str) -> None:
        super().__init__(
            f"at {address} this run recorded the request {recorded[:12]} and now asks {asked[:12]};"
            " run the text it was started with, or start a new run"
        )
        self.address = address
        self.recorded = recorded
        self.asked = asked


class Journal:
    """The recorder of one run, owned by this process until `close`. Made by a Store.

    watchers are called in the event loop with each event as it is numbered, before it is on disk;
    they must not raise. broken: the error after which nothing more is written, if there was one.
    """

    def __init__(
        self,
        run: str,
        *,
        writer: Writer,
        lock: RunLock | None,
        clock: Callable[[], float],
    ) -> None:
        self.run = run
        self.watchers: list[Callable[[Stamped], None]] = []
        self.broken: DiskError | None = None
        self._writer = writer
        self._lock = lock
        self._clock = clock
        self._past = Past()
        self._next = 0
        self._shelf = Shelf()
        self._readers = 0
        self._news = anyio.Event()
        self._closed = False

    # --- recording ---

    @property
    def life(self) -> int:
        """How many lives of this run have begun: 0 before the first `RunStarted`."""
        return self._past.lives

    @property
    def orders(self) -> Sequence[Ordered]:
        """The orders that the run took, in all lives."""
        return self._past.orders

    @property
    def failed_last(self) -> bool:
        """Whether a call got no answer for one of the reasons LATER, and no model answered since."""
        return bool(self._past.fresh)

    def emit(self, event: Event) -> None:
        """Append event. It is on disk no later than anything committed after it."""
        self._append(event)
        if self._readers:
            self._writer.flush()

    def _append(self, event: Event) -> Stamped:
        stamped = self._stamp(event)
        self._past.add(stamped)
        self._writer.add(self.run, stamped, self._acknowledged)
        return stamped

    def decide(self, address: str, name: str, take: Callable[[], T]) -> T:
        """take(), or what it gave in an earlier life. Both pass through JSON, so that lives agree: a
        tuple comes back as a list."""
        key = (address, name)
        if key not in self._past.decisions:
            self.emit(Decided(address, name, take()))
        # The caller's T is the type of what JSON gives back, as the contract of Recorder says.
        return cast(T, orjson.loads(self._past.decisions[key]))

    def recall(self, address: str, name: str) -> Json:
        """What was decided, in whatever life; None where nothing was."""
        found = self._past.decisions.get((address, name))
        return None if found is None else cast(Json, orjson.loads(found))

    def commit(
        self, events: Sequence[Event], blobs: Iterable[tuple[str, str]] = ()
    ) -> Coroutine[Any, Any, None]:
        """Append events, with the texts they refer to; all on disk on return, not cancelled midway.

        blobs: digest and text. Raises DiskError: then none of it counts, and the journal is broken.
        """
        return self._commit(events, blobs, None)

    async def written(self) -> None:
        """Return when all that was appended so far is on disk. Raises DiskError."""
        await self._writer.wait(self._put([]))

    async def end(self, event: RunEnded) -> None:
        """Commit the run's end, and write its status: ended, paused or interrupted."""
        status = "ended"
        if event.resumable:
            status = "paused" if event.outcome == "paused" else "interrupted"
        spent = reduce(Amount.plus, (c.spent for c in self._past.charges.values()), NOTHING)
        await self._commit([event], (), Ending(status, orjson.dumps(body(event)), spent))

    async def _commit(
        self, events: Sequence[Event], blobs: Iterable[tuple[str, str]], ending: Ending | None
    ) -> None:
        if self.broken is not None:
            for event in events:  # who watches sees the call end, though the disk does not take it
                if isinstance(event, CallAnswered | CallFailed):
                    self._stamp(event)
            raise self.broken
        stamped = [self._stamp(event) for event in events]
        new = self._shelf.missing(blobs) if blobs else ()
        try:
            await self._writer.wait(self._put(stamped, new, ending))
        except DiskError as error:
            self._unsay(events, error)
            raise
        if new:
            self._shelf.wrote(new)
        for one in stamped:
            self._past.add(one)

    def _unsay(self, events: Sequence[Event], error: DiskError) -> None:
        """Tell the watchers that calls they were told of as intended are not sent, and that a run whose end
        they were told of is paused by error."""
        for event in events:
            if isinstance(event, CallIntended):
                self._stamp(_unsent(event))
            elif isinstance(event, RunEnded):
                why = f"disk: {error}"
                self._stamp(replace(event, outcome="paused", reason=why, resumable=True))

    def _stamp(self, event: Event) -> Stamped:
        # To the microsecond, as the store has it; `round` to six digits takes four times as long.
        stamped = Stamped(self._next, round(self._clock() * MICRO) / MICRO, event)
        self._next += 1
        for watcher in self.watchers:
            watcher(stamped)
        return stamped

    def _put(
        self,
        stamped: list[Stamped],
        texts: Sequence[Row] = (),
        ending: Ending | None = None,
    ) -> Job:
        job = Job(self.run, stamped, texts, ending, self._acknowledged)
        self._writer.put(job)
        return job

    def _acknowledged(self, job: Job) -> None:
        if job.error is not None:
            self.broken = self.broken or job.error
        self._tell()

    def _tell(self) -> None:
        if self._readers:
            self._news.set()
            self._news = anyio.Event()

    # --- reading back ---

    def answered(self, address: str, request: str) -> Reply | None:
        """The recorded reply at address; None where there is none. request: the digest now asked.

        Raises Diverged where another request was answered there.
        """
        answer = self._past.answers.get(address)
        if answer is None:
            return None
        if answer.request != request:
            raise Diverged(address, answer.request, request)
        return self._reply(answer.number)

    def has_answer(self, address: str) -> bool:
        """Whether a call at address was answered, whatever was asked."""
        return address in self._past.answers

    def told(self, address: str) -> Reply | None:
        """The recorded reply at address, whatever was asked; None where there is none."""
        answer = self._past.answers.get(address)
        return None if answer is None else self._reply(answer.number)

    def judged(self, request: str) -> Reply | None:
        """The reply of any verifier call with this request's digest, wherever it was made."""
        number = self._past.verdicts.get(request)
        return None if number is None else self._reply(number)

    def tries(self, address: str) -> int:
        """How many tries were intended at address, in all lives: the number of the next one."""
        return self._past.tries.get(address, 0)

    def _reply(self, number: int) -> Reply:
        stamped = read_event(self._writer.reading(), self.run, number)
        if stamped is None or not isinstance(stamped.event, CallAnswered):
            raise StoreError(f"event {number} of run {self.run} is gone from the store")
        return reply_of(stamped.event.reply)

    def events(self, after: int = -1) -> AsyncIterator[Stamped]:
        """The events on disk with numbers above after, then each further one as it gets there.

        Ends when the journal is closed. A slow reader holds nobody up: it reads from the store.
        """
        return _Reader(self, after)

    async def page(self, after: int) -> list[Stamped]:
        """The next events above after, waited for; none when the journal is closed."""
        while (
            not (found := read_events(self._writer.reading(), self.run, after, PAGE))
            and not self._closed
        ):
            news = self._news
            self._readers += 1
            try:
                self._writer.flush()
                await news.wait()
            finally:
                self._readers -= 1
        return found

    # --- taking up ---

    def take_up(self, told: Callable[[Stamped], None]) -> None:
        """Read the run's events, and end the tries that were in flight when its last life ended: they
        may have been paid, so they are charged at what they held. told: of all these events, in order.
        Raises StoreError."""
        self._writer.mend(self.run)
        while page := read_events(self._writer.reading(), self.run, self._next - 1, PAGE):
            for stamped in page:
                if stamped.number != self._next:
                    raise StoreError(f"run {self.run} has no event {self._next} in the store")
                self._past.add(stamped)
                self._next += 1
                told(stamped)
        for intent in tuple(self._past.open.values()):
            told(self._append(_lost(intent)))
        if (rent := self._past.lost_rent()) is not None:
            told(self._append(rent))

    def restore(self, ledger: Ledger) -> None:
        """Bring ledger to what this run has spent. Doing it again, or on a ledger that saw an earlier
        life, changes nothing. The run's accounts are opened as recorded where ledger lacks them; an
        account above the run must be there. No call of the run may be in flight.
        """
        for opened in self._past.accounts.values():
            limit = Limit(opened.usd, opened.tokens, opened.calls)
            ledger.open(opened.address, limit, opened.parent or None)
        ledger.restore(dict.fromkeys(self._past.accounts, Charge()) | self._past.charges)

    async def close(self) -> None:
        """Give the run up: what was emitted is written, readers end, the lock falls. Shielded."""
        if self._closed:
            return
        self._closed = True
        with contextlib.suppress(DiskError):  # it is in `broken`, and was told to who committed
            await self.written()
        self._tell()
        if self._lock is not None:
            self._lock.release()


class _Reader:
    """No generator: one that is left halfway would have to be closed by whoever reads."""

    def __init__(self, journal: Journal, after: int) -> None:
        self._journal = journal
        self._after = after
        self._page: list[Stamped] = []

    def __aiter__(self) -> "_Reader":
        return self

    async def __anext__(self) -> Stamped:
        if not self._page:
            self._page = (await self._journal.page(self._after))[::-1]
        if not self._page:
            raise StopAsyncIteration
        stamped = self._page.pop()
        self._after = stamped.number
        return stamped


def _unsent(intent: CallIntended) -> CallFailed:
    return CallFailed(
        intent.address,
        intent.try_,
        intent.account,
        "cancelled",
        "before it was sent",
        NOTHING,
        Usage(),
        False,
        0.0,
    )


def _lost(intent: CallIntended) -> CallFailed:
    return CallFailed(
        intent.address, intent.try_, intent.account, "lost", "", intent.held, Usage(), True, 0.0
    )


def message_blob(message: Message) -> tuple[str, str]:
    """The digest under which a message's text is kept, `role:sha256`, and the text: calls of tools as lines."""
    text = message.content
    if message.calls:
        calls = [f"{call.name} {call.text}" for call in message.calls]
        text = "\n".join([text, *calls] if text else calls)
    found = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:DIGEST]
    return f"{message.role}:{found}", text


def message_texts(
    messages: Sequence[Message],
) -> tuple[tuple[str, ...], list[tuple[str, str]]]:
    """What an intent says of its messages, and the texts to keep, by name.

    Many messages are referred to by one name, of a list that is a text itself and kept in pieces as texts
    are: a history that grows by a message a call would else be listed anew in each.
    """
    texts = [message_blob(message) for message in messages]
    names = tuple(name for name, _ in texts)
    if len(names) <= LISTED:
        return names, texts
    listed = "\n".join(names)
    name = LIST + hashlib.sha256(listed.encode()).hexdigest()[:DIGEST]
    return (name,), [*texts, (name, listed)]
