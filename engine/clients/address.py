"""Where an endpoint is and which key it gets. Pure: the environment comes in as a mapping.

The rule: OPENAI_API_KEY goes to the vendor's own host, or to the address the user gave in
OPENAI_BASE_URL, and nowhere else. Every other host gets what its endpoint names in `key`, or nothing.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from podium.dsl.model import Endpoint, EnvRef
from podium.dsl.verifiers import VENDOR_HOST

from ..call import CallError

VENDOR_URL = f"https://{VENDOR_HOST}/v1"
KEY, BASE = "OPENAI_API_KEY", "OPENAI_BASE_URL"

# Narrow on purpose: two parsers of URLs (ours, the HTTP library's) must see the same host in it.
_URL = re.compile(
    r"https?://([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?(/[A-Za-z0-9._~%+:-]*)*"
)


@dataclass(frozen=True, slots=True)
class Address:
    """root: scheme, host and port. base: what the endpoint wrote, without a final slash.

    Not part of repr: the key.
    """

    root: str
    base: str
    host: str
    headers: Mapping[str, str]

    def __repr__(self) -> str:
        return f"Address({self.base!r})"

    @property
    def versioned(self) -> bool:
        """Whether base already ends in a version, so that routes follow it at once."""
        return re.search(r"/v\d+[a-z0-9]*$", self.base) is not None


def address(endpoint: Endpoint, environ: Mapping[str, str], secrets: Mapping[str, str]) -> Address:
    """The address of an `openai` endpoint, with its key. secrets come before environ.

    Raises CallError: unreachable on an address that is none, credentials on a key that is not set.
    """
    base = _base(endpoint, environ, secrets).rstrip("/")
    parts = _split(base)
    key = _key(endpoint, parts, environ, secrets)
    return Address(
        root=f"{parts.scheme}://{parts.netloc}",
        base=base,
        host=parts.hostname or "",
        headers={} if key is None else {"Authorization": f"Bearer {key}"},
    )


def _base(endpoint: Endpoint, environ: Mapping[str, str], secrets: Mapping[str, str]) -> str:
    match endpoint.base_url:
        case None:
            return environ.get(BASE) or VENDOR_URL
        case EnvRef(name=name):
            if value := secrets.get(name) or environ.get(name):
                return value.strip()
            raise CallError("unreachable", f"the endpoint's address is in {name}, which is not set")
        case str(url):
            return url.strip()


def _split(base: str) -> SplitResult:
    if _URL.fullmatch(base) is None:
        # The text is not shown: it may hold a password.
        raise CallError(
            "unreachable",
            "the endpoint's address must read http(s)://HOST:PORT/PATH, without user, password or query;"
            ' keys are given with key = env("NAME")',
        )
    parts = urlsplit(base)
    try:
        parts.port  # noqa: B018  # raises on a port above 65535
    except ValueError:
        raise CallError("unreachable", f"{base}: there is no such port") from None
    return parts


def _key(
    endpoint: Endpoint, parts: SplitResult, environ: Mapping[str, str], secrets: Mapping[str, str]
) -> str | None:
    vendor = parts.scheme == "https" and parts.hostname == VENDOR_HOST and parts.port in (None, 443)
    if endpoint.key is not None:
        name = endpoint.key.name
    elif vendor or _same_origin(parts, environ.get(BASE, "")):
        name = KEY
    else:
        return None
    value = (secrets.get(name) or environ.get(name) or "").strip()
    if value and not re.fullmatch(r"[!-~]+", value):
        raise CallError("credentials", f"{name} holds characters that no key has")
    if not value and (endpoint.key is not None or vendor):
        raise CallError("credentials", f"{parts.netloc} needs the key in {name}, which is not set")
    return value or None


def _same_origin(parts: SplitResult, base: str) -> bool:
    if _URL.fullmatch(base.strip()) is None:
        return False
    own = urlsplit(base.strip())
    return (own.scheme, own.hostname, _port(own)) == (parts.scheme, parts.hostname, _port(parts))


def _port(parts: SplitResult) -> int:
    return parts.port or (443 if parts.scheme == "https" else 80)
