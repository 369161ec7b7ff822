"""What servers tell of their load and of the tokens of a call."""

from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.dsl.model import Endpoint, Model
from podium.engine.call import Message, ModelCall, Replica
from podium.engine.clients.dialects import PROFILES
from podium.engine.clients.gauges import Load, load_of, tokens_of
from podium.engine.clients.http import HttpClient
from podium.engine.testing.dialects import dialect
from podium.engine.testing.server import Answer, FakeServer, json_answer

# Rows as the servers wrote them, with figures; and neighbours whose names only begin alike.
VLLM = b"""# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="smollm2-135m"} 3.0
vllm:num_requests_running{engine="1",model_name="a {b} c"} 4.0
vllm:num_requests_waiting{engine="0",model_name="smollm2-135m"} 2.0
vllm:num_requests_waiting_by_reason{engine="0",model_name="smollm2-135m",reason="capacity"} 9.0
vllm:kv_cache_usage_perc{engine="0",model_name="smollm2-135m"} 0.25
vllm:kv_cache_usage_perc{engine="1",model_name="smollm2-135m"} 0.75
vllm:prefix_cache_queries_total{engine="0",model_name="smollm2-135m"} 611.0
vllm:prefix_cache_queries_created{engine="0",model_name="smollm2-135m"} 1.796042165464607e+09
vllm:prefix_cache_hits_total{engine="0",model_name="smollm2-135m"} 512.0
"""
SGLANG = b"""sglang:num_running_reqs{engine_type="unified",tp_rank="0"} 1.0
sglang:num_queue_reqs{engine_type="unified",tp_rank="0"} 5.0
sglang:token_usage{engine_type="unified",tp_rank="0"} 0.5
sglang:prompt_tokens_total{engine_type="unified",is_streaming="false"} 6.0
sglang:prompt_tokens_total{engine_type="unified",is_streaming="true"} 4.0
"""
LLAMA = b"""llamacpp:prompt_tokens_total 100
llamacpp:prompt_tokens_cached_total 34
llamacpp:prompt_tokens_seconds 120.5
llamacpp:requests_processing 2
llamacpp:requests_deferred 1
"""
CALL = ModelCall("a", "run", "fast", (Message("user", "Say hello to Bob."),), max_output=9)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def client() -> AsyncIterator[HttpClient]:
    async with HttpClient({}) as client:
        yield client


async def probed(client: HttpClient, fake: FakeServer) -> Replica:
    return (await client.probe(Model("fast", (Endpoint("openai", "", fake.url, None),))))[0]


@pytest.mark.parametrize(
    ("name", "page", "load"),
    [
        ("vllm", VLLM, Load(7.0, 2.0, 0.75, 611.0, 512.0)),
        ("sglang", SGLANG, Load(1.0, 5.0, 0.5, 10.0, None)),
        ("llama.cpp", LLAMA, Load(2.0, 1.0, None, 134.0, 34.0)),
        ("vllm", VLLM.replace(b":kv_cache", b":gpu_cache"), Load(7.0, 2.0, 0.75, 611.0, 512.0)),
        ("vllm", b"<html>no metrics {here}</html>", Load()),
    ],
)
def test_the_gauges_of_each_kind_are_read(name: str, page: bytes, load: Load) -> None:
    assert load_of(page, PROFILES[name].gauges) == load


@given(st.text(alphabet='vllm:num_requests_running{}" 1.e#\n'))
def test_no_page_breaks_the_reader(page: str) -> None:
    load_of(page.encode(), PROFILES["vllm"].gauges)


@pytest.mark.anyio
async def test_a_servers_load_is_asked_for_under_its_route(client: HttpClient) -> None:
    async with dialect("vllm") as fake:
        replica = await probed(client, fake)
        assert await client.load(replica) is None  # the route is off
        fake.routes["/metrics"] = Answer(body=VLLM, content_type="text/plain")
        assert await client.load(replica) == Load(7.0, 2.0, 0.75, 611.0, 512.0)
    async with dialect("ollama") as fake:
        assert await client.load(await probed(client, fake)) is None
        assert "/metrics" not in [seen.path for seen in fake.seen]


@pytest.mark.parametrize(
    ("name", "route", "body"),
    [
        ("vllm", "/tokenize", {"count": 35, "max_model_len": 2048, "tokens": [1, 9690]}),
        ("sglang", "/tokenize", {"tokens": [1] * 35}),
        (
            "llama.cpp",
            "/v1/chat/completions/input_tokens",
            {"input_tokens": 35, "object": "response.input_tokens"},
        ),
    ],
)
@pytest.mark.anyio
async def test_a_server_counts_the_tokens_of_a_call(
    client: HttpClient, name: str, route: str, body: dict[str, int | str | list[int]]
) -> None:
    async with dialect(name) as fake:
        replica = await probed(client, fake)
        assert await client.count(CALL, replica) is None
        fake.routes[route] = json_answer(body)  # type: ignore[arg-type]  # JSON
        assert await client.count(CALL, replica) == 35
        asked = fake.seen[-1].body
    assert asked["messages"] == [{"role": "user", "content": "Say hello to Bob."}]


def test_an_empty_list_is_no_count() -> None:
    assert tokens_of(b'{"tokens":[]}') is None
    assert tokens_of(b"<html>") is None
