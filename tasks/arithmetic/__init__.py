"""Sums, differences and products with one right answer: any difficulty, one number judged exactly."""

import re
from decimal import Decimal, InvalidOperation
from random import Random

from podium.dsl.program import Compare, Task, Verifier
from podium.dsl.quantity import Scalar
from podium.engine.value import Attempt, Verdict
from podium.engine.verify import answered, numbers

from ..arguments import Truth, Whole, only, truth, whole_number

_DIGITS = Whole("digits", 1, 9)
_TERMS = Whole("terms", 2, 20)
_SEED = Whole("seed", 0)
_HIDDEN = Truth("hidden")

_ASK = "Answer with just the number."
_UNKNOWN = "a secret number"
_SIGNS = {"+": r"\+", "-": r"[-\u2212\u2013]", "*": r"(?:\\?\*|\u00d7|\u00b7|x)"}


def make(**args: Scalar) -> Task:
    """The task of a seed. Arguments: digits (of each number, 1 to 9, default 1), terms (2 to 20, default 2), seed.

    hidden = true leaves one number out of the statement: a control that nobody can solve but by luck,
    which is below 1 in 1,000 from digits = 4 on. Raises ArgumentError on other arguments or values out of range.
    """
    only(args, _DIGITS, _TERMS, _SEED, _HIDDEN)
    digits = whole_number(args, _DIGITS, default=1)
    terms = whole_number(args, _TERMS, default=2)
    seed = whole_number(args, _SEED, default=0)
    text, answer = _problem(Random(f"arithmetic/{digits}/{terms}/{seed}"), digits, terms)
    if truth(args, _HIDDEN):
        text = f"{_UNKNOWN} {text.split(' ', 1)[1]}"
    return Task(
        name="arithmetic",
        statement=f"What is {text}? {_ASK}",
        verify=Verifier(
            "arithmetic",
            "python",
            {"ref": "podium.tasks.arithmetic:verify", "expected": answer, "problem": text},
            use="final",
        ),
        pass_rule=Compare("score", ">=", 1.0),
    )


def verify(attempt: Attempt, task: Task) -> Verdict:
    """Score 1 where the answer's one number is the right one, else 0. Raises ValueError on other tasks."""
    if task.verify is None:
        raise ValueError(f"the task {task.name} has no verifier")
    expected, problem = (task.verify.args.get(name) for name in ("expected", "problem"))
    if not isinstance(expected, int) or not isinstance(problem, str):
        raise ValueError(f"the verifier of {task.name} needs expected (a number) and problem")
    return judge(answered(attempt.answer, attempt.text), expected, problem)


def judge(text: str, expected: int, problem: str) -> Verdict:
    """Judge text by the rules in the family's README. problem: the expression that was asked."""
    match numbers(_without(problem, text)):
        case []:
            return Verdict(0.0, False, "there is no number in the answer")
        case [found] if _equal(found, expected):
            return Verdict(1.0, True)
        case [found]:
            return Verdict(0.0, False, f"found {found[:40]}")
        case several:
            return Verdict(0.0, False, f"there are {len(several)} numbers in the answer, not one")


def _equal(written: str, expected: int) -> bool:
    """Exactly: a float does not hold every product of two numbers of nine digits."""
    try:
        return Decimal(written) == expected
    except InvalidOperation:  # an exponent beyond all bounds
        return False


def _without(problem: str, text: str) -> str:
    """text from behind the problem on, where it begins by repeating that: `7 + 9 = 16` answers 16."""
    parts = [_SIGNS.get(part) or re.escape(part) for part in problem.split()]
    asked = r"[^\d.=*/+-]*" + r"\s*".join(parts) + r"\s*(?:=|\?|:|is\b|equals\b|\n)"
    repeated = re.match(asked, text, re.IGNORECASE)
    return text if repeated is None else text[repeated.end() :]


def _problem(random: Random, digits: int, terms: int) -> tuple[str, int]:
    """An expression read from left to right, and its value. A product stands alone: order never matters."""
    low, high = (2, 9) if digits == 1 else (10 ** (digits - 1), 10**digits - 1)
    numbers = [random.randint(low, high) for _ in range(terms)]
    if terms == 2 and random.random() < 1 / 3:
        return f"{numbers[0]} * {numbers[1]}", numbers[0] * numbers[1]
    text, value = str(numbers[0]), numbers[0]
    for number in numbers[1:]:
        sign = random.choice((1, -1))
        text += f" {'+' if sign > 0 else '-'} {number}"
        value += sign * number
    return text, value


def reference(task: Task) -> str:
    """An honest solution: works the statement out. Raises ValueError where a number is hidden."""
    text = task.statement.removeprefix("What is ").partition("?")[0]
    if _UNKNOWN in text:
        raise ValueError("the statement keeps a number secret")
    first, *rest = text.split()
    value = int(first)
    for sign, number in zip(rest[::2], rest[1::2], strict=True):
        value = {"+": value + int(number), "-": value - int(number), "*": value * int(number)}[sign]
    return str(value)
