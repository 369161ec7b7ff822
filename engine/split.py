"""Agents that choose or divide: the `by` of route and of for_each."""

from collections.abc import Mapping
from dataclasses import replace

from podium.dsl.program import OutputField, Role, Task

from .agent import show
from .outcome import Failed
from .reduce import attempts_of
from .solo import act_alone
from .value import Json, Value
from .walk import Ended, Failure, Here, node


async def route_key(
    role: Role, keys: tuple[str, ...], value: Value, here: Here
) -> tuple[str | None, Ended]:
    """The key that role chose, or None and how it failed. The choice is asked for where its output has none."""
    if not any(isinstance(f.type, tuple) and set(keys) <= set(f.type) for f in role.output or ()):
        role = replace(role, output=(OutputField("choice", keys),))
    ended = await node(here, "agent", role.name, lambda place: act_alone(place, role, value))
    answer = _answer(ended)
    if answer is None:
        return None, ended
    values = answer.values() if isinstance(answer, Mapping) else (answer,)
    key = next((v for v in values if isinstance(v, str) and v in keys), None)
    return key, _failed(here, f"none of {', '.join(keys)} was chosen")


async def part_tasks(
    role: Role, most: int, value: Value, here: Here
) -> tuple[tuple[Task, ...], Ended]:
    """The parts that role listed, at most `most`, as tasks without a verifier; or none and how it failed."""
    if not any(field.is_list for field in role.output or ()):
        role = replace(role, output=(OutputField("parts", "text", is_list=True),))
    ended = await node(here, "agent", role.name, lambda place: act_alone(place, role, value))
    answer = _answer(ended)
    if answer is None:
        return (), ended
    parts = _parts(answer)[:most]
    tasks = tuple(
        Task(f"{here.task.name}.{i}", part, files=here.task.files)
        for i, part in enumerate(parts, 1)
    )
    return tasks, _failed(here, "no part was listed")


def _answer(ended: Ended) -> Json:
    return next((attempt.answer for attempt in attempts_of(ended.value)), None)


def _parts(answer: Json) -> list[str]:
    fields = answer.values() if isinstance(answer, Mapping) else ()
    for items in fields:
        if isinstance(items, list):
            return [text for item in items if (text := show(item).strip())]  # pyright: ignore  # items of Json
    return []


def _failed(here: Here, message: str) -> Ended:
    outcome = Failed("reply", message)
    return Ended(outcome, failures=(Failure(here.address, outcome),))
