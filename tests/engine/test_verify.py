"""The built-in verifiers and the door to functions."""

import anyio
import pytest
import trio.testing
from hypothesis import given
from hypothesis import strategies as st

from podium.dsl.program import Task, Verifier
from podium.engine.call import CallError, VerifierCall
from podium.engine.functions import Function
from podium.engine.value import Attempt, Json, Verdict
from podium.engine.verify import judge, last_number, named_letter, verdict_of

TASK = Task("t", "s")


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    return ("trio", {"clock": trio.testing.MockClock(autojump_threshold=0)})


pytestmark = pytest.mark.anyio


def call(kind: str, answer: Json, text: str | None = None, **args: object) -> VerifierCall:
    verifier = Verifier("v", kind, args)  # type: ignore[arg-type]  # constants by name
    return VerifierCall("a/v", "run", verifier, TASK, answer, str(answer) if text is None else text)


async def passes(one: VerifierCall) -> bool | None:
    return (await judge(one)).passed


@pytest.mark.parametrize(
    ("answer", "expected", "passed"),
    [
        (" Paris\n", "paris", True),
        ("new   york", "New York", True),
        ("Paris.", "Paris", False),
        ("b", ("a", "b"), True),
        ({"answer": "Paris", "why": "x"}, "paris", True),
        (42, 42, True),
    ],
)
async def test_exact(answer: Json, expected: object, passed: bool) -> None:
    verdict = await judge(call("exact", answer, expected=expected))
    assert (verdict.passed, verdict.score) == (passed, float(passed))


@pytest.mark.parametrize(
    ("answer", "expected", "passed"),
    [
        ("2 + 2 = 4", 4, True),
        ("The total is 1,234.5 m", "1234.5", True),
        ("between 3, 4", 4, True),
        ("\u22127", -7, True),
        ("x = 1e3.", 1000, True),
        (".5", 0.5, True),
        ("none", 4, False),
        ("4, or 5", 4, False),
        (3.0000000001, 3, True),
    ],
)
async def test_number(answer: Json, expected: object, passed: bool) -> None:
    assert await passes(call("number", answer, expected=expected)) is passed


async def test_number_with_a_tolerance() -> None:
    assert await passes(call("number", "3.1", expected=3.14159, tolerance=0.05))
    assert not await passes(call("number", "3.0", expected=3.14159, tolerance=0.05))


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("B", "B"),
        ("(b).", "B"),
        ("I think a lot.\nThe answer is (C).", "C"),
        ("Answer: **D**", "D"),
        ("A is wrong. Answer: B", "B"),
        ("Either (A) or, better, (C)", "C"),
        ("A. because it is", "A"),
        ("A cat sat", None),
        ("", None),
    ],
)
async def test_choice_names_a_letter(text: str, letter: str | None) -> None:
    assert named_letter(text) == letter
    assert await passes(call("choice", text, expected="C")) is (letter == "C")


async def test_contains_is_the_fraction_found_at_the_starts_of_words() -> None:
    words = ("run", "dog", "cat", "tree house")
    verdict = await judge(
        call("contains", "The DOG runs by the tree\nhouse; concat.", expected=words)
    )
    assert verdict == Verdict(0.75, False, "missing: cat")
    assert await passes(call("contains", "dog", expected="dog"))


@pytest.mark.parametrize("kind", ["exact", "number", "choice", "contains"])
async def test_nothing_to_compare_with_is_an_error_and_no_score(kind: str) -> None:
    with pytest.raises(CallError) as error:
        await judge(call(kind, "x"))
    assert error.value.kind == "verifier"


async def test_an_unknown_kind_is_an_error() -> None:
    with pytest.raises(CallError, match="'oracle'"):
        await judge(call("oracle", "x"))


@given(st.text(max_size=200))
def test_no_text_breaks_the_readers(text: str) -> None:
    last_number(text)
    named_letter(text)


@given(st.floats(allow_nan=False, allow_infinity=False, width=32))
def test_a_number_is_found_as_it_is_written(value: float) -> None:
    assert last_number(f"It is {value!r} m") == value


@pytest.mark.parametrize(
    ("value", "verdict"),
    [
        (True, Verdict(None, True)),
        (0.5, Verdict(0.5, None)),
        (2, Verdict(2.0, None)),
        (Verdict(1.0, False, "e"), Verdict(1.0, False, "e")),
    ],
)
def test_what_a_function_may_return(value: object, verdict: Verdict) -> None:
    assert verdict_of(value) == verdict


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), None, "1", Verdict(float("nan"), None)]
)
def test_what_a_function_may_not_return(value: object) -> None:
    with pytest.raises(CallError):
        verdict_of(value)


def raises(attempt: Attempt, task: Task) -> bool:
    raise KeyError("gone")


async def later(attempt: Attempt, task: Task) -> float:
    await anyio.sleep(5)
    return float(len(attempt.text))


async def test_an_async_function_is_awaited_within_its_time() -> None:
    one = call("python", "abc", ref="later")
    assert await judge(one, {"later": later}) == Verdict(3.0, None)
    slow = Verifier("slow", "python", {"ref": "later"}, timeout_s=2)
    with pytest.raises(CallError, match="longer than 2 s"):
        await judge(VerifierCall("a", "r", slow, TASK, "x", "x"), {"later": later})


async def test_an_exception_is_told_with_its_place() -> None:
    with pytest.raises(CallError, match=r"KeyError: 'gone' \(.*test_verify.py, line \d+\)"):
        await judge(call("python", "x", ref="raises"), {"raises": raises}, inline=True)


@pytest.mark.parametrize(
    "ref", ["no.such.module:f", "math:nothing", "math:pi", "math", "", "podium.engine.verify:KINDS"]
)
async def test_a_reference_that_leads_nowhere_is_an_error(ref: str) -> None:
    with pytest.raises(CallError):
        await judge(call("python", "x", ref=ref))


async def test_a_module_is_found_by_its_name() -> None:
    assert await judge(call("python", 5, ref="operator:eq"), inline=True) == Verdict(None, False)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_plain_function_runs_in_a_thread(anyio_backend: str) -> None:
    import threading

    here = threading.get_ident()
    seen: list[int] = []

    def note(attempt: Attempt, task: Task) -> bool:
        seen.append(threading.get_ident())
        return True

    functions: dict[str, Function] = {"note": note}
    assert await judge(call("python", "x", ref="note"), functions) == Verdict(None, True)
    assert seen != [here]
