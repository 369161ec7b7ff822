"""One table from refusals, recorded and made up, to kinds of failure."""

import json
from pathlib import Path
from typing import Any

import pytest

from podium.engine.clients.classify import (
    refusal,
    refusal_inside,
    refused_field,
    retry_after,
    scrubbed,
)
from podium.engine.clients.dialects import PROFILES
from podium.engine.clients.profile import adjusted

from .recorded import SERVERS, Exchange

NOW = 1_796_042_385.0

# What each recorded refusal means. Servers that are not named differ in nothing that matters here.
EXPECTED = {
    "models, no key": "credentials",
    "unknown model": "model",
    "broken JSON": "request",
    "no messages": "request",
    "unknown role": "request",
    "temperature as text": "request",
    "temperature -1": "request",
    "max_tokens -5": "request",
    "schema with a wrong type": "request",
    "prompt over the context": "overflow",
    "prompt over the context, stream": "overflow",
    "prompt and cap over the context": "overflow",
    "cap over the context": "overflow",
    "GET /v1/nonexistent": "request",
    "GET /props": "request",
    "many sampling fields": "request",
    "stream_options without stream": "request",
    "request id": "protocol",  # an empty 400
    "GET /v1/models": "server",  # a 500 of one word
}
RECORDED = [
    (server, name, exchange)
    for server, exchanges in SERVERS.items()
    for name, exchange in exchanges.items()
    if exchange.status >= 400
]


@pytest.mark.parametrize(("server", "name", "exchange"), RECORDED)
def test_recorded_refusals(server: str, name: str, exchange: Exchange) -> None:
    problem = refusal(exchange.status, exchange.headers, exchange.body.encode(), where="host:1")
    expected = "server" if exchange.status == 500 else EXPECTED[name]
    assert problem.kind == expected
    assert problem.maybe_paid is (exchange.status == 500)
    assert problem.message.startswith("host:1")
    assert len(problem.message) < 420
    assert "site-packages" not in problem.message
    assert problem.message.isprintable()


FIXTURES = Path(__file__).parents[2] / "fixtures"
WORDED = json.loads((FIXTURES / "refusals.json").read_text("utf-8"))["refusals"]


@pytest.mark.parametrize("one", WORDED, ids=lambda one: f"{one['dialect']} {one['status']}")
def test_the_refusals_of_every_dialect(one: dict[str, Any]) -> None:
    body = one["body"]
    if one["status"] == 200:
        problem = refusal_inside(body["error"], where="h", begun=False)
    else:
        raw = (body if isinstance(body, str) else json.dumps(body)).encode()
        problem = refusal(one["status"], one["headers"], raw, where="h")
    assert (problem.kind, problem.maybe_paid) == (one["kind"], one["paid"])


@pytest.mark.parametrize(
    ("field", "expected"), [("busy_says", "busy"), ("overflow_says", "overflow")]
)
def test_a_model_block_can_say_what_its_server_means(field: str, expected: str) -> None:
    profile = adjusted(PROFILES["compatible"], {field: "Over the rainbow"})
    body = json.dumps(error("Somewhere over the RAINBOW", type="odd")).encode()
    assert refusal(400, {}, body, where="h", profile=profile).kind == expected
    assert refusal(400, {}, body, where="h").kind == "request"


def kind(status: int, body: Any, **headers: str) -> str:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return refusal(status, headers, raw, where="h").kind


def error(message: str = "no", **fields: Any) -> dict[str, Any]:
    return {"error": {"message": message, **fields}}


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        # 429 is pace, overload, or an empty account
        (429, error(type="requests", code="rate_limit_exceeded"), "busy"),
        (429, error(code="slow_down"), "busy"),
        (429, error(type="insufficient_quota", code="insufficient_quota"), "quota"),
        (429, error(type="insufficient_quota", code="project_spend_limit_exceeded"), "quota"),
        (
            429,
            error("You exceeded your current quota, please check your plan and billing"),
            "quota",
        ),
        (429, {"error": "Model is overloaded", "error_type": "overloaded"}, "busy"),
        (402, error("Insufficient credits"), "quota"),
        (402, error(metadata={"limit_source": "openrouter_in_flight_budget"}), "busy"),
        # 400 is a wrong field, a long prompt, a wrong name or a key
        (400, error(code="context_length_exceeded"), "overflow"),
        (
            400,
            error("The decoder prompt (length 9) is longer than the maximum model length"),
            "overflow",
        ),
        (
            400,
            {
                "object": "error",
                "message": "Input length (9 tokens) exceeds the maximum allowed length",
                "code": 400,
            },
            "overflow",
        ),
        (
            403,
            error("input token count + max_tokens must be less than the context length"),
            "overflow",
        ),
        (413, b"<html>too large</html>", "overflow"),
        (
            422,
            {
                "error": "`inputs` tokens + `max_new_tokens` must be <= 4096",
                "error_type": "validation",
            },
            "overflow",
        ),
        (
            404,
            error(
                "The model 'gpt-9' does not exist or you do not have access to it.",
                code="model_not_found",
            ),
            "model",
        ),
        (404, error('model "x" not found, try pulling it first'), "model"),
        (400, error("API key not valid. Please pass a valid API key."), "credentials"),
        (401, error(code="invalid_api_key"), "credentials"),
        (401, b"", "credentials"),
        (403, {"detail": "Forbidden"}, "credentials"),
        (412, error("Account suspended"), "quota"),
        # servers in trouble
        (503, error("Loading model", type="unavailable_error", code=503), "busy"),
        (503, error("server busy, please try again. maximum pending requests exceeded"), "busy"),
        (529, error(type="overloaded_error"), "busy"),
        (500, error("EngineCore died"), "server"),
        (502, b"<html><body>Bad Gateway</body></html>", "server"),
        (504, b"", "server"),
        # not this protocol
        (404, b"<!DOCTYPE html><title>404</title>", "protocol"),
        (400, b"", "protocol"),
        (403, b"<html>blocked</html>", "protocol"),
        (400, [error(code="context_length_exceeded")], "overflow"),
        (400, {"detail": [{"loc": ["body", "messages"], "msg": "Field required"}]}, "request"),
    ],
)
def test_refusals_by_code_wording_and_status(status: int, body: Any, expected: str) -> None:
    assert kind(status, body) == expected


def test_402_with_a_wait_is_a_limit_of_what_is_in_flight() -> None:
    assert kind(402, error("budget"), **{"Retry-After": "2"}) == "busy"


@pytest.mark.parametrize(
    ("status", "paid"),
    [
        (500, True),
        (502, True),
        (504, True),
        (408, True),
        (429, False),
        (503, False),
        (400, False),
        (401, False),
    ],
)
def test_only_work_that_may_have_begun_may_have_been_paid(status: int, paid: bool) -> None:
    assert refusal(status, {}, b"{}", where="h").maybe_paid is paid


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "30"}, 30.0),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "1000000000"}, 1e9),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "9" * 400}, None),
        ({"retry-after": "Mon, 30 Nov 2026 12:40:00 GMT"}, 15.0),
        ({"retry-after": "Mon, 30 Nov 2026 12:00:00 GMT"}, 0.0),
        (
            {
                "retry-after": "Mon, 30 Nov 2026 12:40:00 GMT",
                "date": "Mon, 30 Nov 2026 12:39:00 GMT",
            },
            60.0,
        ),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "6m0s"}, 360.0),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "120ms"}, 0.12),
        ({"x-ratelimit-remaining-tokens": "7", "x-ratelimit-reset-tokens": "6m0s"}, None),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "6m later"}, None),
        ({"retry-after": "1m30s"}, 90.0),
        ({"retry-after": "Fri, 01 Jan 99999 00:00:00 GMT"}, None),
        ({"retry-after": "Mon, 01 Jan 0001 00:00:00 -0000"}, 0.0),
        (
            {
                "retry-after": "soon",
                "x-ratelimit-remaining-requests": "0",
                "x-ratelimit-reset-requests": "2s",
            },
            2.0,
        ),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "20"}, 20.0),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1796042445"}, 60.0),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1796042445000"}, 60.0),
        ({"ratelimit-remaining": "0", "ratelimit-reset": "7"}, 7.0),
        (
            {
                "anthropic-ratelimit-tokens-remaining": "0",
                "anthropic-ratelimit-tokens-reset": "2026-11-30T12:40:00Z",
            },
            15.0,
        ),
        ({}, None),
    ],
)
def test_the_wait_the_server_wishes(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOW) == seconds


@pytest.mark.parametrize(
    ("body", "seconds"),
    [
        ({"error": {"code": 429, "details": [{"x": 1}, {"retryDelay": "34s"}]}}, 34.0),
        ([{"error": {"code": 429, "details": [{"retryDelay": "1.5s"}]}}], 1.5),
        (
            {
                "error": {
                    "code": 429,
                    "metadata": {
                        "headers": {
                            "X-RateLimit-Remaining": "0",
                            "X-RateLimit-Reset": 1796042445000,
                        }
                    },
                }
            },
            60.0,
        ),
        ({"error": {"code": 429, "details": [{"retryDelay": "soon"}], "metadata": 3}}, None),
    ],
)
def test_a_wait_may_be_told_in_the_body(body: Any, seconds: float | None) -> None:
    found = refusal(429, {}, json.dumps(body).encode(), where="h", now=NOW)
    assert (found.kind, found.retry_after_s) == ("busy", seconds)


def test_a_wait_is_told_for_busy_servers_only() -> None:
    headers = {"Retry-After": "30"}
    assert refusal(429, headers, b"{}", where="h").retry_after_s == 30
    assert refusal(401, headers, b"{}", where="h").retry_after_s is None


def test_a_web_page_is_quoted_short_and_escaped() -> None:
    page = b"<!DOCTYPE html>\n<p>\x1b[31m\xff" + b"x" * 5000
    message = refusal(404, {}, page, where="h").message
    assert "a web page, '<!DOCTYPE html> <p>[31m" in message
    assert len(message) < 200


def test_keys_never_stand_in_a_message() -> None:
    body = json.dumps(
        error("Incorrect API key provided: sk-proj-abcdef123456. You sent topsecret.")
    ).encode()
    message = refusal(401, {}, body, where="h", secrets=("topsecret",)).message
    assert "abcdef" not in message
    assert "topsecret" not in message
    assert message.count("[key]") == 2


def test_a_long_message_is_cut_and_loses_its_control_codes() -> None:
    text = scrubbed("a\x1b[2J\nb" + "c" * 999)
    assert text.startswith("a[2J bccc")
    assert len(text) == 300


@pytest.mark.parametrize(
    ("status", "body", "field"),
    [
        (
            400,
            error("Stream options can only be defined when `stream=True`.", param="stream_options"),
            "stream_options",
        ),
        (
            400,
            error(
                "Unsupported parameter: 'top_p' is not supported with this model.", param="top_p"
            ),
            "top_p",
        ),
        (
            400,
            error(
                "Unsupported parameter: 'max_tokens' is not supported.",
                param="max_tokens",
                code="unsupported_parameter",
            ),
            "max_tokens",
        ),
        (422, {"detail": "Unexpected fields in the request: {'min_p', 'top_k'}"}, "top_k"),
        (400, error("temperature must be non-negative", param="messages"), None),
        (429, error("x", param="top_p"), None),
        (400, b"", None),
    ],
)
def test_the_field_a_server_will_not_have_is_named(
    status: int, body: Any, field: str | None
) -> None:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    optional = ("max_tokens", "stream_options", "top_k", "min_p", "top_p", "temperature")
    assert refused_field(status, raw, optional) == field


@pytest.mark.parametrize(("told", "again"), [("true", True), (" False", False), ("perhaps", None)])
def test_whether_it_is_worth_sending_again_is_heard(told: str, again: bool | None) -> None:
    assert refusal(500, {"X-Should-Retry": told}, b"{}", where="h").again is again
    assert refusal(500, {}, b"{}", where="h").again is None


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (400, "Got priority 1 but Priority scheduling is not enabled."),
        (
            503,
            "Using priority is disabled for this server. Please send a new request without a priority.",
        ),
    ],
)
def test_a_server_that_takes_no_priority_is_asked_without(status: int, said: str) -> None:
    body = json.dumps(error(said)).encode()
    assert refusal(status, {}, body, where="h").kind == "request"
    assert refused_field(status, body, ("seed", "priority")) == "priority"
    assert (
        refused_field(503, json.dumps(error("The queue is full.")).encode(), ("priority",)) is None
    )
