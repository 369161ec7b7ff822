"""One setting for all property tests, the same examples on every machine and every day; and the real sandbox.

`HYPOTHESIS_PROFILE=search .venv/bin/pytest` looks for new examples.
"""

import os

import pytest
from hypothesis import settings

from podium.engine.sandbox import Sandbox, SandboxMissing, find

settings.register_profile("fixed", derandomize=True, deadline=None, database=None)
settings.register_profile("search", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))


@pytest.fixture
async def sandbox() -> Sandbox:
    """For the tests marked `sandbox`; without one they are skipped, and say why."""
    try:
        found = await find()
    except SandboxMissing as missing:
        pytest.skip(str(missing))
    assert found.isolates
    return found
