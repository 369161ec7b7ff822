"""What a kernel's numbers are compared by; the kernels themselves run in `programs`."""

from array import array
from collections.abc import Callable, Iterable, Sequence
from math import fsum
from random import Random
from typing import Any

from podium.tasks.kernel.check import Shape, suspected, wrong
from podium.tasks.kernel.in_c import PROBLEMS, RUNNER

Numbers = Sequence[float]
Total = Callable[[Iterable[float]], float]
TERMS = 60_000
SHAPE = Shape("1 1 3 60000", 3, TERMS, (1, 2))


def _distances(row: Numbers, columns: Sequence[Numbers], total: Total = fsum) -> str:
    found = (total((x - y) * (x - y) for x, y in zip(row, one, strict=True)) for one in columns)
    return "".join(f"{one:.12g}\n" for one in found)


def _ran(out: str) -> dict[str, Any]:
    return {"code": 0, "ended": "exit", "out": out, "err": "", "cut": 0, "seconds": 1.0}


def test_another_order_of_a_sum_is_right_and_single_precision_is_wrong() -> None:
    draw = Random(3)
    row, *columns = [array("d", [draw.uniform(-1, 1) for _ in range(TERMS)]) for _ in range(4)]
    expected = _distances(row, columns)
    in_order = _distances(row, columns, sum)
    less, *each = [array("f", one) for one in (row, *columns)]
    assert not wrong(_ran(in_order), expected, SHAPE)
    assert "where the reference gave" in wrong(_ran(_distances(less, each)), expected, SHAPE)


def test_the_last_digit_that_is_printed_may_differ() -> None:
    one = Shape("1 1 1 1", 1, 1, (1, 2))
    assert not wrong(_ran("1.00000000001\n"), "1\n", one)
    assert wrong(_ran("1.00000000005\n"), "1\n", one)


def test_a_malloc_of_its_own_is_flagged_and_a_call_of_it_is_not() -> None:
    fast = PROBLEMS["matmul"].fast
    called = fast.replace(") {\n", ") {\n    double *room = malloc(8 * n);\n", 1)
    assert "malloc" in called
    assert suspected(RUNNER, called) == []
    assert suspected(RUNNER, f"void *malloc(size_t n) {{ return 0; }}\n{fast}") == [
        "replaces what draws"
    ]
