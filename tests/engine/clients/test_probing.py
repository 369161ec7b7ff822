"""What the client finds out about an endpoint before it sends anything, and which keys it shows whom."""

from dataclasses import replace

import anyio
import anyio.abc
import pytest

from podium.dsl.model import Limits
from podium.engine.call import CallError, ModelReply, Offer
from podium.engine.clients.http import HttpClient
from podium.engine.clients.wire import Wire
from podium.engine.testing import dialect
from podium.engine.testing.server import Answer, FakeServer, always, json_answer

from .asking import CALL, failure, listening, model, probed, recorded, refused

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


# --- probing -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("server", "profile", "context", "count"),
    [
        ("vllm-0.32.0", "vllm", 2048, 1),
        ("sglang-0.5.23", "sglang", 2048, 1),
        ("xllamacpp-2026.10.11549", "llama.cpp", 2048, 8),
        ("skulk-llama-server-0.10434.0", "llama.cpp", 2048, 8),
        ("llama-cpp-python-0.3.36", "compatible", None, 1),
    ],
)
async def test_servers_are_known_by_what_they_say(
    client: HttpClient, server: str, profile: str, context: int | None, count: int
) -> None:
    async with recorded(server) as fake:
        replicas = await client.probe(model(fake.url))
    assert len(replicas) == count
    assert {(r.profile, r.context, r.served) for r in replicas} == {
        (profile, context, "smollm2-135m")
    }


async def test_a_slot_of_llama_cpp_is_a_replica(client: HttpClient) -> None:
    async with recorded("xllamacpp-2026.10.11549") as fake:
        replicas = await client.probe(model(fake.url, limits=Limits(inflight=3)))
        await client.send(CALL, replicas[2], "id")
        assert fake.calls[0].body["id_slot"] == 2
    assert [(r.slot, r.inflight) for r in replicas] == [(0, 1), (1, 1), (2, 1)]
    assert len({r.name for r in replicas}) == 3


@pytest.mark.parametrize(
    ("profile", "native"), [({}, False), ({"tools": "native"}, True), ({"tools": "text"}, False)]
)
async def test_a_model_whose_template_has_no_place_for_tools_is_told_of_them_in_words(
    client: HttpClient, profile: dict[str, str], native: bool
) -> None:
    look = Offer("look", "Looks around.", {"type": "object", "properties": {}})
    async with recorded("xllamacpp-2026.10.11549") as fake:
        replicas = await client.probe(replace(model(fake.url), profile=profile))
        await client.send(replace(CALL, tools=(look,)), replicas[0], "id")
        body = fake.calls[0].body
    assert ("tools" in body) == native
    assert ("Looks around." in body["messages"][0]["content"]) != native


async def test_inflight_is_32_or_as_the_model_says(client: HttpClient) -> None:
    async with FakeServer() as fake:
        assert (await probed(client, fake)).inflight == 32
        assert (await probed(client, fake, limits=Limits(inflight=5))).inflight == 5


@pytest.mark.parametrize("end", ["", "/", "/v1", "/v1/"])
async def test_the_address_may_end_in_v1_or_not(client: HttpClient, end: str) -> None:
    async with FakeServer() as fake:
        replica = await client.probe(model(fake.url + end))
        assert isinstance(await client.send(CALL, replica[0], "id"), ModelReply)
        assert fake.calls[0].path == "/v1/chat/completions"


async def test_a_server_without_v1_in_its_routes_is_found(client: HttpClient) -> None:
    routes = {
        "/v1/models": json_answer({}, status=404),
        "/api/models": json_answer({"data": [{"id": "m"}]}),
    }
    async with FakeServer(routes=routes) as fake:
        replica = (await client.probe(model(f"{fake.url}/api")))[0]
        assert (replica.served, replica.url) == ("m", f"{fake.url}/api")


async def test_a_server_without_a_list_is_trusted_with_the_name(client: HttpClient) -> None:
    async with FakeServer(routes={"/v1/models": json_answer({"detail": "no"}, status=404)}) as fake:
        replica = (await client.probe(model(f"{fake.url}/v1", name="m")))[0]
        assert (replica.served, replica.context) == ("m", None)


async def test_one_of_several_models_must_be_named(client: HttpClient) -> None:
    async with FakeServer(models=[{"id": "qwen-7b"}, {"id": "qwen-72b"}]) as fake:
        problem = await refused(client, model(fake.url))
        assert (problem.kind, "qwen-7b, qwen-72b" in problem.message) == ("model", True)
        assert (await probed(client, fake, name="qwen-72b")).served == "qwen-72b"


async def test_a_misspelt_model_is_met_with_the_nearest_names(client: HttpClient) -> None:
    async with FakeServer(models=[{"id": "qwen-7b"}, {"id": "llama-8b"}]) as fake:
        problem = await refused(client, model(fake.url, name="qwen7b"))
    assert problem.kind == "model"
    assert "serves no model 'qwen7b'; did you mean qwen-7b?" in problem.message


async def test_a_name_without_its_tag_and_an_alias_are_understood(client: HttpClient) -> None:
    ollama = {"id": "llama3:latest", "owned_by": "library", "aliases": ["small"]}
    async with FakeServer(models=[ollama, {"id": "other"}]) as fake:
        fake.routes["/api/ps"] = json_answer(
            {"models": [{"name": "llama3:latest", "context_length": 4096}]}
        )
        for name in ("llama3", "small"):
            replica = await probed(client, fake, name=name)
            assert (replica.served, replica.profile) == ("llama3:latest", "ollama")
            assert (replica.context, replica.inflight) == (4096, 4)


async def test_an_endpoint_that_is_not_there_is_left_out_where_another_is() -> None:
    told: list[str] = []
    async with FakeServer() as fake, HttpClient({}, tell=told.append) as client:
        [found] = await client.probe(model("http://127.0.0.1:9/v1", fake.url))
        assert found.url.startswith(fake.url)
        with pytest.raises(CallError, match="cannot be reached"):
            await client.probe(model("http://127.0.0.1:9/v1"))
    [said] = told
    assert said.startswith("127.0.0.1:9 cannot be reached")
    assert said.endswith("; fast goes on without it until it is there")


async def test_health_is_what_the_server_says_and_no_proxy_that_hides_it(
    client: HttpClient,
) -> None:
    async with dialect("vllm") as fake:
        replica = await probed(client, fake)
        assert client.has_health(replica)
        answers = {200: True, 404: True, 503: False}
        for status, well in answers.items():
            fake.routes["/health"] = Answer(status=status)
            assert await client.is_well(replica) is well
    assert not await client.is_well(replica)


async def test_the_first_of_a_reply_is_told_once_and_no_comment_is_it(client: HttpClient) -> None:
    begun: list[int] = []
    async with FakeServer(always(Answer(before=(": working",), pieces=4))) as fake:
        replica = await probed(client, fake)
        await client.send(replace(CALL, begun=lambda: begun.append(1)), replica, "id")
    assert begun == [1]


async def test_replicas_come_in_the_order_of_their_endpoints(client: HttpClient) -> None:
    slow = {"/v1/models": replace(json_answer({"data": [{"id": "slow"}]}), delay_s=0.05)}
    async with FakeServer(routes=slow) as first, FakeServer() as second:
        replicas = await client.probe(model(first.url, second.url, second.url))
    assert [r.served for r in replicas] == ["slow", "fake", "fake"]
    assert len({r.name for r in replicas}) == 3


async def test_an_endpoint_that_is_down_fails_at_once(client: HttpClient) -> None:
    async with FakeServer() as fake:
        pass
    problem = await refused(client, model(fake.url))
    assert (problem.kind, problem.maybe_paid) == ("unreachable", False)
    assert fake.url.removeprefix("http://") in problem.message


async def test_a_host_that_does_not_exist_is_named(client: HttpClient) -> None:
    problem = await refused(client, model("http://no-such-host.invalid:8000"))
    assert problem.kind == "unreachable"


async def test_a_web_page_is_no_inference_server(client: HttpClient) -> None:
    page = Answer(body=b"<!doctype html><title>Router</title>", content_type="text/html")
    async with FakeServer(routes={"/v1/models": page, "/models": page}) as fake:
        problem = await refused(client, model(fake.url))
    assert problem.kind == "protocol"
    assert "<!doctype html>" in problem.message


async def test_a_server_that_never_answers_is_given_up() -> None:
    async with (
        FakeServer(routes={"/v1/models": Answer(body=b"", stall=True)}) as fake,
        HttpClient({}, wire=Wire(probe_s=0.1)) as client,
    ):
        assert (await refused(client, model(fake.url))).kind == "silent"


async def test_a_port_that_speaks_something_else_is_no_server(client: HttpClient) -> None:
    async def talk(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            await stream.receive()
            await stream.send(b"SSH-2.0-OpenSSH_9.2\r\n")

    async with listening(talk) as url:
        assert (await refused(client, model(url))).kind == "protocol"


async def test_a_refused_key_is_told_without_showing_it(client: HttpClient) -> None:
    body = {"error": {"message": "Incorrect API key provided: sk-mine", "code": "invalid_api_key"}}
    async with FakeServer(routes={"/v1/models": json_answer(body, status=401)}) as fake:
        problem = await refused(client, model(fake.url, key="MINE"))
    assert problem.kind == "credentials"
    assert "sk-mine" not in problem.message


async def test_a_wrong_profile_is_a_clear_failure(client: HttpClient) -> None:
    async with FakeServer() as fake:
        problem = await refused(client, model(fake.url, profile={"capp": "x"}))
    assert "did you mean cap?" in problem.message


# --- keys ----------------------------------------------------------------------------------------


async def test_each_host_gets_its_own_key_or_none() -> None:
    async with FakeServer() as own, FakeServer() as named, FakeServer() as other:
        environ = {"OPENAI_API_KEY": "sk-vendor", "OPENAI_BASE_URL": own.url, "MINE": "sk-mine"}
        async with HttpClient(environ) as client:
            for which in (model(own.url), model(named.url, key="MINE"), model(other.url)):
                await client.send(CALL, (await client.probe(which))[0], "id")
        got = [{seen.headers.get("authorization") for seen in s.seen} for s in (own, named, other)]
    assert got == [{"Bearer sk-vendor"}, {"Bearer sk-mine"}, {None}]


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_a_redirect_takes_no_key_elsewhere(client: HttpClient, status: int) -> None:
    async with FakeServer() as thief:
        away = Answer(status=status, body=b"", headers={"Location": f"{thief.url}/v1/models"})
        async with FakeServer(always(away)) as fake:
            replica = (await client.probe(model(fake.url, key="MINE")))[0]
            problem = await failure(client, replica)
            fake.routes["/v1/models"] = away
            assert (await refused(client, model(fake.url, key="MINE"))).kind == "protocol"
        assert thief.seen == []
    assert (problem.kind, "redirects are not followed" in problem.message) == ("protocol", True)


async def test_keys_are_in_no_repr(client: HttpClient) -> None:
    async with FakeServer() as fake:
        replica = await probed(client, fake, key="MINE")
    assert "sk-mine" not in repr(client) + repr(replica)
