"""Runs the arms of a comparison, block by block: one block is one run of each arm, on one task, with one seed.

So what drifts while it goes on, a server or a price, is met by all arms alike, and scores of one block are pairs.
Each run has a key made of what it is: carried out again, after an end of any kind or with more repeats, the
runs that are there are read from the store, and one that was broken off is taken up. Nothing is paid twice.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random

import anyio

from ..fold import fold_for
from ..request import to_json
from ..run import Account, Engine
from .arms import Arm, digest, task_digest
from .trial import Trial, trial_of

Seen = Callable[[Trial], None]
Enough = Callable[[Sequence[Trial]], bool]


@dataclass(frozen=True, slots=True)
class Block:
    """seed: of every run in it. arms: their numbers, in the order in which they run."""

    repeat: int
    task: int
    seed: int
    arms: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Design:
    """inflight: how many blocks run at a time. usd: micro-dollars that all runs together may spend.

    worst: micro-dollars that a block may cost at most; None where it is not known.
    """

    name: str
    arms: tuple[Arm, ...]
    repeats: int
    seed: int = 0
    inflight: int = 1
    usd: int | None = None
    worst: int | None = None


def blocks(design: Design) -> list[Block]:
    """The blocks in their order: every task once, then every task again. The order of arms is drawn for each."""
    return [
        _block(design, repeat, task)
        for repeat in range(design.repeats)
        for task in range(len(design.arms[0].tasks))
    ]


def _block(design: Design, repeat: int, task: int) -> Block:
    name = task_digest(design.arms[0].tasks[task])
    chance = Random(f"{design.seed} {name} {repeat}")
    seed = chance.getrandbits(31)
    order = list(range(len(design.arms)))
    chance.shuffle(order)
    return Block(repeat, task, seed, tuple(order))


async def carry_out(
    engine: Engine, design: Design, *, seen: Seen = lambda _: None, enough: Enough = lambda _: False
) -> list[Trial]:
    """The trials of the whole design, in the order of its blocks; fewer where it ended early.

    seen: told of each as it ends. enough: asked, of all whole blocks from the first on, whether they will do; it
    must allow being asked again and again. Raises what `Engine.start` raises; then nothing more is started.
    """
    account = engine.account(account_of(design))
    done: dict[int, list[Trial]] = {}
    spent = 0
    limiter = anyio.Semaphore(design.inflight)
    over = False

    async def carry(number: int, block: Block) -> None:
        nonlocal over, spent
        try:
            found = [await _run(engine, design, account, block, arm, seen) for arm in block.arms]
            done[number] = found
            spent += sum(round((one.usd or 0.0) * 1e6) for one in found)
            over = over or enough(_whole(done))
        finally:
            limiter.release()

    async with anyio.create_task_group() as tasks:
        for number, block in enumerate(blocks(design)):
            await limiter.acquire()
            flying = number - len(done)
            if over or not _fits(design, spent, flying + 1):
                break
            tasks.start_soon(carry, number, block)
    return _whole(done)


def _fits(design: Design, spent: int, flying: int) -> bool:
    """Whether another block can be paid, whatever it and those under way come to."""
    if design.usd is None or design.worst is None:
        return True
    return spent + flying * design.worst <= design.usd


def _whole(done: dict[int, list[Trial]]) -> list[Trial]:
    """The trials of the blocks from the first on that are all done: what is looked at has no gaps."""
    found: list[Trial] = []
    for number in range(len(done)):
        if number not in done:
            break
        found += done[number]
    return found


def account_of(design: Design) -> str:
    return f"comparison {design.name}"


def key_of(design: Design, block: Block, number: int) -> str:
    """What a run of the arm of that number in block is called in the store: by what it is."""
    arm = design.arms[number]
    task = arm.tasks[block.task]
    return f"{arm.name} {digest(arm)} {task_digest(task)} {block.repeat} {block.seed}"


def ended(engine: Engine, design: Design) -> int:
    """How many of the design's runs the store has, to their end: these are read, and not run again."""
    account = account_of(design)
    there = {run.key for run in engine.runs() if run.account == account and run.status == "ended"}
    return sum(
        key_of(design, block, number) in there for block in blocks(design) for number in block.arms
    )


async def _run(
    engine: Engine, design: Design, account: Account, block: Block, number: int, seen: Seen
) -> Trial:
    arm = design.arms[number]
    task = arm.tasks[block.task]
    key = key_of(design, block, number)
    alone = replace(arm.program, tasks=(task,), seed=block.seed)
    request = to_json(replace(arm.request, row=block.task, seed=block.seed))
    run = await engine.start(alone, request=request, key=key, account=account)
    await run.result()
    await run.written()
    found = trial_of(
        run.id, run.past(), fold_for(alone), arm=arm.name, task=task.name, repeat=block.repeat
    )
    seen(found)
    return found
