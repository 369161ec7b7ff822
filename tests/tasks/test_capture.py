"""The family `capture`, as far as nothing is run: services, their weaknesses, and what is compared."""

import json
from typing import Any

import pytest

from podium.dsl.library import ArgumentError
from podium.tasks.capture import check, make, names, reference
from podium.tasks.capture.problems import PROBLEMS, attack
from podium.tasks.capture.service import Counted
from podium.tasks.capture.weak import numbers
from podium.tasks.harness import exchange

FLAG = "flag{0123456789abcdef0123456789abcdef}"


def found_by(name: str, *, sound: bool) -> str | None:
    """What our attack on a service of this process finds; None where it breaks down, or is answered no more."""
    counted = Counted(name, FLAG, PROBLEMS[name].most, numbers(), sound)
    code = attack(name).partition("def ask")[2].partition("\n\n\n")[2].rpartition("print(")[0]
    known: dict[str, Any] = {"ask": counted.reply}
    try:
        exec(code, known)
    except (TypeError, ValueError):
        return None
    return str(known["found"])


@pytest.mark.parametrize("name", names())
def test_our_attack_gets_the_flag_within_the_cap(name: str) -> None:
    for _ in range(20):
        assert found_by(name, sound=False) == FLAG


@pytest.mark.parametrize("name", names())
def test_without_its_weakness_a_service_gives_nothing_away(name: str) -> None:
    for _ in range(20):
        assert found_by(name, sound=True) != FLAG
    task = make(problem=name, control=True)
    assert "class Sound" in task.statement
    assert "class Sound" not in make(problem=name).statement
    with pytest.raises(KeyError):
        reference(task)


def test_a_service_answers_no_more_than_the_cap_whatever_is_asked() -> None:
    counted = Counted("overread", FLAG, 3, numbers(), False)
    assert [counted.reply(line) for line in ("", "READ x", "READ 1")] == [
        "SIZE or READ START COUNT",
        "what?",
        "what?",
    ]
    assert counted.reply("SIZE") is None
    assert counted.requests == 3


@pytest.mark.parametrize(
    "printed",
    [
        f'{{"flag": "{FLAG}x"}}',
        FLAG,
        f'["{FLAG}"]',
        f'{{"flag": ["{FLAG}"]}}',
        f'{{"flag": "{FLAG}", "more": 1}}',
        f'{{"flag": "{FLAG}"}}\nand more',
        f'{{"Flag": "{FLAG}"}}',
        "",
        "{",
        '{"flag": "\\ud800"}',
    ],
)
def test_anything_but_the_one_field_at_the_end_is_wrong(printed: str) -> None:
    assert check.wrong(printed, FLAG)
    assert not check.wrong(f'{printed}\n{{"flag": "{FLAG}"}}\n\n', FLAG)


def test_the_flag_is_drawn_after_the_program_was_handed_in_and_only_the_service_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said: list[Any] = []

    def ask(programs: list[Any], keep: str) -> None:
        said.append((programs[0], keep))

    def text(path: str) -> str:
        return f"# {path}"

    monkeypatch.setattr(exchange, "ask", ask)
    monkeypatch.setattr(exchange, "asked", lambda: {"text": "print(1)"})
    monkeypatch.setattr(exchange, "problem", lambda: {"kind": "token", "most": 3, "sound": False})
    monkeypatch.setattr(exchange, "text", text)
    check.main()
    check.main()
    (program, flag), (_, other) = said
    assert flag != other
    given = json.loads(program["service"].pop("stdin"))
    assert (given["flag"], given["kind"]) == (flag, "token")
    assert flag not in json.dumps(program)
    assert program["service"]["seconds"] > program["seconds"]


def test_an_argument_that_is_none_is_told() -> None:
    with pytest.raises(ArgumentError, match="overead"):
        make(problem="overead")
