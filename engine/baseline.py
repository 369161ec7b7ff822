"""The answers to beat: each task's baseline is scored before the run sends anything that is paid.

A baseline is a yardstick: its verdict is a node of its own, no attempt of the run, so it is never the best, never
returned, and no budget falls back on it.
"""

from collections.abc import Sequence
from dataclasses import replace

import anyio
from anyio.abc import TaskGroup

from podium.dsl.program import Task

from .fold import BASELINE
from .outcome import Failed, Finished, Outcome, Passed, Paused
from .scope import World
from .value import Attempt
from .verdicts import verdict_on
from .walk import Ended, Here, Walk, ending, node

# Its segment below the run or the row: what runs is numbered from 1, and no flow's name begins with a digit.
SEGMENT = f"0.{BASELINE}"


async def score_baselines(world: World, tasks: Sequence[tuple[str, Task]]) -> Outcome | None:
    """Score the baselines of tasks, each beside the name its addresses begin with; None: the run may begin.

    The first one that cannot be scored ends it, and so does an interruption. A later life asks none again.
    """
    found = [(name, task) for name, task in tasks if task.baseline is not None]
    if not found:
        return None
    walk = Walk(world)
    ends: list[Outcome] = []

    async def one(name: str, task: Task) -> None:
        ended = await node(_place(walk, name, task), BASELINE, BASELINE, _score)
        if not isinstance(ended.outcome, Passed | Finished):
            ends.append(_told(ended.outcome, task))
            group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        group.start_soon(_watch, walk, group)
        async with anyio.create_task_group() as each:
            for name, task in found:
                each.start_soon(one, name, task)
        group.cancel_scope.cancel()
    if ends:  # before a pause: where verifiers err one after another, the run would pause for that
        return ends[0]
    return None if walk.paused is None else Paused(walk.paused, walk.told)


async def _watch(walk: Walk, group: TaskGroup) -> None:
    await walk.drained()
    group.cancel_scope.cancel()


def _place(walk: Walk, name: str, task: Task) -> Here:
    return Here(walk, f"{name}/{SEGMENT}", walk.world.account, task)


async def _score(here: Here) -> Ended:
    baseline, verifier = here.task.baseline, here.task.verify
    assert baseline is not None
    assert verifier is not None, "the checker wants a verifier where there is a baseline"
    attempt = Attempt(baseline, baseline, here.address)
    return ending(replace(attempt, verdict=await verdict_on(here, attempt, verifier)))


def _told(outcome: Outcome, task: Task) -> Outcome:
    if not isinstance(outcome, Failed):
        return outcome
    message = f"the baseline of task {task.name} could not be scored: {outcome.message}"
    return Failed(outcome.kind, message)
