"""E900: what is checked with all the rest, and does not run yet."""

from .draft import Draft, nodes, roles, used_models
from .evaluate import Evaluator
from .prompts import roots
from .values import Later


def refuse_later(evaluator: Evaluator, draft: Draft) -> None:
    """Report what the run would use and cannot yet; and a task that is missing and mentioned."""
    found: list[Later] = []
    for node in nodes(draft.flow):
        found += evaluator.marks(node)
        for role, _ in roles(node):
            found += evaluator.marks(role)
    chosen, _ = used_models(draft)
    for model in [draft.model, *(evaluator.model(name) for name in chosen)]:
        found += evaluator.marks(model)
    for later in found:
        evaluator.error(
            "E900",
            f"{later.what} is checked but does not run yet",
            later.place,
            help="leave it out of what this run uses",
        )
    _no_task(evaluator, draft)


def _no_task(evaluator: Evaluator, draft: Draft) -> None:
    if draft.tasks is not None:
        return
    for node in nodes(draft.flow):
        for role, _ in roles(node):
            if "task" in roots(role.prompt) | roots(role.system):
                evaluator.error(
                    "E130",
                    f"run `{draft.name}` has no task, and `{role.name}` mentions it",
                    draft.place,
                    help="add `task = …` to the run, or give one with `--task`",
                )
                return
