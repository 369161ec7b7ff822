"""The families about programs are judged in a real sandbox; without one their tests are skipped, and say why."""

from collections.abc import Awaitable, Callable

import pytest

from podium.dsl.program import Task
from podium.engine.call import VerifierCall
from podium.engine.reduce import settled
from podium.engine.sandbox import Sandbox
from podium.engine.value import Verdict
from podium.engine.verify import judge

Judged = Callable[[Task, str], Awaitable[Verdict]]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def judged(sandbox: Sandbox) -> Judged:
    """What a task's verifier says of a text, with the task's own pass rule."""

    async def judge_it(task: Task, text: str) -> Verdict:
        assert task.verify is not None
        call = VerifierCall("a/v", "run", task.verify, task, text, text)
        return settled(await judge(call, sandbox=sandbox), task, task.verify)

    return judge_it
