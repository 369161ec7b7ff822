"""The answer of a run as JSON: what `run --json`, `resume --json` and `show RUN --json` print. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from podium.dsl.program import Budget

from .early import early
from .fold import Baseline, Fold, Node
from .reduce import order
from .spend import MICRO, NO_SPEND, Spend


def failed(folded: Fold) -> list[Node]:
    """The nodes that failed or exhausted a budget of their own accord, the lowest address first.

    One that failed because of what failed below it, in the same words, is left out: the cause is told once.
    """
    nodes = [node for node in folded.nodes.values() if node.outcome in ("failed", "exhausted")]
    told = {(folded.parent(node.address), node.outcome, node.reason) for node in nodes}
    causes = [n for n in nodes if n.began and (n.address, n.outcome, n.reason) not in told]
    return sorted(causes, key=lambda node: order(node.address))


def failures(folded: Fold) -> list[dict[str, str | None]]:
    """The same as JSON values."""
    return [
        {"address": node.address, "outcome": node.outcome, "reason": node.reason}
        for node in failed(folded)
    ]


def budget_json(budget: Budget) -> dict[str, float | int | None]:
    """A budget in the units of JSON answers: dollars, tokens, calls, seconds; null is no bound."""
    return {
        "usd": None if budget.usd is None else budget.usd / MICRO,
        "tokens": budget.tokens,
        "calls": budget.calls,
        "seconds": budget.seconds,
    }


def result_json(
    run: str, folded: Fold, store: str, artifacts: Sequence[Mapping[str, Any]] = ()
) -> Mapping[str, Any]:
    """The one object that `run --json`, `resume --json` and `show RUN --json` print.

    A node's `spent` includes all that lies below it. `held` counts calls that still hold money.
    A run that has not ended has `outcome` null, the best answer so far, and can be resumed.
    `failures` are all of them, the lowest address first; `early`: what ending early saved and wasted.
    `suspected` is null where no verdict has a flag; `measured_again`: finalists of a verifier with random scores.
    `sandbox` is where programs were started, "none" under --unsafe-sandbox, null where the run starts none.
    `problems`: of a run of several tasks those that have ended.
    `artifacts`: the files that came with the answer, as of `artifacts_json`.
    `baseline` is null where no task has one; of several tasks `score` is the mean, as the answers' is.
    """
    ended, best, totals = folded.ended, folded.best, folded.totals()
    final = ended if ended is not None else best
    return {
        "schema": 1,
        "run": run,
        "outcome": None if ended is None else ended.outcome,
        "reason": "" if ended is None else ended.reason,
        "resumable": True if ended is None else ended.resumable,
        "answer": None if final is None else final.answer,
        "score": None if final is None else final.score,
        "passed": None if final is None else final.passed,
        "artifacts": list(artifacts),
        "baseline": _baseline_json(folded.baseline),
        "problems": problems_json(folded),
        "suspected": suspected_json(folded),
        "measured_again": _measured_json(folded),
        "sandbox": folded.sandbox or None,
        "seconds": folded.seconds,
        "spent": folded.total.as_json(),
        "budget": budget_json(folded.budget or Budget()),
        "held": folded.held,
        "failures": failures(folded),
        "early": early(folded).as_json(),
        "nodes": [_node_json(node, totals[node.address]) for node in folded.nodes.values()],
        "store": store,
    }


def _measured_json(folded: Fold) -> list[dict[str, Any]]:
    return [
        {"address": one.address, "first": one.first, "second": one.second}
        for one in folded.measured.values()
    ]


def problems_json(folded: Fold) -> list[dict[str, Any]]:
    """The tasks of a run of several that have ended, in their order; of a run of one task nothing."""
    spent = dict.fromkeys(folded.tasks, NO_SPEND)
    for address, node in folded.nodes.items():
        row = "/".join(address.split("/")[:2])  # of the run's name and the row's
        if row in spent:
            spent[row] = spent[row].plus(node.own)
    return [
        {
            "address": one.address,
            "name": one.task,
            "outcome": one.outcome,
            "reason": one.reason,
            "answer": one.answer,
            "score": one.score,
            "passed": one.passed,
            "spent": spent[one.address].as_json(),
        }
        for one in sorted(folded.tasks.values(), key=lambda one: order(one.address))
    ]


def suspected_json(folded: Fold) -> dict[str, Any] | None:
    """How many attempts look like cheats, why the best one does, and the best one that does not."""
    if not folded.flags:
        return None
    best, other = folded.best, folded.best_unflagged
    return {
        "attempts": len(folded.flags),
        "flags": [] if best is None else list(folded.flags.get(best.address, ())),
        "best_unflagged": None
        if other is None
        else {
            "address": other.address,
            "answer": other.answer,
            "score": other.score,
            "passed": other.passed,
        },
    }


def _node_json(node: Node, spend: Spend) -> dict[str, Any]:
    return {
        "address": node.address,
        "kind": node.kind,
        "outcome": node.outcome,
        "reason": node.reason,
        "spent": spend.as_json(),
    }


def _baseline_json(baseline: Baseline | None) -> dict[str, float | bool | None] | None:
    return None if baseline is None else {"score": baseline.score, "passed": baseline.passed}
