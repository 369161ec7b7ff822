"""Cache salts, as servers see them: one for each account, the same in each life of a run."""

from pathlib import Path

import pytest

from podium.dsl.model import Sampling
from podium.engine import Engine
from podium.engine.call import Message, ModelCall, request_digest
from podium.engine.salt import salt
from podium.engine.testing.server import MODEL, Answer, FakeServer, always, in_turn

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


PROGRAM = '''
edition 2026

model shared {
  endpoint = openai("fake", base_url = "URL")
  profile  = { first_s = 0.2, check_s = 0 }
}

role one {
  prompt     = """{{ task.statement }}"""
  max_output = 20 tokens
}

role again {
  prompt     = """Say it again: {{ attempt.answer }}"""
  max_output = 20 tokens
}

task saying { statement = """Say something.""" }

run main {
  task   = saying
  flow   = one -> again
  budget = [20k tokens]
}
'''


def serving(owner: str) -> FakeServer:
    return FakeServer(models=[{"id": MODEL, "max_model_len": 8192, "owned_by": owner}])


def salts(fake: FakeServer) -> list[str]:
    """The distinct salts that came, in order."""
    return list(dict.fromkeys(seen.body["cache_salt"] for seen in fake.calls))


async def run(store: Path, fake: FakeServer, *accounts: str) -> None:
    """A run for each account, one after the other; "" is a run without one."""
    async with Engine(store, environ={}) as engine:
        for name in accounts:
            account = engine.account(name) if name else None
            text = PROGRAM.replace("URL", fake.url)
            await (await engine.start(text, account=account)).result()


async def test_accounts_have_salts_of_their_own_that_last_as_long_as_the_store(
    tmp_path: Path,
) -> None:
    async with serving("vllm") as fake:
        await run(tmp_path / "a.db", fake, "tenant-1", "tenant-2", "", "tenant-1", "")
        first = salts(fake)
        assert len(fake.calls) == 10
        assert len(first) == 3
        await run(tmp_path / "a.db", fake, "", "tenant-2", "tenant-1")
        assert salts(fake) == first
        await run(tmp_path / "b.db", fake, "tenant-1", "tenant-2", "")
        assert len(salts(fake)) == 6
    assert all(len(one) == 64 and "tenant" not in one for one in first)


async def test_a_resumed_run_sends_the_same_salt_and_pays_for_nothing_again(tmp_path: Path) -> None:
    async with serving("vllm") as fake:
        fake.script = in_turn(Answer(), Answer(delay_s=60))
        async with Engine(tmp_path / "runs.db", environ={}) as engine:
            account = engine.account("tenant-1")
            begun = await engine.start(PROGRAM.replace("URL", fake.url), account=account)
            await fake.until(lambda: fake.running == 1 and fake.answered == 1)
            begun.abort()
            await begun.result()
        fake.script = always(Answer(text="now"))
        async with Engine(tmp_path / "runs.db", environ={}) as engine:
            ended = await (await engine.resume(begun.id)).result()
        assert ended.attempt is not None
        assert ended.attempt.answer == "now"
        assert (fake.started, len(salts(fake))) == (3, 1)


@pytest.mark.parametrize("owner", ["llamacpp", "library", "somebody"])
async def test_a_server_that_may_not_know_the_field_does_not_get_it(
    tmp_path: Path, owner: str
) -> None:
    async with serving(owner) as fake:
        await run(tmp_path / "runs.db", fake, "tenant-1")
    assert not any("cache_salt" in seen.body for seen in fake.calls)


def test_a_salt_is_no_part_of_the_request_that_resuming_compares() -> None:
    plain = ModelCall("a", "r", "m", (Message("user", "hi"),), 9, Sampling())
    salted = ModelCall("a", "r", "m", (Message("user", "hi"),), 9, Sampling(), salt="x")
    assert request_digest(plain) == request_digest(salted)


def test_a_salt_depends_on_secret_and_account() -> None:
    assert salt("s", "a") == salt("s", "a")
    assert len({salt(secret, name) for secret in ("s", "t") for name in ("", "a", "b")}) == 6
