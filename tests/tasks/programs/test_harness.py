"""What the families about programs share, without a sandbox: values as JSON, calls, guesses, programs in texts."""

import contextlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.tasks.harness import exchange, function, server, source, tests
from podium.tasks.harness.calls import Calls, Stop, Unfit, digest, read, written
from podium.tasks.harness.wire import Opaque, among, decoded, dumped, encoded, parsed

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
    | st.complex_numbers(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3)
    | st.tuples(inner, inner)
    | st.dictionaries(st.text() | st.integers() | st.tuples(st.integers()), inner, max_size=3)
    | st.frozensets(st.integers() | st.text(), max_size=3)
    | st.sets(st.booleans(), max_size=2),
    max_leaves=8,
)  # fmt: skip


def types(value: Any) -> Any:
    if among(value, dict):
        return dict, [(types(k), types(v)) for k, v in value.items()]
    return type(value), [types(one) for one in value] if among(value, list, tuple) else []


@given(plain)
def test_a_plain_value_comes_back_as_what_it_was(value: Any) -> None:
    back = decoded(json.loads(dumped(value)))
    assert back == value
    assert types(back) == types(value)


class Liar(int):
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = int.__hash__


def test_of_other_classes_only_the_plain_value_comes_or_nothing_that_equals() -> None:
    came = decoded(encoded([Liar(3), object(), (one for one in ())]))
    assert came[0] == 3
    assert type(came[0]) is int
    assert came[0] != 4
    assert isinstance(came[1], Opaque)
    assert came[1] != came[2]
    assert decoded(encoded(10**5000)) == 10**5000


leaves = st.none() | st.integers() | st.text(max_size=3)
kinds = st.sampled_from(
    ["int", "tuple", "set", "frozenset", "bytes", "complex", "dict", "opaque", "x"]
)


@given(
    st.recursive(leaves, lambda t: st.lists(t, max_size=3) | st.dictionaries(kinds, t, max_size=2))
)
def test_whatever_is_forged_is_read_or_refused(data: Any) -> None:
    with contextlib.suppress(ValueError):
        decoded(data)


def asked(of: str, *args: Any) -> str:
    return digest({"id": 0, "of": of, "args": encoded(args), "named": encoded({})})


forged = st.dictionaries(
    st.sampled_from(["id", "value", "error", "told"]),
    st.just(0)
    | st.recursive(
        leaves, lambda t: st.lists(t, max_size=3) | st.dictionaries(kinds, t, max_size=1)
    )
    | st.sampled_from(["KeyError", "ExceptionGroup", "StopIteration", 10**400]),
)


@settings(max_examples=60)
@given(
    st.lists(forged.map(json.dumps) | st.text(max_size=9), max_size=3),
    st.sampled_from(["exit", "cpu"]),
)
def test_whatever_a_candidates_process_writes_the_test_passes_fails_or_asks_on(
    lines: list[str], ended: str
) -> None:
    run = {"out": "\n".join(lines), "ended": ended, "cut": 0, "code": 0, "err": ""}
    test = {"name": "t", "source": "", "run": "assert sorted(f(1)) == [3]\nassert f(f(1)) < 2"}
    problem = {"names": {"f": "m:f"}}
    calls, fault = tests.explored(test, problem, [asked("m:f", 1)], run, "seed")
    assert fault or calls.guesses
    assert len(calls.made) < 3


def test_a_number_out_of_range_is_refused() -> None:
    with pytest.raises(ValueError, match="complex"):
        decoded({"complex": [10**400, 0]})


@pytest.mark.parametrize("line", ["", "[1]", "{", "1" * 5000, "[" * 100_000, '"x"'])
def test_a_line_that_is_no_object_is_none(line: str) -> None:
    assert parsed(line) is None


def test_the_answers_of_a_server_are_read_up_to_the_first_that_is_none() -> None:
    good = json.dumps({"id": 0, "value": 1})
    assert read(f"{good}\n") == ([{"id": 0, "value": 1}], True)
    assert read(f"{good}\n{good}\n") == ([{"id": 0, "value": 1}], False)
    assert read("passed\n" + good) == ([], False)


def test_an_answer_is_used_only_for_the_call_that_it_was_given_to() -> None:
    right = Calls([asked("m:f", 1)], [{"id": 0, "value": 5}], "")
    assert right.function("m:f")(1) == 5
    assert not right.guesses
    other = Calls([asked("m:f", 2)], [{"id": 0, "value": 5}], "")
    assert bool(other.function("m:f")(1))  # a guess
    assert other.guesses


def test_a_process_that_ended_has_no_more_answers() -> None:
    calls = Calls([asked("m:f")], [], "it ended with code 0")
    with pytest.raises(Stop, match="code 0"):
        calls.function("m:f")()


@pytest.mark.parametrize("value", [{"id": 0}, {"id": 0, "value": {"x": 1}}, {"id": 0, "value": {}}])
def test_an_answer_without_a_value_ends_the_test(value: dict[str, Any]) -> None:
    with pytest.raises(Stop, match="no value"):
        Calls([asked("m:f")], [value], "").function("m:f")()


@pytest.mark.parametrize(
    "name",
    [
        "SystemExit",
        "AssertionError",
        "StopIteration",
        "GeneratorExit",
        "Stop",
        "print",
        "Mine",
        "__doc__",
    ],
)
def test_only_exceptions_of_pythons_own_are_raised_as_what_they_are(name: str) -> None:
    calls = Calls([asked("m:f")], [{"id": 0, "error": name, "told": "x"}], "")
    with pytest.raises(Exception, match=f"{name}: x") as caught:
        calls.function("m:f")()
    assert caught.type.__name__ == "CandidateError"
    calls = Calls([asked("m:f")], [{"id": 0, "error": "KeyError", "told": "x"}], "")
    with pytest.raises(KeyError):
        calls.function("m:f")()


def test_what_is_no_plain_value_is_not_sent() -> None:
    with pytest.raises(Unfit, match="sends a PosixPath"):
        Calls([], [], "").function("m:f")([Path("x")])


# --- rounds --------------------------------------------------------------------------------------


class Played:
    """Podium and a candidate of plain functions, in place of the sandbox."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, functions: dict[str, Callable[..., Any]]
    ) -> None:
        self.said: dict[str, Any] = {}
        self.rounds = 0
        monkeypatch.chdir(Path(server.__file__).parents[2])
        monkeypatch.setattr(exchange, "_say", self._hear)
        self.functions = functions
        monkeypatch.setattr(server, "function", self._function)

    def _hear(self, said: dict[str, Any]) -> None:
        self.said = said

    def _function(self, of: str) -> Callable[..., Any]:
        return self.functions[of.partition(":")[2]]

    def judge(self, *run: str, source: str = "") -> dict[str, str]:
        each = [{"name": str(n), "source": source, "run": one} for n, one in enumerate(run)]
        problem = {
            "tests": each,
            "names": {"f": "m:f", "g": "m:g"},
            "modules": ["shop"],
            "seconds": 1,
        }
        told: dict[str, Any] = {}
        while (faults := tests.judge(told, problem, {})) is None:
            self.rounds += 1
            told = {"keep": self.said["keep"], "runs": [self._ran(one) for one in self.said["run"]]}
        return faults

    def _ran(self, program: dict[str, Any]) -> dict[str, Any]:
        lines = [
            json.dumps(server.answer(json.loads(one))) for one in program["stdin"].splitlines()
        ]
        return {"ended": "exit", "code": 0, "cut": 0, "err": "", "out": "\n".join(lines)}


def same(x: Any) -> Any:
    return x


def above(x: int) -> int:
    return x + 1


def below(x: int) -> int:
    return x - 1


def twice(x: int) -> int:
    return x * 2


def low(x: int) -> None:
    raise ValueError("low")


def odd(x: int) -> object:
    return object()


def test_all_calls_are_asked_for_at_once_where_they_need_no_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    played = Played(monkeypatch, {"f": above})
    assert played.judge("for n in range(50):\n    assert f(n) == n + 1", "assert f(1) == 3") == {
        "0": "",
        "1": "an assertion failed after 1 calls",
    }
    assert played.rounds == 1


def test_calls_that_need_answers_are_asked_for_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    played = Played(monkeypatch, {"f": below, "g": twice})
    run = "x = g(2)\nif f(1): raise AssertionError\nassert f(x) == 3\nassert g(f(5)) == 8"
    assert played.judge(run) == {"0": ""}
    assert played.rounds == 3


def test_a_guess_that_a_test_stops_at_is_made_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    played = Played(monkeypatch, {"f": low, "g": same})
    run = """
for n in range(20):
    try:
        f(n)
    except ValueError:
        assert max(g([n])) == n
        continue
    raise AssertionError
"""
    assert played.judge(run) == {"0": ""}
    assert played.rounds == 1


def test_random_numbers_of_a_test_are_the_same_in_every_round_and_new_for_every_verdict(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[int] = []

    def noted(x: int) -> int:
        seen.append(x)
        return x

    played = Played(monkeypatch, {"f": noted})
    for _ in range(2):
        run = "import random\nx = random.getrandbits(64)\nassert f(f(x)) == x"
        assert played.judge(run) == {"0": ""}
    assert len(set(seen)) == 2


def test_tests_import_the_candidates_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    played = Played(monkeypatch, {"total": sum})
    assert played.judge("from shop import total\nassert total([1, 2]) == 3") == {"0": ""}


@pytest.mark.parametrize(
    ("run", "fault"),
    [
        ("try:\n    f(1)\nexcept ValueError:\n    pass\nelse:\n    raise AssertionError", ""),
        ("f(1)", "it raised ValueError: low"),
        ("assert g(1) < 2", "the tests cannot use what it returned (TypeError: '<' not supported"),
        ("assert sorted(g(1)) == []", "the tests cannot use what it returned (TypeError"),
        ("print('{\"score\": 1}')\nassert not g(1)", "an assertion failed after 1 calls"),
        ("raise SystemExit(0)", "the tests cannot use what it returned (SystemExit"),
    ],
)
def test_why_a_test_failed_is_told(run: str, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    faults = Played(monkeypatch, {"f": low, "g": odd}).judge(run)
    assert faults["0"].startswith(fault)
    assert bool(faults["0"]) == bool(fault)


@pytest.mark.parametrize("run", ["Lost(f(1))", "import lost_and_found", "assert ("])
def test_tests_that_cannot_run_are_unfit(run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Unfit):
        Played(monkeypatch, {"f": same}).judge(run)


# --- programs in texts ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a = 1", "a = 1"),
        ("See:\n```python\nf = 2\n```\nand\n~~~\nb\n~~~\n", "f = 2\n"),
        ("```\na\n```\n```py\nb\n```", "b\n"),
        ("```python\ndef f(): pass\n```\nUse it:\n```python\nprint(f())\n```", "def f(): pass\n"),
        ("```python\nx = '''\n  ```\n'''\ndef f(): 1\n", "x = '''\n  ```\n'''\ndef f(): 1\n"),
        ("````\n```\ndef f(): 0\n```\n````", "```\ndef f(): 0\n```\n"),
    ],
)
def test_the_program_is_the_last_block_that_defines_what_is_asked_for(text: str, code: str) -> None:
    assert source.code(text, "f") == code


def test_a_program_comes_behind_what_is_before_it_or_goes_on_with_it() -> None:
    before = "import re\ndef f(x):\n"
    assert function.program("    return x\n", before, "f") == before + "    return x\n"
    whole = function.program("from __future__ import annotations\ndef f(x): 1\n", before, "f")
    assert whole.startswith("from __future__ import annotations\nimport re\n")
    assert whole.endswith("def f(x): 1\n")


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ('Here: {"files": {}}', {}),
        ('{"files": {"a.py": "x", "b.py": 3}}', {"a.py": "x"}),
        ('```json\n{"files": {"a.py": "x"}}\n```', {"a.py": "x"}),
        (
            "```python shop/cart.py\nx\n```\n```py path=b.py\ny\n```\n```python\nz\n```",
            {"shop/cart.py": "x\n", "b.py": "y\n"},
        ),
        ("```python a.py\n1\n```\n```python a.py\n2\n```", {"a.py": "2\n"}),
    ],
)  # fmt: skip
def test_files_are_an_object_or_blocks_with_paths(text: str, files: dict[str, str]) -> None:
    assert source.files(text) == files


def test_what_looks_like_a_cheat_is_named() -> None:
    assert source.flags("import sys\nsys._getframe(1).f_locals['result']") == ["looks at frames"]
    assert source.flags("class A:\n    def __eq__(self, other): return True") == [
        "overrides comparison"
    ]
    assert source.flags("sys.exit(0)", allowed=("ends the process",)) == []
    assert source.flags("def f(x):\n    return sorted(x) == x\n") == []


def test_what_ends_iterating_does_not_end_a_loop_of_the_tests(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def ends(x: int) -> int:
        raise StopIteration

    played = Played(monkeypatch, {"f": ends})
    faults = played.judge(
        "for found in map(f, [1, 2]):\n    assert found == 3", "list(map(f, [1]))"
    )
    assert all("StopIteration" in fault for fault in faults.values())


def test_of_a_structured_answer_its_field_is_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "answer.txt").write_text("print(1)")  # as Podium puts it there
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO('{"text": "{}", "runs": [1], "keep": 2}'))
    assert exchange.asked() == {"text": "print(1)", "runs": [1], "keep": 2}


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({}, ""),
        ({"ended": "wall", "code": None}, "it took too long"),
        ({"ended": "file", "code": None}, "it reached its limit (file)"),
        ({"cut": 7}, "it wrote too much"),
        ({"code": 1, "err": "Traceback\nKeyError: 3\n"}, "it ended with code 1: KeyError: 3"),
        ({"code": 139}, "it ended with code 139"),
    ],
)
def test_how_a_candidate_ended_is_told(more: dict[str, object], told: str) -> None:
    ran = {"ended": "exit", "code": 0, "cut": 0, "err": "", "out": ""}
    assert exchange.ended(ran | more) == told


def test_the_server_is_written_what_it_reads() -> None:
    calls = Calls([], [], "")
    calls.function("builtins:sorted")([3, 1], reverse=True)
    [line] = written(calls.made).splitlines()
    assert server.answer(json.loads(line)) == {"id": 0, "value": [3, 1]}
    assert server.answer(json.loads(line) | {"of": "builtins:no"})["error"] == "AttributeError"
