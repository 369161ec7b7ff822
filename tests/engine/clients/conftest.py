"""The client that the tests here share."""

from collections.abc import AsyncIterator

import pytest

from podium.engine.clients.http import HttpClient


@pytest.fixture
async def client() -> AsyncIterator[HttpClient]:
    async with HttpClient({"OPENAI_API_KEY": "sk-vendor", "MINE": "sk-mine"}) as client:
        yield client
