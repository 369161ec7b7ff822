"""A real sandbox for the tests marked `sandbox`; without one they are skipped, and say why."""

import pytest

from podium.engine.sandbox import Sandbox, SandboxMissing, find


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def sandbox() -> Sandbox:
    try:
        found = await find()
    except SandboxMissing as missing:
        pytest.skip(str(missing))
    assert found.isolates
    return found
