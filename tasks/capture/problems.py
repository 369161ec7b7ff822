"""The problems: the most requests of each, and our attacks."""

from __future__ import annotations

from typing import NamedTuple

_ASKING = """import json
import socket

file = socket.create_connection(("127.0.0.1", 7007)).makefile("rw")


def ask(line):
    print(line, file=file, flush=True)
    return file.readline().rstrip("\\n")


"""


class Problem(NamedTuple):
    """most: requests that the service answers. attack: ours."""

    most: int
    attack: str


PROBLEMS = {
    "overread": Problem(
        20,
        'size = int(ask("SIZE"))\nfound = ask(f"READ {size - 1} {size - 1}")[1:]\n',
    ),
    "token": Problem(
        12,
        'a, b, c = (int(ask("TOKEN")) for _ in range(3))\nprime = 2**31 - 1\n'
        "factor = (c - b) * pow(b - a, -1, prime) % prime\nnext = (factor * (c - b) + c) % prime\n"
        'found = ask(f"KEEPER {next}")\n',
    ),
    "prefix": Problem(
        600,
        'found = "flag{"\nwhile len(found) < 37:\n    for digit in "0123456789abcdef":\n'
        '        if int(ask(f"TRY {found}{digit}")) > len(found):\n            found += digit\n'
        '            break\n    else:\n        break\nfound += "}"\n',
    ),
    "reuse": Problem(
        10,
        'sealed = bytes.fromhex(ask("SEALED"))\nkey = bytes.fromhex(ask("SEAL " + "a" * len(sealed)))\n'
        "found = bytes(a ^ b ^ 97 for a, b in zip(sealed, key)).decode(errors=\"replace\")\n",
    ),
}  # fmt: skip


def attack(name: str) -> str:
    """Our program for a problem that ships."""
    return f'{_ASKING}{PROBLEMS[name].attack}print(json.dumps({{"flag": found}}))\n'
