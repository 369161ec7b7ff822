"""The tasks of a run of several: each walked below the run, under its one budget or a fair share of that.

With `split = even` few tasks run at the same time, and a task that begins gets an even part of what those that
run may no longer take: so what a task leaves is there for those behind it. A share is a decision.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import anyio

from podium.dsl.program import Budget, Program, Task

from .event import NodeEnded, NodeStarted, TaskEnded
from .interpret import Result
from .interpret import run as walk
from .ledger import Account
from .outcome import (
    BY_RULE,
    Cancelled,
    Failed,
    Finished,
    Outcome,
    Passed,
    Paused,
    Stopped,
    reason,
    word,
)
from .scope import World
from .value import Attempt

# Of an even split: enough to keep servers busy, few enough for what is left to come to those behind.
AT_ONCE = 32


class Ends(NamedTuple):
    """How the tasks ended, and all of them together. reason: in place of the outcome's own, where not empty."""

    outcome: Outcome
    attempts: tuple[Attempt | None, ...]
    reason: str


def named_tasks(program: Program) -> list[tuple[str, Task]]:
    """The tasks, each with the name that its addresses begin with."""
    if len(program.tasks) <= 1:
        return [(program.name, task) for task in program.tasks]
    return [(f"{program.name}/{number}.row", task) for number, task in enumerate(program.tasks, 1)]


@dataclass(slots=True, eq=False)
class _Rows:
    """running: the names of those under way, or broken off. waiting: how many have not begun."""

    world: World
    waiting: int
    results: dict[int, Result] = field(default_factory=dict[int, Result])
    running: set[str] = field(default_factory=set[str])

    async def one(self, number: int, name: str, task: Task) -> None:
        world, recorder = self.world, self.world.recorder
        share = self._share(name) if world.program.split == "even" else None
        self.waiting -= 1
        self.running.add(name)
        inside = replace(world, program=replace(world.program, name=name))
        result = self.results[number] = await walk(inside, task, share)
        recorder.emit(_ended(world, name, task, result))
        if not isinstance(result.outcome, Paused):
            self.running.discard(name)

    def _share(self, name: str) -> Budget | None:
        """An even part of what is left, once those that run took all they may; None where nothing bounds it."""
        ledger, account = self.world.ledger, self.world.account
        left = ledger.left(account) if account in ledger.accounts else (None, None, None)
        if all(room is None for room in left):
            return None
        own = [ledger.accounts.get(f"{account}/{one}") for one in self.running]
        free = [
            None if room is None else max(0, room - sum(_room(a, i) for a in own)) // self.waiting
            for i, room in enumerate(left)
        ]
        return Budget(*self.world.recorder.decide(name, "share", lambda: free))


def _ended(world: World, name: str, task: Task, result: Result) -> TaskEnded:
    value, verdict = result.value, None if result.value is None else result.value.verdict
    return TaskEnded(
        name,
        task.name,
        word(result.outcome),
        result.reason or reason(result.outcome, world.named),
        None if value is None else value.answer,
        None if verdict is None else verdict.score,
        None if verdict is None else verdict.passed,
        "" if value is None else value.tree,
    )


def _room(account: Account | None, i: int) -> int:
    limit = None if account is None else account.limit[i]
    if account is None or limit is None:
        return 0
    return max(0, limit - account.spent[i] - account.held[i])


async def walk_rows(world: World) -> Ends:
    """Walk all tasks. Cancellation ends every node and goes on outwards."""
    program = world.program
    named = named_tasks(program)
    rows = _Rows(world, len(named))
    slots = anyio.Semaphore(AT_ONCE if program.split == "even" else len(named))
    world.recorder.emit(NodeStarted(program.name, "rows", program.name))
    outcome: Outcome = Cancelled()

    async def one(number: int, name: str, task: Task) -> None:
        try:
            await rows.one(number, name, task)
        finally:
            slots.release()

    try:
        async with anyio.create_task_group() as tasks:
            for number, (name, task) in enumerate(named, 1):
                await slots.acquire()
                tasks.start_soon(one, number, name, task)
        done = [rows.results[number] for number in sorted(rows.results)]
        outcome = joined([result.outcome for result in done])
    except Exception as error:  # the node ends all the same; the error goes on
        outcome = Failed("bug", repr(error))
        raise
    finally:
        world.recorder.emit(NodeEnded(program.name, word(outcome), reason(outcome, world.named)))
    return Ends(outcome, tuple(result.value for result in done), _of_rows(outcome, done))


def _of_rows(outcome: Outcome, done: Sequence[Result]) -> str:
    """What is to be said of rows of which some passed though the run was stopped."""
    told = next((result.reason for result in done if result.reason), "")
    return told if isinstance(outcome, Passed | Finished) else ""


def joined(outcomes: list[Outcome]) -> Outcome:
    """The outcome of a run of several tasks: what stopped it all, else passed if all did, else finished
    if any gave an answer, else the first one's. Of several that paused, only the one whose call found out
    why says it."""
    told = [o for o in outcomes if isinstance(o, Paused) and o.message]
    outcomes = [Finished() if outcome in BY_RULE else outcome for outcome in outcomes]
    for stopped in (Paused, Cancelled, Stopped):
        found = next((o for o in (*told, *outcomes) if isinstance(o, stopped)), None)
        if found is not None:
            return found
    if all(isinstance(outcome, Passed) for outcome in outcomes):
        return Passed()
    if any(isinstance(outcome, Passed | Finished) for outcome in outcomes):
        return Finished()
    return outcomes[0]
