"""What a team asks agrees with what the language counts before the run."""

import pytest
import trio.testing

from podium.dsl.bounds import bounds
from podium.dsl.compile import Choice, compile_run
from podium.dsl.library import MemoryLibrary
from podium.dsl.source import Source
from podium.engine.testing import ScriptedClient, play

HEAD = 'model m { endpoint = openai("m", base_url = "http://127.0.0.1:1/v1") price = none }\n'


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    return ("trio", {"clock": trio.testing.MockClock(autojump_threshold=0)})


pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("order", ["together", "in_turn", "solver_first", "solver_last"])
@pytest.mark.parametrize("size", [1, 2, 4])
@pytest.mark.parametrize("ceo", ["none", "fixed", "adaptive"])
async def test_a_team_that_is_never_stopped_asks_the_most(order: str, size: int, ceo: str) -> None:
    lead = "" if ceo == "none" else f"ceo = {ceo}, "
    flow = f"team({size}, {lead}order = {order}, rounds = 3)"
    text = f'{HEAD}task t {{ statement = "2 + 2?" }}\nrun main {{ task = t flow = {flow} }}\n'
    program, _ = compile_run(Source("x.team", text), MemoryLibrary(), Choice())
    played = await play(program, ScriptedClient({"": "4"}))
    assert len(played.calls) == bounds(program.flow).most
