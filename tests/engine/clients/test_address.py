"""Which key goes where."""

import pytest

from podium.dsl.model import Endpoint, EnvRef
from podium.engine.call import CallError
from podium.engine.clients.address import address

ENVIRON = {"OPENAI_API_KEY": "sk-vendor", "MINE": "sk-mine", "URL": "http://10.0.0.7:8000/v1"}


def key(base_url: str | EnvRef | None, name: str | None = None, **environ: str) -> str | None:
    endpoint = Endpoint("openai", "m", base_url, None if name is None else EnvRef(name))
    return address(endpoint, {**ENVIRON, **environ}, {}).headers.get("Authorization")


def failure(base_url: str | EnvRef | None, name: str | None = None, **environ: str) -> CallError:
    with pytest.raises(CallError) as caught:
        key(base_url, name, **environ)
    return caught.value


def test_the_vendor_gets_its_key() -> None:
    assert key(None) == "Bearer sk-vendor"
    assert key("https://api.openai.com/v1") == "Bearer sk-vendor"


@pytest.mark.parametrize(
    "url",
    [
        "http://api.openai.com/v1",
        "https://api.openai.com:8443/v1",
        "https://api.openai.com.evil.example/v1",
        "https://evil.example/api.openai.com/v1",
        "http://127.0.0.1:8000",
        EnvRef("URL"),
    ],
)
def test_no_other_host_gets_the_vendors_key(url: str | EnvRef) -> None:
    assert key(url) is None


@pytest.mark.parametrize(
    "url",
    [
        "https://api.openai.com@evil.example/v1",
        "https://me:pass@host/v1",
        "https://api.openai.com\\@evil.example/v1",
        "https://api.openai.com\n.evil.example/v1",
        "https://api.openai.com#@evil.example",
        "https://host/v1?key=1",
        "ftp://host/v1",
        "host:8000",
        "http://host:99999",
        "http://",
    ],
)
def test_an_address_that_can_be_read_in_two_ways_is_refused(url: str) -> None:
    problem = failure(url)
    assert problem.kind == "unreachable"
    assert "pass@" not in problem.message


def test_the_users_own_base_url_gets_the_key_and_only_it() -> None:
    own = "http://proxy.example:4000/v1"
    assert key(None, OPENAI_BASE_URL=own) == "Bearer sk-vendor"
    assert key(own, OPENAI_BASE_URL=own) == "Bearer sk-vendor"
    assert key("http://proxy.example:4001/v1", OPENAI_BASE_URL=own) is None
    assert key("https://proxy.example:4000/v1", OPENAI_BASE_URL=own) is None


def test_a_named_key_goes_where_it_is_named() -> None:
    assert key("http://10.0.0.7:8000", "MINE") == "Bearer sk-mine"
    assert key("https://api.openai.com/v1", "MINE") == "Bearer sk-mine"


@pytest.mark.parametrize(
    ("url", "name", "variable"),
    [
        ("http://10.0.0.7:8000", "NONE", "NONE"),
        (None, None, "OPENAI_API_KEY"),
        (None, "EMPTY", "EMPTY"),
    ],
)
def test_a_missing_key_is_named_by_its_variable(
    url: str | None, name: str | None, variable: str
) -> None:
    problem = failure(url, name, OPENAI_API_KEY="", EMPTY=" ")
    assert problem.kind == "credentials"
    assert f"the key in {variable}, which is not set" in problem.message


def test_a_key_with_a_line_break_inside_is_refused_without_being_shown() -> None:
    problem = failure("http://h", "BAD", BAD="sk-a\r\nX-Evil: 1")
    assert problem.kind == "credentials"
    assert "BAD" in problem.message
    assert "sk-a" not in problem.message


def test_secrets_come_before_the_environment() -> None:
    endpoint = Endpoint("openai", "m", "http://h", EnvRef("MINE"))
    assert address(endpoint, ENVIRON, {"MINE": "given"}).headers == {
        "Authorization": "Bearer given"
    }


def test_an_address_that_is_not_set_is_named_by_its_variable() -> None:
    assert "the endpoint's address is in NOWHERE" in failure(EnvRef("NOWHERE")).message


def test_a_key_is_not_part_of_what_is_printed() -> None:
    place = address(Endpoint("openai", "m", "http://h", EnvRef("MINE")), ENVIRON, {})
    assert "sk-mine" not in repr(place) + str(place)
