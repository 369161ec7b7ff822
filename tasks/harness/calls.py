"""Tests whose functions are a candidate's: called here, answered by its process in another sandbox.

That process gets all calls at once. So a test runs twice or more: first with guesses in place of answers, to learn
what it calls; then with the answers, which alone decide. Where an answer leads the test to other calls than the
guess did, these are asked for too.
"""

from __future__ import annotations

import builtins
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from .wire import DEEPEST, LISTS, Opaque, among, decoded, encoded, parsed

MOST_CALLS = 2000
_PLAIN = (bool, int, float, complex, str, bytes, bytearray)


# An assertion that fails is a test's; and what ends iterating would end a test's loop, as if all had been right.
_TESTS_OWN = (AssertionError, StopIteration, StopAsyncIteration)


class Stop(BaseException):
    """No exception that a test could handle: ends it here. why: "" where more answers are needed."""

    def __init__(self, why: str = "") -> None:
        super().__init__(why)
        self.why = why


class Unfit(BaseException):
    """The test, and not the candidate, cannot be judged so."""


class CandidateError(Exception):
    """What a candidate's function raised, where that is no exception of Python's own."""


class Guess:
    """In place of an answer that is not known yet: goes through what tests do with answers as far as it can.

    size: of the collection that it may be taken for.
    """

    def __init__(self, size: int = 0) -> None:
        self._size = size

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[Any]:
        return iter([self] * self._size)

    def __len__(self) -> int:
        return self._size

    def __float__(self) -> float:
        return 0.0

    def __index__(self) -> int:
        return 0

    def __hash__(self) -> int:
        return 0

    def __getattr__(self, name: str) -> Guess:
        if name.startswith("__"):
            raise AttributeError(name)
        return self


def _itself(self: Guess, *_: Any, **__: Any) -> Guess:
    return self


def _yes(self: Guess, *_: Any) -> bool:
    return True


for _name in ("eq", "ne", "lt", "le", "gt", "ge", "contains"):
    setattr(Guess, f"__{_name}__", _yes)
for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor"):
    setattr(Guess, f"__{_name}__", _itself)
    setattr(Guess, f"__r{_name}__", _itself)
for _name in ("neg", "abs", "round", "getitem", "call"):
    setattr(Guess, f"__{_name}__", _itself)


# What may be guessed of a call: something empty, something with an item, and that it raises.
MOST_KINDS = 3


class Calls:
    """The calls of one test. asked: digests of those that were answered; answers: what came back, in their order.

    ended: why there are no more answers than that. kinds: by number of a call, which guess is made of it.
    """

    def __init__(
        self,
        asked: Sequence[str],
        answers: Sequence[dict[str, Any]],
        ended: str,
        kinds: Mapping[int, int] | None = None,
    ):
        self._asked = asked
        self._answers = answers
        self._ended = ended
        self._kinds = kinds or {}
        self.made: list[dict[str, Any]] = []
        self.raised: list[Exception] = []
        self.guesses = False

    @property
    def digests(self) -> list[str]:
        return [digest(one) for one in self.made]

    def function(self, of: str) -> Callable[..., Any]:
        """What stands for a candidate's function, `package.module:name`."""

        def call(*args: Any, **named: Any) -> Any:
            return self._called(of, args, named)

        return call

    def _called(self, of: str, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        number = len(self.made)
        odd = next(_odd([*args, *named.values()]), None)
        if isinstance(odd, Guess) or number >= MOST_CALLS:
            self.guesses = True
            raise Stop()
        if isinstance(odd, Opaque):
            raise self._noted(CandidateError(f"it returned a {odd.name}, which is no plain value"))
        if odd is not None:
            raise Unfit(f"a test sends a {type(odd).__name__}, and only plain values can be sent")
        call = {"id": number, "of": of, "args": encoded(args), "named": encoded(named)}
        self.made.append(call)
        if self.guesses or number >= len(self._asked) or self._asked[number] != digest(call):
            self.guesses = True
            return self._guessed(self._kinds.get(number, 0))
        if number >= len(self._answers):
            raise Stop(self._ended)
        answer = self._answers[number]
        if "error" in answer:
            raise self._noted(_raised(str(answer["error"]), str(answer.get("told", ""))))
        try:
            return decoded(answer["value"])
        except (KeyError, ValueError, RecursionError) as error:
            raise Stop("it answered with what is no value") from error

    def _guessed(self, kind: int) -> Guess:
        if kind == MOST_KINDS - 1:
            raise ValueError("a guess")
        return Guess(kind)

    def _noted(self, error: Exception) -> Exception:
        self.raised.append(error)
        return error


def _raised(name: str, told: str) -> Exception:
    """An exception of Python's own by its name, but for those that would mean something of the test's."""
    kind = getattr(builtins, name, None)
    if not (isinstance(kind, type) and issubclass(kind, Exception)) or kind in _TESTS_OWN:
        return CandidateError(f"{name}: {told}")
    try:
        return kind(told)
    except TypeError:  # UnicodeError and its like want more than a text
        return CandidateError(f"{name}: {told}")


def _odd(values: Iterable[Any], deep: int = 0) -> Iterator[Any]:
    """What is no plain value among values, at any depth."""
    for value in values:
        if among(value, dict):
            yield from _odd((one for pair in value.items() for one in pair), deep + 1)
        elif among(value, *LISTS) and deep < DEEPEST:
            yield from _odd(value, deep + 1)
        elif value is not None and not among(value, *_PLAIN):
            yield value


def digest(call: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(call).encode()).hexdigest()[:16]


def written(calls: Sequence[dict[str, Any]]) -> str:
    """The input of `server`."""
    return "".join(json.dumps(call) + "\n" for call in calls)


def read(out: str) -> tuple[list[dict[str, Any]], bool]:
    """The answers in a server's output, in order, up to the first that is none; and whether that was all of it."""
    found: list[dict[str, Any]] = []
    for line in out.splitlines():
        answer = parsed(line)
        if answer is None or answer.get("id") != len(found):
            return found, False
        found.append(answer)
    return found, True
