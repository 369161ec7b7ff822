"""The books of a run or a node in words: tokens by kind, tries by what became of them, what nobody knows. Pure."""

from ..fates import FATES
from ..fold import Spend
from .units import show_calls, show_count, show_tokens, show_usd


def tokens_by_kind(spend: Spend) -> str:
    """`Tokens: input 10 (6 fresh, 4 cached), output 5 (2 of it reasoning).`; empty where none were counted."""
    usage = spend.usage
    if not (usage.input or usage.output):
        return ""
    kinds = {"fresh": usage.fresh, "cached": usage.cached, "written to cache": usage.cache_write}
    parts = ", ".join(f"{show_count(count)} {kind}" for kind, count in kinds.items() if count)
    thought = f" ({show_count(usage.reasoning)} of it reasoning)" if usage.reasoning else ""
    return (
        f"Tokens: input {show_count(usage.input)} ({parts}), "
        f"output {show_count(usage.output)}{thought}."
    )


def tries_by_fate(spend: Spend) -> str:
    """`Tries: 4 answered, 1 retried.`; empty where all were plainly answered."""
    counts = zip(FATES, spend.tries, strict=True)
    shown = [f"{count} {fate}" for fate, count in counts if count]
    if sum(spend.tries) == spend.tries.answered:
        return ""
    return f"Tries: {', '.join(shown)}."


def rent_of(spend: Spend) -> str:
    """`Rent: $1.50 of the dollars above.`; empty where none was paid."""
    return f"Rent: {show_usd(spend.rent)} of the dollars above." if spend.rent else ""


def not_known(spend: Spend) -> str:
    """What no server told, and the bound that stands for it; empty where all is known."""
    if not spend.unknown:
        return ""
    bound = f"at most {show_tokens(spend.bounds.tokens)}"
    usd = "" if spend.unpriced or not spend.bounds.usd else f" and {show_usd(spend.bounds.usd)}"
    calls = show_calls(spend.unknown)
    return f"Not known: what {calls} used; counted above as {bound}{usd}."


def doubtful(spend: Spend) -> str:
    """What was told and cannot be; empty where all adds up."""
    if not spend.usage.doubtful:
        return ""
    return (
        "In doubt: a server told of more cached input than it had input; it is counted up to that."
    )


def books(spend: Spend) -> tuple[str, ...]:
    """All of these that have something to say."""
    lines = (
        tokens_by_kind(spend),
        tries_by_fate(spend),
        rent_of(spend),
        not_known(spend),
        doubtful(spend),
    )
    return tuple(line for line in lines if line)
