"""The answers of an earlier run, for a run of a changed text: the same request is not paid twice."""

from collections import defaultdict, deque
from dataclasses import dataclass, field

from .call import ModelReply, reply_of
from .event import CallAnswered, CallIntended
from .store import Store


@dataclass(slots=True)
class Reuse:
    """Answered model calls by what was asked. Each answer is given once, so of a request that was made five
    times five are there. Verifiers are not here: a function's code is not in its request."""

    store: Store
    run: str
    by_request: dict[str, deque[tuple[str, int]]] = field(
        default_factory=lambda: defaultdict[str, deque[tuple[str, int]]](deque)
    )

    @classmethod
    def of(cls, store: Store, run: str) -> "Reuse":
        """The answers that run has on disk now. Raises StoreError."""
        reuse = cls(store, run)
        requests: dict[tuple[str, int], str] = {}
        for stamped in store.events(run):
            event = stamped.event
            if isinstance(event, CallIntended) and event.kind == "model":
                requests[event.address, event.try_] = event.request
            elif isinstance(event, CallAnswered):
                request = requests.pop((event.address, event.try_), None)
                if request is not None:
                    reuse.by_request[request].append((event.address, stamped.number))
        return reuse

    def take(self, address: str, request: str) -> ModelReply | None:
        """An answer to request: the one given at the same address, else the next there is; None for none."""
        waiting = self.by_request.get(request)
        if not waiting:
            return None
        found = next((one for one in waiting if one[0] == address), waiting[0])
        waiting.remove(found)
        stamped = self.store.event(self.run, found[1])
        assert stamped is not None, "it was read there"
        assert isinstance(stamped.event, CallAnswered), "the number is of an answer"
        reply = reply_of(stamped.event.reply)
        assert isinstance(reply, ModelReply), "the request was a model's"
        return reply
