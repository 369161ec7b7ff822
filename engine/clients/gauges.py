"""What a server tells of its own load, and of the tokens of a call. Pure."""

from dataclasses import dataclass

from .dialects import Gauges
from .loose import count, mapping, parsed, sequence

NOTHING: list[float] = []


@dataclass(frozen=True, slots=True)
class Load:
    """As of the server's gauges; None where it does not tell. running, waiting: requests. cache: the share of
    its KV cache in use, 0 to 1. read: tokens of prompts since it started; hit: those found in its prompt cache.
    """

    running: float | None = None
    waiting: float | None = None
    cache: float | None = None
    read: float | None = None
    hit: float | None = None


def load_of(page: bytes, gauges: Gauges) -> Load:
    """The load that a page of metrics tells. A metric that has several rows, one for each engine of the
    server, counts in sum; the share of the cache as the largest."""
    rows = _rows(page)

    def told(names: tuple[str, ...]) -> list[float]:
        forms = (form for name in names for form in (name, f"{name}_total"))
        return next((rows[form] for form in forms if form in rows), NOTHING)

    def summed(names: tuple[str, ...]) -> float | None:
        return sum(values) if (values := told(names)) else None

    read, hit = summed(gauges.read), summed(gauges.hit)
    if read is not None and not gauges.read_has_hit:
        read += hit or 0.0
    return Load(
        running=summed(gauges.running),
        waiting=summed(gauges.waiting),
        cache=max(told(gauges.cache), default=None),
        read=read,
        hit=hit,
    )


def _rows(page: bytes) -> dict[str, list[float]]:
    """The values of each metric, in the text form of Prometheus; a row that cannot be read is left out."""
    rows: dict[str, list[float]] = {}
    for line in page.decode(errors="replace").splitlines():
        if not line or line.startswith("#"):
            continue
        name = line.partition("{")[0].partition(" ")[0]
        value = line.rpartition("}")[2].split() if "{" in line else line.split()[1:]
        try:
            rows.setdefault(name, []).append(float(value[0]))
        except (ValueError, IndexError):
            continue
    return {name: values for name, values in rows.items() if values}


def tokens_of(body: bytes) -> int | None:
    """The number of tokens in the answer of a route that counts them; None where it has none."""
    value = mapping(parsed(body))
    return count(value, "input_tokens", "count") or len(sequence(value.get("tokens"))) or None
