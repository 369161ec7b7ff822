"""Bytes over HTTP: the only module that knows aiohttp and asyncio.

Exceptions of the library are turned into CallError here, and nowhere else, without a chain: theirs
carry the request's headers, the key among them. Redirects are not followed, proxies, cookies and
netrc of the environment are not used: a key goes to the address it was meant for or nowhere.
"""

import asyncio
import ssl
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import aiohttp
import anyio

from ..call import CallError
from ..plain import excerpt

CONNECT_S = 10.0
PROBE_S = 5.0
# uvicorn, under vLLM and SGLang, closes idle connections after 5 s, gunicorn after 2 s. A pool must give up
# earlier: of a request that meets a closing connection nobody can say whether the server saw it.
KEEP_S = 1.5
LARGEST_ANSWER = 16 << 20
_FAILURES = (aiohttp.ClientError, OSError, TimeoutError, ValueError)


@dataclass(frozen=True, slots=True)
class Answer:
    """headers: names in lower case. body: at most LARGEST_ANSWER bytes."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Stream:
    """The answer to one request, its body still to come.

    begun: called once, when the first byte is there.
    """

    def __init__(self, response: aiohttp.ClientResponse, where: str) -> None:
        self.begun: Callable[[], None] | None = None
        self.status = response.status
        self.headers = _headers(response)
        self._response = response
        self._where = where

    async def read(self) -> bytes:
        """What has arrived of the body, waiting for some; b"" at its end. Raises CallError: silent, or cut."""
        try:
            chunk = await self._response.content.readany()
        except _FAILURES as problem:
            failure = _failure(problem, self._where, sent=True)
        else:
            if chunk and self.begun is not None:
                self.begun()
                self.begun = None
            return chunk
        raise failure

    def limit(self, idle_s: float) -> None:
        """From now on so many seconds without a byte are `silent`."""
        connection = self._response.connection  # None: all of the body is here
        if connection is not None and connection.protocol is not None:
            connection.protocol.read_timeout = idle_s
            connection.protocol.start_timeout()

    async def body(self) -> bytes:
        """The rest of the body. Raises CallError, also on one above LARGEST_ANSWER."""
        pieces: list[bytes] = []
        size = 0
        while chunk := await self.read():
            pieces.append(chunk)
            size += len(chunk)
            if size > LARGEST_ANSWER:
                raise CallError(
                    "protocol",
                    f"{self._where} answered with more than {LARGEST_ANSWER} bytes",
                    maybe_paid=True,
                )
        return b"".join(pieces)


class Wire:
    """An async context manager; leaving it closes all connections. Works under asyncio only."""

    def __init__(self, *, connect_s: float = CONNECT_S, probe_s: float = PROBE_S) -> None:
        self._connect_s = connect_s
        self._probe_s = probe_s
        self._sessions: dict[bool, aiohttp.ClientSession] = {}

    async def __aenter__(self) -> Self:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            raise RuntimeError(
                "real servers are reached under asyncio only, not under trio"
            ) from None
        self._sessions = {reuse: _session(reuse=reuse) for reuse in (True, False)}
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with anyio.CancelScope(shield=True):
            for session in self._sessions.values():
                await session.close()

    async def fetch(self, url: str, headers: Mapping[str, str], *, where: str) -> Answer:
        """GET url, all of it within the probe's time-out. Raises CallError."""
        timeout = aiohttp.ClientTimeout(total=self._probe_s)
        with _translated(where, sent=False):
            async with self._sessions[False].get(
                url, headers=headers, timeout=timeout, allow_redirects=False
            ) as response:
                stream = Stream(response, where)
                return Answer(stream.status, stream.headers, await stream.body())

    @asynccontextmanager
    async def post(
        self,
        url: str,
        headers: Mapping[str, str],
        body: bytes,
        *,
        where: str,
        reuse: bool,
        idle_s: float,
    ) -> AsyncGenerator[Stream]:
        """POST body to url. No limit on the whole; idle_s without a byte is `silent`.

        reuse: on a connection that served before, if one is there. A connection that ends without an answer is
        `cut`: the request is not sent again here, as it may be paid. Leaving the block, in whatever way, closes an
        unread answer.
        """
        limits = aiohttp.ClientTimeout(
            total=None, connect=self._connect_s, sock_connect=self._connect_s, sock_read=idle_s
        )
        with _translated(where, sent=True):
            response = await self._sessions[reuse].post(
                url, headers=headers, data=body, timeout=limits, allow_redirects=False
            )
        try:
            yield Stream(response, where)
        except BaseException:
            response.close()
            raise
        response.release()  # back to the pool if it was read to its end, else closed


def _session(*, reuse: bool) -> aiohttp.ClientSession:
    # limit 0: how many calls are in flight is decided at admission, and there alone.
    connector = (
        aiohttp.TCPConnector(limit=0, ttl_dns_cache=60, keepalive_timeout=KEEP_S)
        if reuse
        else aiohttp.TCPConnector(limit=0, ttl_dns_cache=60, force_close=True)
    )
    return aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={"User-Agent": "podium", "Accept-Encoding": "identity"},
    )


def _headers(response: aiohttp.ClientResponse) -> dict[str, str]:
    return {name.lower(): value for name, value in response.headers.items()}


@contextmanager
def _translated(where: str, *, sent: bool) -> Generator[None]:
    """sent: whether a failure after the connection stood may have been paid."""
    try:
        yield
    except _FAILURES as problem:
        failure = _failure(problem, where, sent=sent)
    else:
        return
    raise failure


def _failure(problem: Exception, where: str, *, sent: bool) -> CallError:
    match problem:
        case aiohttp.ConnectionTimeoutError():
            return CallError("unreachable", f"{where} did not accept a connection in time")
        case aiohttp.ClientConnectorCertificateError() | ssl.SSLError():
            return CallError("unreachable", f"{where}: its certificate is not trusted")
        case aiohttp.ClientConnectorDNSError():
            return CallError("unreachable", f"{where}: there is no host of this name")
        case aiohttp.ClientConnectorError():
            why = problem.os_error.strerror or "no connection"
            return CallError("unreachable", f"{where} cannot be reached: {excerpt(why, 80)}")
        case aiohttp.InvalidURL() | ValueError():
            return CallError("unreachable", f"{where} is no address of a server")
        case TimeoutError():
            return CallError("silent", f"{where} fell silent", maybe_paid=sent)
        case aiohttp.ClientPayloadError() | aiohttp.ServerDisconnectedError() | OSError():
            return CallError(
                "cut", f"{where} closed the connection before the end", maybe_paid=sent
            )
        case aiohttp.ClientResponseError(message=message):
            said = excerpt(message, 80)
            return CallError("protocol", f"{where} does not speak HTTP: {said}", maybe_paid=sent)
        case _:
            return CallError("cut", f"{where}: {type(problem).__name__}", maybe_paid=sent)
