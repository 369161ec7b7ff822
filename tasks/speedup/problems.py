"""The problems: a slow function, and arguments that are drawn anew for each verdict. Runs in the sandbox too."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple


class Problem(NamedTuple):
    """slow: the function to be made faster; fast: ours. draw: arguments of a size from 0 to 1; with the largest
    slow takes some tenths of a second."""

    entry: str
    slow: str
    fast: str
    draw: Callable[[Random, float], list[Any]]


def _numbers(draw: Random, most: float, below: int) -> list[int]:
    return [draw.randrange(-below, below) for _ in range(int(most))]


def _pairs(draw: Random, size: float) -> list[Any]:
    return [_numbers(draw, 3 + 4500 * size, 400), draw.randrange(-300, 300)]


def _inversions(draw: Random, size: float) -> list[Any]:
    return [_numbers(draw, 4500 * size, 5000)]


def _climb(draw: Random, size: float) -> list[Any]:
    return [_numbers(draw, 4500 * size, 5000)]


def _divisors(draw: Random, size: float) -> list[Any]:
    return [1 + int(900_000 * size * draw.uniform(0.95, 1.05))]


def _length(draw: Random, size: float) -> list[Any]:
    return [_numbers(draw, 4500 * size, 5000)]


PROBLEMS = {
    "pairs": Problem(
        "pairs",
        '''def pairs(numbers, total):
    """How many pairs of numbers, at different places, add up to total."""
    count = 0
    for i in range(len(numbers)):
        for j in range(i + 1, len(numbers)):
            if numbers[i] + numbers[j] == total:
                count += 1
    return count
''',
        """from collections import defaultdict


def pairs(numbers, total):
    seen = defaultdict(int)
    count = 0
    for number in numbers:
        count += seen[total - number]
        seen[number] += 1
    return count
""",
        _pairs,
    ),
    "inversions": Problem(
        "inversions",
        '''def inversions(numbers):
    """How many pairs of numbers stand in the wrong order, the larger one first."""
    count = 0
    for i in range(len(numbers)):
        for j in range(i + 1, len(numbers)):
            if numbers[i] > numbers[j]:
                count += 1
    return count
''',
        """from bisect import bisect_right


def inversions(numbers):
    before = []
    count = 0
    for number in numbers:
        at = bisect_right(before, number)
        count += len(before) - at
        before.insert(at, number)
    return count
""",
        _inversions,
    ),
    "climb": Problem(
        "climb",
        '''def climb(numbers):
    """The length of the longest part of numbers that rises at each step; what is left out may lie between."""
    longest = []
    for i in range(len(numbers)):
        best = 0
        for j in range(i):
            if numbers[j] < numbers[i] and longest[j] > best:
                best = longest[j]
        longest.append(best + 1)
    return max(longest, default=0)
''',
        """from bisect import bisect_left


def climb(numbers):
    lowest = []
    for number in numbers:
        at = bisect_left(lowest, number)
        lowest[at : at + 1] = [number]
    return len(lowest)
""",
        _climb,
    ),
    "divisors": Problem(
        "divisors",
        '''def divisors(last):
    """How many divisors the numbers from 1 to last have together."""
    count = 0
    for divisor in range(1, last + 1):
        multiple = divisor
        while multiple <= last:
            count += 1
            multiple += divisor
    return count
''',
        """from math import isqrt


def divisors(last):
    root = isqrt(last)
    return 2 * sum(last // divisor for divisor in range(1, root + 1)) - root * root
""",
        _divisors,
    ),
    "control": Problem(
        "length",
        '''def length(numbers):
    """How many numbers there are."""
    return len(numbers)
''',
        "def length(numbers):\n    return numbers.__len__()\n",
        _length,
    ),
}
