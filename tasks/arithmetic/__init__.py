"""Sums, differences and products with one right answer: any difficulty, judged by number."""

from random import Random

from podium.dsl.program import Scalar, Task, Verifier

from ..arguments import only, truth, whole_number

_ASK = "Answer with just the number."
_UNKNOWN = "a secret number"


def make(**args: Scalar) -> Task:
    """The task of a seed. Arguments: digits (of each number, 1 to 9, default 1), terms (2 to 20, default 2), seed.

    hidden = true leaves one number out of the statement: a control that nobody can solve but by luck,
    which is below 1 in 1,000 from digits = 4 on. Raises ValueError on other arguments or values out of range.
    """
    only(args, "digits", "terms", "seed", "hidden")
    digits = whole_number(args, "digits", default=1, low=1, high=9)
    terms = whole_number(args, "terms", default=2, low=2, high=20)
    seed = whole_number(args, "seed", default=0, low=0)
    text, answer = _problem(Random(f"arithmetic/{digits}/{terms}/{seed}"), digits, terms)
    if truth(args, "hidden"):
        text = f"{_UNKNOWN} {text.split(' ', 1)[1]}"
    return Task(
        name="arithmetic",
        statement=f"What is {text}? {_ASK}",
        verify=Verifier("arithmetic", "number", {"expected": answer}, use="final"),
    )


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
