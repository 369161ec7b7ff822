"""A verifier on another machine: an attempt as JSON goes out, a verdict as JSON comes back.

The request is a POST of `{"schema": 1, "task": {"name", "statement"}, "answer", "text", "measure"}`, and
`files` of an attempt that has some, by path: `{"text"}` or `{"base64"}`, with `"starts": true` on a program; the
answer is `{"score", "passed", "valid", "flags", "evidence", "cost"}`, each of which may be left out, or
`{"verifier_error": "why"}`, which is an error of the verifier and no score.
"""

import json
from collections.abc import Mapping
from typing import Any

import orjson

from ..call import CallError, VerifierCall
from ..plain import clean, excerpt
from ..value import Json, Verdict
from ..workspace import Tree, as_json
from .loose import mapping, parsed, sequence
from .wire import Wire

# What is told of an answer that is none, in characters.
_SHOWN = 200


def request_body(call: VerifierCall) -> dict[str, Json]:
    """What a service is sent. It is told nothing of the verifier's own arguments: it has its own."""
    return {
        "schema": 1,
        "task": {"name": call.task.name, "statement": call.task.statement},
        "answer": call.answer,
        "text": call.text,
        "measure": call.measure,
    }


def written(request: Mapping[str, Json]) -> bytes:
    """request as JSON. Halves of surrogate pairs, which a model may write and UTF-8 cannot, become `?`."""
    try:
        return orjson.dumps(request)
    except TypeError:
        return json.dumps(request, ensure_ascii=False).encode(errors="replace")


async def asked(call: VerifierCall, environ: Mapping[str, str], tree: Tree) -> Verdict:
    """The service's verdict on call's answer and the files of tree; waits as long as it is let. Raises
    CallError(`verifier`)."""
    url, key = str(call.verifier.args.get("url", "")), call.verifier.args.get("key")
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    if isinstance(key, str):
        headers["Authorization"] = f"Bearer {_token(key, environ)}"
    files: dict[str, Json] = {"files": as_json(tree)} if tree else {}
    body = written(request_body(call) | files)
    where = url.partition("://")[2].partition("/")[0]
    try:
        async with (
            Wire() as wire,
            wire.post(
                url, headers, body, where=where, reuse=False, idle_s=call.verifier.timeout_s
            ) as stream,
        ):
            return _verdict(stream.status, await stream.body(), where)
    except CallError as error:
        raise _no_verdict(error.message) from None
    except RuntimeError as error:  # under trio no real server is reached
        raise _no_verdict(str(error)) from error


def _token(name: str, environ: Mapping[str, str]) -> str:
    token = environ.get(name, "")
    if not token:
        raise CallError("verifier", f"the variable {name}, a verifier's token, is not set")
    return token


def _verdict(status: int, body: bytes, where: str) -> Verdict:
    said = mapping(parsed(body))
    if "verifier_error" in said:
        raise _no_verdict(f"{where}: {excerpt(str(said['verifier_error']), _SHOWN)}")
    if status != 200:
        told = excerpt(body[:1000].decode(errors="replace"), _SHOWN)
        raise _no_verdict(f"{where} answered {status}: {told}")
    if not {"score", "value", "passed", "valid"} & said.keys():
        told = excerpt(body[:1000].decode(errors="replace"), _SHOWN)
        raise _no_verdict(f"{where} gave no verdict but {told}")
    return verdict_read(said)


def verdict_read(said: Mapping[str, Any]) -> Verdict:
    """The verdict in an object of JSON; `value` is another name of `score`. Raises CallError(`verifier`)."""
    score, passed, cost = said.get("score", said.get("value")), said.get("passed"), said.get("cost")
    valid = said.get("valid", True)
    flags = sequence(said.get("flags"))
    if not (_is_number(score) and _is_number(cost) and isinstance(valid, bool)):
        raise _no_verdict("score and cost are numbers or null, valid is true or false")
    if passed is not None and not isinstance(passed, bool):
        raise _no_verdict("passed is true, false or null")
    return Verdict(
        None if score is None else float(score),
        passed,
        clean(str(said.get("evidence") or "")),
        valid,
        tuple(clean(str(flag)) for flag in flags),
        None if cost is None else float(cost),
    )


def _is_number(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _no_verdict(message: str) -> CallError:
    return CallError("verifier", message)
