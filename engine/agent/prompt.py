"""Prompts from templates: fragments, values and filters become text. Pure.

Token counts are estimates from bytes, since the tokenizer is the server's. `clip` counts a token as 4 bytes,
about what English prose takes; what must fit into a window counts 3, to be on the safe side with code and numbers.
"""

from collections.abc import Mapping, Sequence
from typing import assert_never

import orjson

from podium.dsl.program import FilterCall, Slot, Template, Text

from ..value import Attempt, Json

CLIP_BYTES_PER_TOKEN = 4
FIT_BYTES_PER_TOKEN = 3
CUT_MARK = " … [cut]"

View = Mapping[str, Json]


def render(template: Template, view: View) -> str:
    """The prompt with view's values in its slots. A value that view lacks is an empty text."""
    return "".join(_fragment(part, view) for part in template.parts)


def fit_tokens(text: str) -> int:
    """How many tokens text may take, for fitting a prompt into a window: a third of its bytes, rounded up."""
    return -(-len(text.encode()) // FIT_BYTES_PER_TOKEN)


def clip(text: str, tokens: int) -> str:
    """The beginning of text, at most about tokens long (4 bytes each), marked where it was cut."""
    return clip_bytes(text, tokens * CLIP_BYTES_PER_TOKEN)


def clip_bytes(text: str, limit: int) -> str:
    """The beginning of text in at most limit bytes, mark included; whole where it fits."""
    raw = text.encode()
    if len(raw) <= limit:
        return text
    mark = CUT_MARK if limit >= len(CUT_MARK.encode()) else ""
    room = max(0, limit - len(mark.encode()))
    return raw[:room].decode(errors="ignore").rstrip() + mark


def attempt_view(attempt: Attempt, *, scored: bool = True) -> dict[str, Json]:
    """What a prompt can say of an attempt: answer, text, score, passed, evidence, before.

    scored False leaves the verdict out.
    """
    verdict = attempt.verdict if scored else None
    return {
        "answer": attempt.answer,
        "text": attempt.text,
        "score": None if verdict is None else verdict.score,
        "passed": None if verdict is None else verdict.passed,
        "evidence": "" if verdict is None else verdict.evidence,
        "before": None if attempt.before is None else attempt_view(attempt.before, scored=scored),
    }


def show(value: Json) -> str:
    """value as a prompt shows it: text as it is, an attempt as its text, a list as numbered blocks."""
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case int() | float():
            return f"{value:g}" if isinstance(value, float) else str(value)
        case Mapping():
            return show(value["text"]) if "text" in value else _json(value)
        case Sequence():
            return "\n\n".join(f"[{i}] {show(item)}" for i, item in enumerate(value, 1))


def _fragment(part: Text | Slot, view: View) -> str:
    match part:
        case Text(text=text):
            return text
        case Slot(path=path, filters=filters, column=column):
            value = _look_up(view, path)
            for call in filters:
                value = _filtered(value, call)
            return show(value).replace("\n", "\n" + " " * column)
        case _:
            assert_never(part)


def _look_up(value: Json, path: tuple[str, ...]) -> Json:
    """The value at path; over a list, the list of its items' values (`attempts.answer`)."""
    if not path:
        return value
    if isinstance(value, Mapping):
        return _look_up(value.get(path[0]), path[1:])
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_look_up(item, path) for item in value]
    return None


def _filtered(value: Json, call: FilterCall) -> Json:
    match call.name:
        case "clip":
            return clip(show(value), int(call.args[0] or 0))
        case "bullets":
            items = [value] if isinstance(value, str) or not isinstance(value, Sequence) else value
            return "\n".join("- " + show(item).replace("\n", "\n  ") for item in items)
        case "json":
            return _json(value)
        case _:
            raise ValueError(
                f"there is no prompt filter {call.name!r}; there are clip, bullets, json"
            )


def _json(value: Json) -> str:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
