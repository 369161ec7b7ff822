"""From a refusal in any of the shapes in use to a CallError, by the table of `.refusals`.

Whatever came from the server is cleaned, cut and freed of keys before it is shown.
"""

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any

import orjson

from ..call import CallError, FailureKind
from ..plain import excerpt
from .dialects import PROFILES, Profile
from .loose import mapping, parsed, sequence, string
from .refusals import RULES

LONGEST_MESSAGE = 300
UNKNOWN = PROFILES["compatible"]


@dataclass(frozen=True, slots=True)
class Complaint:
    """What the server said, whatever its shape. codes: its code and type, in lower case."""

    status: int
    message: str
    codes: tuple[str, ...] = ()
    param: str = ""


_WORDS: tuple[tuple[FailureKind, frozenset[int], re.Pattern[str]], ...] = tuple(
    (rule.kind, rule.said_with, re.compile("|".join(rule.words), re.IGNORECASE))
    for rule in RULES
    if rule.words
)

# OpenAI's word on whether the same request is worth sending again.
_AGAIN: Mapping[str, bool] = {"true": True, "false": False}
# 404 and 405 without a word of the protocol are a wrong address more often than a wrong request.
_ADVICE: Mapping[FailureKind, str] = {
    "credentials": "the key is missing or not accepted",
    "quota": "the account has no money or quota left",
    "overflow": "the prompt does not fit the model's window",
    "model": "the server does not serve this model",
}


def refusal(
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    *,
    where: str,
    profile: Profile = UNKNOWN,
    now: float = 0.0,
    secrets: Iterable[str] = (),
) -> CallError:
    """The CallError for an HTTP answer that is no success.

    where: the endpoint, as people are to read it. now: seconds since the epoch, for dates in
    Retry-After. secrets: values that must not be shown whatever the server echoes.
    """
    headers = {name.lower(): value for name, value in headers.items()}
    complaint = _complaint(status, body)
    wait = _wished(headers, body, now)
    if complaint is None:
        kind, paid = _unspoken(status)
        said = _quoted(body, secrets)
    else:
        kind, paid = _judged(complaint, wait, profile)
        said = scrubbed(complaint.message, secrets)
    message = f"{where} answered {status}" + (f": {said}" if said else "")
    if advice := _ADVICE.get(kind):
        message = f"{where}: {advice} ({status}" + (f": {said})" if said else ")")
    return CallError(
        kind,
        message,
        maybe_paid=paid,
        retry_after_s=wait if kind in ("busy", "server") else None,
        again=_AGAIN.get(headers.get("x-should-retry", "").strip().lower()),
    )


def refusal_inside(
    error: Any,
    *,
    where: str,
    begun: bool,
    profile: Profile = UNKNOWN,
    secrets: Iterable[str] = (),
) -> CallError:
    """The CallError for an `error` object in the middle of a 200. begun: some text had come before.

    A full queue that is told this way, before any text, cost nothing; all else may have been paid.
    """
    complaint = _from_error(0, error)
    status = complaint.status if 400 <= complaint.status < 600 else 500
    kind, _ = _judged(replace(complaint, status=status), None, profile)
    said = scrubbed(complaint.message, secrets) or "no message"
    paid = begun or kind not in ("busy", "overflow", "model", "credentials", "quota", "request")
    return CallError(kind, f"{where} broke off with an error: {said}", maybe_paid=paid)


# vLLM without a parser of tools, llama.cpp without its templates, Ollama of a model that knows none.
_NO_TOOLS = re.compile(r"tool choice requires|tools param requires|not support tools", re.I)


def refuses_priority(message: str) -> bool:
    """Whether it is SGLang's word that it takes no priority, which it says with 503."""
    return "without a priority" in message.lower()


def refused_field(status: int, body: bytes, optional: Iterable[str]) -> str | None:
    """Which of the optional fields of our request the server will not have, if that is its complaint."""
    complaint = _complaint(status, body)
    if complaint is None or (status not in (400, 422) and not refuses_priority(complaint.message)):
        return None
    named = complaint.param.split(".")[0].split("[")[0]
    words = set(re.findall(r"[a-z_]+", complaint.message.lower()))
    refuses = re.search(
        r"unsupported|not supported|not enabled|disabled|unknown|unexpected|unrecogni[sz]ed|not permitted|extra",
        complaint.message,
        re.I,
    )
    for name in optional:
        if name == named or (refuses and name in words):
            return name
        if name == "tools" and _NO_TOOLS.search(complaint.message):
            return name
    return None


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds to wait by the server's wish, never negative; None where it has none we can read.

    headers: names in lower case. Order: retry-after-ms, retry-after (seconds, a duration or a date), then
    the reset times of the limits that are used up.
    """
    if (value := _number(headers.get("retry-after-ms", ""))) is not None:
        return max(0.0, value / 1000)
    after, date = headers.get("retry-after", ""), headers.get("date", "")
    for value in (_duration(after), _until(after, date, now)):
        if value is not None:
            return value
    resets = [
        seconds
        for remaining, reset in _RESETS
        if headers.get(remaining, "").strip() == "0"
        and (seconds := _reset(headers.get(reset, ""), date, now)) is not None
    ]
    return max(resets, default=None)


def scrubbed(text: str, secrets: Iterable[str] = ()) -> str:
    """text fit for a message: one line, cleaned, cut, without keys and without the server's own paths."""
    for secret in secrets:
        if len(secret) >= 4:
            text = text.replace(secret, "[key]")
    text = re.sub(r"\b(sk|hf|gsk|xai)[-_][\w*.-]{6,}", "[key]", text)
    return excerpt(text.split('\n\n  File "')[0], LONGEST_MESSAGE)


# --- reading ------------------------------------------------------------------------------------


def _wished(headers: Mapping[str, str], body: bytes, now: float) -> float | None:
    """The wait that the headers ask for, else the one in the body: OpenRouter repeats the headers of its
    provider there, Google says `retryDelay`."""
    if (wait := retry_after(headers, now)) is not None:
        return wait
    value = parsed(body)
    outer = mapping(value[0] if isinstance(value, list) and value else value)
    error = mapping(outer.get("error"))
    inner = mapping(mapping(error.get("metadata")).get("headers"))
    told = {name.lower(): str(value) for name, value in inner.items()}
    if (wait := retry_after(told, now)) is not None:
        return wait
    delays = (
        _duration(string(mapping(one), "retryDelay")) for one in sequence(error.get("details"))
    )
    return next((delay for delay in delays if delay is not None), None)


def _complaint(status: int, body: bytes) -> Complaint | None:
    """What an error body says, in any of the shapes in use; None where it is no such body."""
    value = parsed(body)
    outer = mapping(value[0] if isinstance(value, list) and value else value)
    if error := outer.get("error"):
        found = _from_error(status, error)
        return replace(
            found, status=status, codes=(*found.codes, string(outer, "error_type").lower())
        )
    if "detail" in outer:
        return Complaint(status, _text(outer["detail"]))
    if "message" in outer:
        return replace(_from_error(status, outer), status=status)
    return None


def _from_error(status: int, error: Any) -> Complaint:
    fields = mapping(error)
    if not fields:
        return Complaint(status, _text(error))
    limit = string(mapping(fields.get("metadata")), "limit_source")
    codes = (string(fields, "code"), string(fields, "type"), limit)
    return Complaint(
        status=_status(fields) or status,
        message=_text(fields.get("message") or ""),
        codes=tuple(code.lower() for code in codes if code),
        param=string(fields, "param"),
    )


def _status(fields: dict[str, Any]) -> int:
    """An HTTP status among the fields of an error: a number or digits under one of three names."""
    for name in ("code", "status", "http_status_code"):
        value = fields.get(name)
        if isinstance(value, str) and value.isdecimal():
            value = int(value)
        if type(value) is int and 400 <= value < 600:
            return value
    return 0


def _text(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value, default=str).decode()


def _quoted(body: bytes, secrets: Iterable[str]) -> str:
    text = excerpt(scrubbed(body[:2000].decode(errors="replace"), secrets), 120)
    if not text:
        return "nothing"
    hint = "a web page, " if text.lower().startswith(("<!doctype", "<html", "<head")) else ""
    return f"{hint}{text!r}"


# --- judging ------------------------------------------------------------------------------------


def _judged(complaint: Complaint, wait: float | None, profile: Profile) -> tuple[FailureKind, bool]:
    said = complaint.message.lower()
    for kind, phrase in _own_words(profile):
        if phrase and phrase.lower() in said:
            return kind, False
    for rule in RULES:
        if rule.codes.intersection(complaint.codes):
            return rule.kind, False
    if complaint.param == "model" and complaint.status in (400, 404):
        return "model", False
    for kind, statuses, words in _WORDS:
        if complaint.status in statuses and words.search(said):
            return kind, kind == "server"
    if complaint.status == 402 and wait is not None:
        return "busy", False  # a budget for what is in flight, not an empty account
    return _by_status(complaint.status)


def _own_words(profile: Profile) -> tuple[tuple[FailureKind, str], ...]:
    return ("busy", profile.busy_says), ("overflow", profile.overflow_says)


def _by_status(status: int) -> tuple[FailureKind, bool]:
    for rule in RULES:
        if status in rule.statuses:
            return rule.kind, rule.statuses[status]
    if status >= 500:
        return "server", True
    return ("request", False) if status >= 400 else ("protocol", False)


def _unspoken(status: int) -> tuple[FailureKind, bool]:
    """A body that is not of the protocol: a proxy's page, or nothing. Some statuses speak for themselves."""
    if status in (401, 402, 408, 413, 425, 429, 499) or status >= 500:
        return _by_status(status)
    return "protocol", False


# --- numbers in headers --------------------------------------------------------------------------


def _number(text: str) -> float | None:
    return float(text) if re.fullmatch(r"\s*-?\d{1,15}(\.\d{0,9})?\s*", text) else None


def _until(date: str, server_date: str, now: float) -> float | None:
    """Seconds from the server's own clock, where it tells it, to date."""
    try:
        then = parsedate_to_datetime(date).timestamp()
    except (ValueError, OverflowError):
        return None
    return max(0.0, then - _clock(server_date, now))


def _clock(server_date: str, now: float) -> float:
    with suppress(ValueError, OverflowError):
        now = parsedate_to_datetime(server_date).timestamp()
    return now


# The pairs of headers in use that say how much is left of a limit, and when it is full again.
_RESETS = (
    ("x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"),
    ("x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"),
    ("x-ratelimit-remaining", "x-ratelimit-reset"),
    ("ratelimit-remaining", "ratelimit-reset"),
    ("anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-requests-reset"),
    ("anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-reset"),
)
# A number of seconds above the first is a moment since 1970, above the second one in milliseconds.
_MOMENT, _MOMENT_MS = 1e9, 1e12


def _reset(text: str, server_date: str, now: float) -> float | None:
    """Seconds until a reset that is told as a duration, as a moment since 1970 or as a date."""
    value = _duration(text)
    if value is None:
        with suppress(ValueError, OverflowError):
            value = datetime.fromisoformat(text).timestamp()
    if value is None or value < _MOMENT:
        return value
    then = value / 1000 if value >= _MOMENT_MS else value
    return max(0.0, then - _clock(server_date, now))


_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def _duration(text: str) -> float | None:
    """`6m0s`, `120ms`, `1.5s` or bare seconds; never negative."""
    if (seconds := _number(text)) is not None:
        return max(0.0, seconds)
    parts = re.findall(r"(\d{1,9}(?:\.\d{1,9})?)(ms|s|m|h|d)", text)
    if not parts or "".join(number + unit for number, unit in parts) != text.strip():
        return None
    return sum(float(number) * _UNITS[unit] for number, unit in parts)
