"""What a run that mentions its task needs: a task."""

from .draft import Draft, nodes, roles
from .evaluate import Evaluator
from .prompts import roots


def needs_task(evaluator: Evaluator, draft: Draft) -> None:
    """E130 for a task that is missing and mentioned."""
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
