"""The toy services: what each answers to a line, and the one deliberate weakness that it has.

Each has a sound twin without the weakness. Runs in the sandbox, where the program that attacks can read this file.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping

# A prime, so that each number but 0 has an inverse.
PRIME = 2**31 - 1


class Overread:
    """READ START COUNT: characters of a note of `size` letters. SIZE: how many it has.

    The note and the flag lie in one memory, the flag behind the note. START and COUNT are each below `size`.
    """

    def __init__(self, flag: str, numbers: Mapping[str, int]) -> None:
        self.size = numbers["size"]
        self.memory = "".join(secrets.choice("abcdef") for _ in range(self.size)) + flag

    def reply(self, words: list[str]) -> str:
        if words == ["SIZE"]:
            return str(self.size)
        if words[0] != "READ":
            return "SIZE or READ START COUNT"
        start, count = int(words[1]), int(words[2])
        return self.memory[start : start + count] if self.allowed(start, count) else "out of bounds"

    def allowed(self, start: int, count: int) -> bool:
        return 0 <= start < self.size and 0 <= count < self.size


class SoundOverread(Overread):
    """The two are looked at together."""

    def allowed(self, start: int, count: int) -> bool:
        return min(start, count) >= 0 and start + count <= self.size


class Token:
    """TOKEN: a new token for a guest. KEEPER TOKEN: the flag, where TOKEN is the one that is drawn for the keeper.

    A token is drawn from the one before.
    """

    def __init__(self, flag: str, numbers: Mapping[str, int]) -> None:
        self.flag, self.token = flag, numbers["start"]
        self.factor, self.step = numbers["factor"], numbers["step"]

    def reply(self, words: list[str]) -> str:
        self.token = self.drawn()
        if words == ["TOKEN"]:
            return str(self.token)
        if words[0] != "KEEPER":
            return "TOKEN or KEEPER TOKEN"
        return self.flag if words[1] == str(self.token) else "not the keeper"

    def drawn(self) -> int:
        return (self.factor * self.token + self.step) % PRIME


class SoundToken(Token):
    """A token is drawn from nothing."""

    def drawn(self) -> int:
        return secrets.randbelow(2**128)


class Prefix:
    """TRY GUESS: how many characters of GUESS are right, from the first to the one before the first wrong one."""

    def __init__(self, flag: str, numbers: Mapping[str, int]) -> None:
        self.flag = flag

    def reply(self, words: list[str]) -> str:
        if words[0] != "TRY":
            return "TRY GUESS"
        return str(self.right(words[1]))

    def right(self, guess: str) -> int:
        pairs = zip(guess, self.flag, strict=False)
        return next(
            (at for at, (a, b) in enumerate(pairs) if a != b), min(len(guess), len(self.flag))
        )


class SoundPrefix(Prefix):
    """All that is told is whether it is the flag."""

    def right(self, guess: str) -> int:
        return len(guess) if guess == self.flag else 0


class Reuse:
    """SEALED: the flag, sealed. SEAL TEXT: TEXT, sealed. Both in hexadecimal digits, each byte of a text with the
    byte of the key that stands at its place (exclusive or)."""

    def __init__(self, flag: str, numbers: Mapping[str, int]) -> None:
        self.flag, self.key = flag, secrets.token_bytes(len(flag))

    def reply(self, words: list[str]) -> str:
        if words == ["SEALED"]:
            return self.sealed(self.flag)
        if words[0] != "SEAL":
            return "SEALED or SEAL TEXT"
        return self.sealed(words[1])

    def sealed(self, text: str) -> str:
        return bytes(a ^ b for a, b in zip(text.encode(), self.key, strict=False)).hex()


class SoundReuse(Reuse):
    """A key is used once."""

    def sealed(self, text: str) -> str:
        self.key = secrets.token_bytes(len(self.flag))
        return super().sealed(text)


Kind = type[Overread] | type[Token] | type[Prefix] | type[Reuse]
WEAK: dict[str, Kind] = {"overread": Overread, "token": Token, "prefix": Prefix, "reuse": Reuse}
SOUND: dict[str, Kind] = {
    "overread": SoundOverread,
    "token": SoundToken,
    "prefix": SoundPrefix,
    "reuse": SoundReuse,
}


def numbers() -> dict[str, int]:
    """What the services have of their own, drawn anew for each verdict."""
    return {
        "size": 50 + secrets.randbelow(150),
        "start": 1 + secrets.randbelow(PRIME - 1),
        "factor": 2 + secrets.randbelow(PRIME - 2),
        "step": 1 + secrets.randbelow(PRIME - 1),
    }
