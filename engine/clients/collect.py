"""Reading one stream to its end: the bytes of `.wire`, the events of `.sse`, the reply of `.chat`."""

import anyio

from ..call import CallError
from .chat import Collector
from .dialects import Profile
from .sse import Decoder, TooLong
from .wire import Stream

# After the terminator the end of the body comes at once, or the connection is not worth keeping.
DRAIN_S = 0.05


async def collect(stream: Stream, collector: Collector, profile: Profile) -> None:
    """Fill collector. Raises CallError, with the usage that was told; not where all but the end had come."""
    if "json" in stream.headers.get("content-type", ""):
        return collector.whole(await stream.body())
    decoder = Decoder()
    try:
        await _read(stream, decoder, collector, profile.stuck_s)
    except TooLong as problem:
        raise CallError("protocol", f"{collector.where} sent {problem}", maybe_paid=True) from None
    except CallError as problem:
        problem.usage = problem.usage or collector.counted()
        if problem.kind not in ("cut", "silent") or collector.finish is None:
            raise
        return None  # the reply was complete; only its usage or its terminator is missing
    for event in decoder.end():
        collector.add(event)
    if profile.reuses_connections and collector.done:
        with anyio.move_on_after(DRAIN_S):
            while await stream.read():
                pass
    return None


async def _read(stream: Stream, decoder: Decoder, collector: Collector, stuck_s: float) -> None:
    """Read until the terminator or the end. Comments show that the server lives, but not for ever."""
    silent_since: float | None = None
    begun = collector.call.begun
    while not collector.done and (chunk := await stream.read()):
        if events := decoder.feed(chunk):
            for event in events:
                collector.add(event)
            if begun is not None and collector.has_begun:
                begun()
                begun = None
            silent_since = None
        elif silent_since is None:
            silent_since = anyio.current_time()
        elif anyio.current_time() - silent_since > stuck_s:
            why = f"{collector.where} sent nothing but comments for {stuck_s:.0f} s"
            raise CallError("silent", why, maybe_paid=True)
