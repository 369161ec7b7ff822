"""What is allowed, and probably not what was meant: judges that judge their own kind, budgets that cannot end."""

import re
from collections.abc import Iterator, Mapping

from .bounds import bounds
from .draft import EMBEDDED, Draft, nodes, roles, tools_of
from .evaluate import Evaluator
from .model import Model
from .problem import Label
from .program import Budget, Limited, Reduce, Team, Verifier
from .source import Place
from .tools import SANDBOXED

# --- files ---------------------------------------------------------------------------------------


def unopened(evaluator: Evaluator, draft: Draft) -> None:
    """W610 for files of the task that no agent of the run has a tool to open."""
    files = None if draft.tasks is None else draft.tasks.files
    if files is None or any(tool.kind in SANDBOXED for tool in tools_of(draft.flow)):
        return
    evaluator.error(
        "W610",
        "no agent of this run has a tool that opens the task's `files`",
        files,
        severity="warning",
        help="add `tools = [read, edit, shell]` to the task, for all who work on it, or to a role",
    )


def unworked(evaluator: Evaluator, draft: Draft) -> None:
    """W611 for a `workspace` of a team in which no member has a tool that works on files."""
    for node in nodes(draft.flow):
        if not isinstance(node, Team) or node.workspace == "private":
            continue
        if not any(tool.kind in SANDBOXED for one in node.members for tool in one.role.tools):
            evaluator.error(
                "W611",
                f"`workspace = {node.workspace}` does nothing: no member has a tool that works on files",
                node.place,
                severity="warning",
                help="add `tools = [read, write, edit]` to a member's role, or delete `workspace`",
            )


# --- judges --------------------------------------------------------------------------------------

_FAMILY = re.compile(r"[a-z]+")


def judges(evaluator: Evaluator, draft: Draft, default: Model | None) -> None:
    """W601 for a judge on a model of the family that wrote what it judges; both models must be known."""
    for verifier, place in _verifiers(draft):
        for name in _models(verifier):
            model = evaluator.model(name) if isinstance(name, str) and name else default
            if model is not None and model != EMBEDDED:
                _own_kind(evaluator, draft, default, model, place)


def _models(verifier: Verifier) -> Iterator[object]:
    """The models of its judges; an empty name is the run's own."""
    for leaf in verifier.leaves():
        by = leaf.args.get("model")
        yield from by if isinstance(by, tuple) else ()


def _verifiers(draft: Draft) -> Iterator[tuple[Verifier, Place]]:
    if draft.tasks is not None and draft.tasks.tasks and draft.tasks.tasks[0].verify is not None:
        yield draft.tasks.tasks[0].verify, draft.task_place
    for node in nodes(draft.flow):
        if isinstance(node, Reduce) and node.by is not None:
            yield node.by, node.place


def _own_kind(
    evaluator: Evaluator, draft: Draft, default: Model | None, judge: Model, place: Place
) -> None:
    for node in nodes(draft.flow):
        for role, place_model in roles(node):
            name = role.model or place_model
            author = evaluator.model(name) if name is not None else default
            if author is None or family(author).isdisjoint(family(judge)):
                continue
            evaluator.error(
                "W601",
                f"the judge's model `{judge.name}` is of the family that writes what it judges",
                place,
                severity="warning",
                secondary=(Label(node.place, f"`{role.name}` writes on model `{author.name}`"),),
                help="models prefer answers of their own kind: give the judge another model",
            )
            return


def family(model: Model) -> set[str]:
    """What the names of its endpoints begin with: `qwen` of `Qwen/Qwen3-27B`."""
    names = (endpoint.name.rpartition("/")[2].lower() for endpoint in model.endpoints)
    return {found.group() for name in names if (found := _FAMILY.match(name))}


# --- budgets ------------------------------------------------------------------------------------


MOST_TRIES = 10
"""More than any call is sent again after failures, so that what counts calls is never below the truth."""


def spare(
    evaluator: Evaluator, draft: Draft, used: Mapping[str, Model], dollars: Place | None
) -> None:
    """W604 for dollars where every model is free, for more calls than there can be, and for a share of all."""
    own = [model for model in used.values() if model != EMBEDDED]
    if dollars is not None and own and all(model.is_free for model in used.values()):
        help_ = "leave the dollars out; tokens, calls or a time can end a run of free models"
        _never(evaluator, "the dollars of this budget can", "every model is free", dollars, help_)
    most = bounds(draft.flow).most * MOST_TRIES
    judged = any(True for verifier, _ in _verifiers(draft) for _ in _models(verifier))
    for budget, place in _budgets(draft):
        if budget.calls is not None and budget.calls > most and not judged:
            why = f"this run makes {most:,} at most, resends included"
            _never(evaluator, f"{budget.calls:,} calls can", why, place)
        if budget.share == 1:
            _never(evaluator, "a share of 100% can", "what is around it ends first", place)


def _never(
    evaluator: Evaluator,
    what: str,
    why: str,
    place: Place,
    help_: str = "lower the bound, or leave it out",
) -> None:
    evaluator.error(
        "W604",
        f"{what} never run out here: {why}",
        place,
        severity="warning",
        help=help_,
    )


def _budgets(draft: Draft) -> Iterator[tuple[Budget, Place]]:
    yield draft.budget, draft.budget_place
    for node in nodes(draft.flow):
        if isinstance(node, Limited):
            yield node.budget, node.place
