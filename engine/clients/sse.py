"""Server-sent events: bytes to events.

Any cut of the same bytes gives the same events. Comments are dropped: that bytes came at all is the
wire's concern. Source: HTML standard, section 9.2.6, which every server seen here keeps to.
"""

MAX_EVENT_BYTES = 16 << 20  # far above any honest event; below what would exhaust memory


class TooLong(Exception):
    """A line or an event above MAX_EVENT_BYTES."""


class Decoder:
    """Feed it bytes as they come; each call returns the data of the events that ended in them.

    Names, ids and retry fields are dropped: no chat protocol needs them.
    """

    def __init__(self, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._max = max_event_bytes
        self._pieces: list[bytes] = []  # of a line that has not ended
        self._size = 0
        self._data: list[bytes] = []  # of an event that has not ended
        self._after_cr = False
        self._first = True

    def feed(self, chunk: bytes) -> list[str]:
        """The data of each event completed by chunk. Raises TooLong."""
        if (events := self._plain(chunk)) is not None:
            return events
        if self._after_cr and chunk:
            chunk = chunk.removeprefix(b"\n")
            self._after_cr = False
        if not chunk:
            return []
        self._size += len(chunk)
        if b"\n" not in chunk and b"\r" not in chunk:
            self._pieces.append(chunk)
            return self._checked([])
        self._after_cr = chunk.endswith(b"\r")
        lines = b"".join((*self._pieces, chunk)).splitlines(keepends=True)
        rest = b"" if lines[-1].endswith((b"\n", b"\r")) else lines.pop()
        self._pieces = [rest]
        events = [event for line in lines if (event := self._line(line)) is not None]
        self._size = len(rest) + sum(map(len, self._data))
        return self._checked(events)

    def _plain(self, chunk: bytes) -> list[str] | None:
        """The events of a chunk of whole ones of one `data` line each, as nearly all are; else None."""
        if self._size or self._data or self._after_cr or b"\r" in chunk:
            return None
        if not chunk.endswith(b"\n\n") or len(chunk) > self._max:
            return None
        events: list[str] = []
        for part in chunk[:-2].split(b"\n\n"):
            if part[:6] != b"data: " or b"\n" in part:
                return None
            events.append(part[6:].decode(errors="replace"))
        self._first = False
        return events

    def end(self) -> list[str]:
        """The last event, where the stream ended without the blank line that should close it."""
        rest, self._pieces = b"".join(self._pieces), []
        events = [event for line in (rest, b"") if (event := self._line(line)) is not None]
        self._size = 0
        return events

    def _checked(self, events: list[str]) -> list[str]:
        if self._size > self._max:
            raise TooLong(f"an event of more than {self._max} bytes")
        return events

    def _line(self, line: bytes) -> str | None:
        line = line.rstrip(b"\r\n")
        if self._first:
            self._first = False
            line = line.removeprefix(b"\xef\xbb\xbf")
        if not line:
            return self._event()
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" "))
        return None

    def _event(self) -> str | None:
        if not self._data:
            return None
        whole, self._data = b"\n".join(self._data), []
        return whole.decode(errors="replace")
