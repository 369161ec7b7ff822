"""`Model`: where a model is asked, what it costs, what it bears, and how it samples.

Records, part of the contract between language and engine as `Program` is.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from .quantity import Scalar


@dataclass(frozen=True, slots=True)
class Price:
    """Micro-dollars per million tokens; all zero is free.

    longer: for requests of more than so many tokens of input, cached ones included, the price of the whole
    request, reply and all, in rising order; those have no `longer` of their own.
    """

    input: int = 0
    cached: int = 0
    cache_write: int = 0
    output: int = 0
    longer: tuple[tuple[int, "Price"], ...] = ()

    def at(self, into: int) -> "Price":
        """The rates of a request of so many tokens of input."""
        return self.within(into, into)[-1]

    def within(self, least: int, most: int) -> "tuple[Price, ...]":
        """The rates that a request of least to most tokens of input may have, those of shorter ones first."""
        tiers = ((-1, self), *self.longer)
        ends = (*(above for above, _ in self.longer), most)
        return tuple(
            price
            for (above, price), end in zip(tiers, ends, strict=True)
            if above < most and least <= end
        )


@dataclass(frozen=True, slots=True)
class Rent:
    """usd micro-dollars for so many seconds of each replica."""

    usd: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Limits:
    """What a model's endpoints bear: calls in flight; (count, seconds) windows of calls and tokens."""

    inflight: int | None = None
    calls: tuple[int, float] | None = None
    tokens: tuple[int, float] | None = None


@dataclass(frozen=True, slots=True)
class Sampling:
    """None leaves a field to the profile's default, which is always sent, never left to the server."""

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    stop: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EnvRef:
    """The name of an environment variable. Its value is read when used and kept nowhere."""

    name: str


@dataclass(frozen=True, slots=True)
class Endpoint:
    """`openai(name, base_url, key)` or `local(path)`: kind, the served model's name, where it is."""

    kind: Literal["openai", "local"]
    name: str
    base_url: str | EnvRef | None = None
    key: EnvRef | None = None


@dataclass(frozen=True, slots=True)
class Model:
    """price None is unknown (a dollar budget then refuses); context None is asked of the server.

    rent: what its replicas cost by the time that the run is live; its tokens then cost nothing.
    priced_by: whose list the price is from, and of when; "" where the file gives it.
    """

    name: str
    endpoints: tuple[Endpoint, ...]
    price: Price | None = None
    context: int | None = None
    limits: Limits = Limits()
    sampling: Sampling = Sampling()
    profile: Mapping[str, Scalar] = field(default_factory=dict[str, Scalar])
    rent: Rent | None = None
    priced_by: str = ""

    @property
    def is_free(self) -> bool:
        """Whether calls of it, and the time in which they are made, are known to cost nothing."""
        return self.price == Price() and self.rent is None
