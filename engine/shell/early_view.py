"""What ending early saved and wasted, in one line. Pure."""

from ..early import Early
from .summary import dollars
from .units import counted, show_calls, show_count, show_tokens


def saved_and_wasted(found: Early) -> str:
    """`Saved: 2 branches not begun, 6 to 8 calls by what their like took. Wasted: …`; empty where nothing was."""
    lines: list[str] = []
    parts = [_count(found.branches, "branch", "branches"), _count(found.rounds, "round", "rounds")]
    if unbegun := " and ".join(part for part in parts if part):
        lines.append(f"Saved: {unbegun} not begun, {_calls(found)}.")
    if found.losers:
        amount = found.wasted.amount
        price = f"{dollars(found.wasted)}, {show_calls(amount.calls)}"
        tokens = show_tokens(amount.tokens)
        who = _count(found.losers, "branch", "branches")
        lines.append(f"Wasted: {price}, {tokens} on {who} that lost a race.")
    return " ".join(lines)


def _count(number: int, one: str, several: str) -> str:
    return counted(number, one, several) if number else ""


def _calls(found: Early) -> str:
    if found.unlike == found.branches + found.rounds:
        return "of which nobody knows the price, as nothing like them ran"
    few, many = found.least, found.most
    span = show_calls(many) if few == many else f"{show_count(few)} to {show_calls(many)}"
    rest = "" if not found.unlike else f", and {found.unlike:,} of which nothing like ran"
    return f"{span} by what their like took{rest}"
