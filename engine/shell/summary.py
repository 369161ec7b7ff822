"""What a person is told when a run is over. Pure: a fold becomes rows and sentences."""

from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import fmean, stdev
from typing import NamedTuple

from ..answer import failed
from ..fold import NO_SANDBOX, Fold, Node, Spend
from ..outcome import BUDGETS, ended_by_rule
from ..spend import total_of
from .books import tokens_by_kind
from .safe import safe_line
from .units import counted, plural, show_calls, show_count, show_seconds, show_tokens, show_usd

MAX_FAILURES = 3
MAX_FINALISTS = 5
MAX_ROWS = 12  # of the price table; deeper nodes are counted in those above them


class Row(NamedTuple):
    """A row of the price table: a node, or all nodes of one name below one node."""

    name: str
    outcome: str
    calls: str
    tokens: str
    usd: str


def headline(folded: Fold) -> str:
    """The outcome, why, and what it is worth, in one line."""
    ended = folded.ended
    if ended is None:
        return f"Not finished: the run stopped without an end after {show_seconds(folded.seconds)}"
    words = ended.outcome.capitalize()
    whole = ended.outcome == "finished" or ended_by_rule(ended.outcome, ended.reason)
    if whole and ended.passed is False:
        words += ", not passed"
    if ended.reason:
        words += f" ({safe_line(_in_words(ended.reason), 300)})"
    if ended.score is not None and not mixed(folded):
        words += f", score {ended.score:.6g}"
    return f"{words}, after {show_seconds(ended.seconds)}"


def _in_words(reason: str) -> str:
    dimension, of, account = reason.partition(" budget of ")
    return f"{BUDGETS.get(dimension, dimension)}{of}{account}" if of else reason


def price_table(folded: Fold) -> tuple[Row, ...]:
    """The nodes from the top down, as deep as fits, then the total.

    A level that does not fit is shown as one row a name if that fits, and otherwise left to the rows above.
    """
    totals = folded.totals()
    tree = folded.tree()
    shown: set[str] = set()
    grouped: dict[str | None, list[list[Node]]] = {}
    level: list[str | None] = [None]
    free = MAX_ROWS
    while level:
        below = [node for above in level for node in tree.get(above, [])]
        groups = {above: _by_name(tree.get(above, [])) for above in level}
        if len(below) <= free:
            shown.update(node.address for node in below)
            free -= len(below)
            level = [node.address for node in below]
            continue
        if sum(len(group) for group in groups.values()) <= free:
            grouped = groups
        break
    rows = list(_rows(None, 0, tree, shown=shown, grouped=grouped, totals=totals))
    return (*rows, _row("total", "", folded.total))


def _rows(
    above: str | None,
    depth: int,
    tree: dict[str | None, list[Node]],
    *,
    shown: set[str],
    grouped: dict[str | None, list[list[Node]]],
    totals: dict[str, Spend],
) -> Iterator[Row]:
    indent = "  " * depth
    for node in tree.get(above, []):
        if node.address in shown:
            name = node.address if above is None else node.address.removeprefix(f"{above}/")
            yield _row(indent + name, node.outcome or "running", totals[node.address])
            yield from _rows(
                node.address, depth + 1, tree, shown=shown, grouped=grouped, totals=totals
            )
    for group in grouped.get(above, []):
        outcomes = Counter(node.outcome or "running" for node in group)
        spend = total_of(totals[node.address] for node in group)
        counts = ", ".join(f"{number} {outcome}" for outcome, number in outcomes.items())
        yield _row(f"{indent}{len(group)} x {group[0].label or group[0].kind}", counts, spend)


def _by_name(nodes: Sequence[Node]) -> list[list[Node]]:
    groups: dict[str, list[Node]] = {}
    for node in nodes:
        groups.setdefault(node.label or node.kind, []).append(node)
    return list(groups.values())


def _row(name: str, outcome: str, spend: Spend) -> Row:
    return Row(
        safe_line(name, 60) if not name.startswith(" ") else _indented(name),
        safe_line(outcome, 40),
        show_count(spend.amount.calls),
        show_count(spend.amount.tokens),
        dollars(spend),
    )


def _indented(name: str) -> str:
    bare = name.lstrip(" ")
    return " " * (len(name) - len(bare)) + safe_line(bare, 60)


def dollars(spend: Spend) -> str:
    """`$0.00` where all was free, `unknown` where a price is, `up to` where some calls are bounds."""
    if spend.unpriced:
        return "unknown"
    shown = show_usd(spend.amount.usd)
    return f"up to {shown}" if spend.unknown and spend.amount.usd else shown


# --- the three lines -------------------------------------------------------------------------


def closing_lines(
    folded: Fold, run: str, *, podium: str = "podium", store: str = ""
) -> tuple[str, ...]:
    """What one agent is worth, what the best team was, and what to type next.

    podium, store: as for `what_next`. What the run knows nothing of has no line.
    """
    said = (
        problems(folded),
        *suspicions(folded),
        unsafe(folded),
        measured_again(folded),
        against_baseline(folded),
        one_agent(folded),
        best_team(folded),
        from_caches(folded),
        what_next(folded, run, podium=podium, store=store),
    )
    return tuple(line for line in said if line)


def from_caches(folded: Fold) -> str:
    """The tokens by kind where servers told of any in their caches; else empty."""
    return tokens_by_kind(folded.total) if folded.total.usage.cached else ""


def failure_lines(folded: Fold) -> tuple[str, ...]:
    """The failures of the run, the lowest address first; the last line counts those that are not shown."""
    found = failed(folded)
    lines = [
        f"{safe_line(one.address, 120)} {one.outcome}: {safe_line(_in_words(one.reason), 200)}"
        for one in found[:MAX_FAILURES]
    ]
    if len(found) > MAX_FAILURES:
        lines.append(f"and {len(found) - MAX_FAILURES:,} more that failed; --json has them all")
    return tuple(lines)


def against_baseline(folded: Fold) -> str:
    """What there was to beat and what the run made of it; empty where there was nothing."""
    baseline = folded.baseline
    if baseline is None or (baseline.tasks > 1 and mixed(folded)):
        return ""
    if baseline.tasks < len(folded.tasks):  # what the run is worth is the mean of all of them
        return ""
    best = folded.ended if folded.ended is not None else folded.best
    mine = "none" if best is None else _worth(best.score, passed=best.passed)
    worth = _worth(baseline.score, passed=baseline.passed)
    if baseline.tasks > 1:
        return f"Baseline {worth}, best {mine}, on average over {baseline.tasks} tasks."
    return f"Baseline {worth}, best {mine}."


def problems(folded: Fold) -> str:
    """How the tasks of a run of several went; empty for a run of one."""
    tasks = folded.tasks.values()
    if not tasks:
        return ""
    passed = sum(one.passed is True for one in tasks)
    scores = [one.score for one in tasks if one.score is not None]
    mean = f", mean score {fmean(scores):.4g} over {len(scores)}" if scores else ""
    mean = ", whose scores are of several scales" if mixed(folded) else mean
    open_ = sum(one.outcome in ("paused", "cancelled") for one in tasks)
    left = f", {open_} not done" if open_ else ""
    return f"Problems: {passed} of {len(tasks)} passed{mean}{left}."


def mixed(folded: Fold) -> bool:
    """Whether a mean of the tasks' scores says nothing: they have several verifiers, not all from 0 to 1."""
    scores = (one.score for one in folded.tasks.values() if one.score is not None)
    return len(folded.verifiers) > 1 and not all(0 <= score <= 1 for score in scores)


def suspicions(folded: Fold) -> tuple[str, ...]:
    """What verifiers suspect, the best attempt with and without that; nothing where no verdict has a flag."""
    if not folded.flags:
        return ()
    best, other = folded.best, folded.best_unflagged
    count = len(folded.flags)
    many = f"{counted(count, 'attempt')} {plural(count, 'looks', 'look')}"
    if best is None or best.address not in folded.flags:
        return (f"{many} like a cheat; the best is none of them.",)
    why = safe_line("; ".join(folded.flags[best.address]), 200)
    mine = _worth(best.score, passed=best.passed)
    rest = "none is left without a flag"
    if other is not None:
        worth = _worth(other.score, passed=other.passed)
        rest = f"the best without a flag: {worth}, {safe_line(other.address, 120)}"
    told = f"{many} like a cheat, the best ({mine}) among them: {why}"
    return (told, f"{rest[:1].upper()}{rest[1:]}.")


def measured_again(folded: Fold) -> str:
    """The finalists of a verifier with random scores: both scores, the best by the second one first."""
    found = [one for one in folded.measured.values() if one.second is not None]
    if not found:
        return ""
    found.sort(key=lambda one: one.second or 0.0, reverse=folded.better == "higher")
    scores = [f"{_worth(one.first, passed=None)} then {one.second:.4g}" for one in found]
    more = f", and {len(scores) - MAX_FINALISTS} more" if len(scores) > MAX_FINALISTS else ""
    return f"Finalists were scored once more: {', '.join(scores[:MAX_FINALISTS])}{more}."


def unsafe(folded: Fold) -> str:
    """That programs were started without a sandbox, where they were."""
    if folded.sandbox != NO_SANDBOX:
        return ""
    return "UNSAFE: programs were started without a sandbox; what they did, and the scores, cannot be trusted."


def _worth(score: float | None, *, passed: bool | None) -> str:
    if score is not None:
        return f"{score:.4g}"
    return "none" if passed is None else "passed" if passed else "not passed"


def one_agent(folded: Fold) -> str:
    """The mean and spread (standard deviation) of the scores that single agents' attempts got.

    Empty in a run that scored none and had no team, and where scores are of several scales.
    """
    if mixed(folded):
        return ""
    scores = single_scores(folded)
    match len(scores):
        case 0 if not _teams(folded):
            return ""
        case 0:
            return "One agent: no attempt of a single agent was scored in this run."
        case 1:
            return f"One agent scored {scores[0]:.4g} (n = 1)."
        case n:
            mean, spread = fmean(scores), stdev(scores)
            return f"One agent scored {mean:.4g} on average, spread {spread:.2g} (n = {n})."


def single_scores(folded: Fold) -> list[float]:
    """Scores of attempts made by one agent, alone or as a team's member, in the order of judging: those by the
    task's verifier, where it is known which that is. Others, named by `by =`, are of another scale."""
    own = folded.verifiers
    judged = [one for (_, name), one in folded.scores.items() if not own or name in own]
    return [one.score for one in judged if one.by == "agent" and one.score is not None]


def best_team(folded: Fold) -> str:
    """The team whose answer scored best, with its price; empty where no team ran."""
    scored = [node for node in _teams(folded).values() if node.score is not None]
    if not scored:
        teams = len(_teams(folded))
        return f"{counted(teams, 'team')} ran, none with a score." if teams else ""
    top = scored[0]
    for node in scored[1:]:
        if folded.is_better(node.score or 0.0, top.score or 0.0):
            top = node
    spend = folded.totals()[top.address]
    amount = spend.amount
    price = f"{dollars(spend)}, {show_tokens(amount.tokens)}, {show_calls(amount.calls)}"
    of = f" of {len(scored)}" if len(scored) > 1 else ""
    return (
        f"The best team{of} scored {top.score:.4g} and cost {price}: {safe_line(top.address, 80)}"
    )


def what_next(folded: Fold, run: str, *, podium: str = "podium", store: str = "") -> str:
    """The command that is most useful now.

    podium: how the command is called. store: an option that names the store, unless it is the usual one.
    """
    ended = folded.ended
    if ended is None or ended.resumable:
        first = "mend that, then " if ended is not None and ended.outcome == "failed" else ""
        return f"Next: {first}{podium} resume {run} {store}".rstrip()
    address = folded.best.address if folded.best is not None else ""
    if not address and folded.nodes:
        address = next(reversed(folded.nodes))
    words = ("Next:", podium, "show", run, safe_line(address, 120), store)
    return " ".join(word for word in words if word)


def _teams(folded: Fold) -> dict[str, Node]:
    return {address: node for address, node in folded.nodes.items() if node.kind == "team"}
