"""The problems: what a program reads and must print, drawn anew for each verdict. Runs in the sandbox too."""

from __future__ import annotations

import string
from collections.abc import Callable
from itertools import groupby
from random import Random
from typing import NamedTuple

Case = tuple[str, str]


class Problem(NamedTuple):
    """draw: an input and what is to be printed. plain: a program as one would write it; short: our shortest."""

    text: str
    draw: Callable[[Random], Case]
    plain: str
    short: str


def _clap(draw: Random) -> Case:
    last = draw.randrange(1, 200)
    said = ["clap" if one % 7 == 0 or "7" in str(one) else str(one) for one in range(1, last + 1)]
    return f"{last}\n", "\n".join(said)


def _runs(draw: Random) -> Case:
    letters = draw.choice(["ab", "abc", string.ascii_lowercase])
    text = "".join(
        draw.choice(letters) * draw.choice([1, 1, 2, 3, 12]) for _ in range(draw.randrange(1, 25))
    )
    return f"{text}\n", "".join(f"{len([*run])}{letter}" for letter, run in groupby(text))


def _turned(draw: Random) -> Case:
    wide = draw.randrange(1, 9)
    rows = [
        [str(draw.randrange(-99, 100)) for _ in range(wide)] for _ in range(draw.randrange(1, 9))
    ]
    turned = [[row[at] for row in reversed(rows)] for at in range(wide)]
    return _rows(rows) + "\n", _rows(turned)


def _rows(rows: list[list[str]]) -> str:
    return "\n".join(" ".join(row) for row in rows)


def _depth(draw: Random) -> Case:
    text = ""
    while len(text) < 30 and draw.random() < 0.95:  # balanced
        inner = "".join(draw.choice("ab") for _ in range(draw.randrange(3)))
        text = draw.choice([f"({text}){inner}", f"{inner}({text})", f"{text}()"])
    if draw.random() < 0.5:
        at = draw.randrange(len(text) + 1)
        text = text[:at] + draw.choice("()a") + text[at + 1 :]
    depth = deepest = 0
    for one in text:
        depth += (one == "(") - (one == ")")
        deepest = max(deepest, depth)
        if depth < 0:
            return f"{text}\n", "no"
    return f"{text}\n", "no" if depth else str(deepest)


def _drawn(draw: Random) -> Case:
    return "\n", str(draw.getrandbits(64))


PROBLEMS = {
    "clap": Problem(
        "A line with a whole number n from 1 on is read. Print the numbers from 1 to n, one a line, but in place "
        "of each that is a multiple of 7 or has a digit 7 print `clap`.",
        _clap,
        "last = int(input())\nfor number in range(1, last + 1):\n"
        "    if number % 7 == 0 or '7' in str(number):\n        print('clap')\n    else:\n        print(number)\n",
        "for i in range(int(input())):i+=1;print([i,'clap']['7'in str(i)or i%7<1])\n",
    ),
    "runs": Problem(
        "A line of lower-case letters is read. Print its runs of equal letters, in order, each as how long it is "
        "and its letter, with nothing between: for `aaab` print `3a1b`.",
        _runs,
        "from itertools import groupby\n\ntext = input()\nparts = []\nfor letter, run in groupby(text):\n"
        "    parts.append(str(len(list(run))) + letter)\nprint(''.join(parts))\n",
        "from itertools import*\nfor k,g in groupby(input()):print(len([*g]),k,sep='',end='')\n",
    ),
    "turned": Problem(
        "Lines of whole numbers are read, as many in each, with one blank between. Print the table turned by a "
        "quarter to the right: the first column, from the bottom up, as the first line, and so on.",
        _turned,
        "import sys\n\nrows = [line.split() for line in sys.stdin]\nrows.reverse()\nfor column in zip(*rows):\n"
        "    print(' '.join(column))\n",
        "for c in zip(*[l.split()for l in open(0)][::-1]):print(*c)\n",
    ),
    "depth": Problem(
        "A line of letters and round brackets is read. Print how deep the brackets are nested at the most, or "
        "`no` where they are not balanced.",
        _depth,
        "depth = 0\ndeepest = 0\nbroken = False\nfor letter in input():\n    if letter == '(':\n"
        "        depth += 1\n    if letter == ')':\n        depth -= 1\n    if depth < 0:\n        broken = True\n"
        "    deepest = max(deepest, depth)\nif broken or depth != 0:\n    print('no')\nelse:\n"
        "    print(deepest)\n",
        "d=m=b=0\nfor c in input():d+=(c=='(')-(c==')');m=max(m,d);b|=d<0\nprint('no'if b|d else m)\n",
    ),
    "control": Problem(
        "An empty line is read. Print the number of 64 bits that is drawn once your program is handed in.",
        _drawn,
        "print(0)\n",
        "print(7)\n",
    ),
}  # fmt: skip
