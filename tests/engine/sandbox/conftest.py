"""Programs in a real sandbox are waited for by asyncio."""

import pytest


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
