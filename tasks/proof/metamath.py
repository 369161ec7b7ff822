"""A checker of Metamath proofs: the language of the Metamath book (second edition, chapter 4), over texts. Pure.

A theory is read whole. What a candidate adds to it may hold lemmas and their proofs and nothing else: no
constants, no axioms, no files of others, and variables only where the statement has some of its own. The checker
is ours, and not the program `metamath`: that ends with code 0 after a wrong proof too, and data that is only read
needs no sandbox.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from typing import NamedTuple

Symbols = tuple[str, ...]
Pair = frozenset[str]

# Symbols that one proof may write on its stack, all together: a proof of a few lines can double an expression at
# each, and would take all memory. Proofs of people take some thousands.
MOST_SYMBOLS = 2_000_000
MOST_STEPS = 100_000
# What may stand in an addition; `$=` and `$.` are read with `$p`.
ADDED = frozenset({"$p", "$e", "$d", "${", "$}"})
_STRANGE = re.compile(r"[^\x21-\x7e \t\r\n\f]")
_LABEL = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")


class Wrong(Exception):
    """A text that is no Metamath, or a proof that does not hold. keyword: the one that may not stand there."""

    def __init__(self, message: str, keyword: str = "") -> None:
        super().__init__(message)
        self.keyword = keyword


class Hypothesis(NamedTuple):
    """is_float: it gives a variable its type, and symbols are these two."""

    label: str
    symbols: Symbols
    is_float: bool


@dataclass(frozen=True, slots=True)
class Assertion:
    """An axiom or a theorem: what it says, under which hypotheses.

    given: the hypotheses, in their order. apart: the pairs of its variables that must be distinct. proof: None
    of an axiom.
    """

    label: str
    given: tuple[Hypothesis, ...]
    says: Symbols
    apart: frozenset[Pair]
    proof: Symbols | None = None

    @property
    def is_open(self) -> bool:
        """Whether its proof is missing, or unfinished."""
        return self.proof is not None and "?" in self.proof

    @property
    def statement(self) -> tuple[object, ...]:
        """All of it but how it and its hypotheses are called, and how it is proved."""
        return tuple(one[1:] for one in self.given), self.says, self.apart


@dataclass(slots=True)
class _Scope:
    """What a block adds; all of it ends with the block."""

    variables: set[str] = field(default_factory=set[str])
    hypotheses: list[Hypothesis] = field(default_factory=list[Hypothesis])
    apart: set[Pair] = field(default_factory=set[Pair])


@dataclass(slots=True)
class Database:
    """Read by `read`, one text after the other; it holds what has been read so far.

    assertions: by label, in their order. A theorem whose proof has a `?` is kept, and may be used by nobody.
    """

    assertions: dict[str, Assertion] = field(default_factory=dict[str, Assertion])
    _constants: set[str] = field(default_factory=set[str])
    _labels: set[str] = field(default_factory=set[str])
    _scopes: list[_Scope] = field(default_factory=lambda: [_Scope()])

    def read(self, text: str, *, allowed: frozenset[str] | None = None, check: bool = True) -> None:
        """Read text, and check each of its proofs. allowed: keywords; None: it is a theory, all but `$[` may stand
        there, and theorems without a finished proof. Raises Wrong."""
        words = _words(text)
        label = ""
        for word in words:
            if not word.startswith("$"):
                self._take_label(label, word)
                label = word
                continue
            if word == "$[" or (allowed is not None and word not in allowed):
                raise Wrong(f"{word} may not stand here", word)
            if bool(label) != (word in ("$f", "$e", "$a", "$p")):
                raise Wrong(f"{word} {'has no' if not label else 'takes no'} label")
            self._statement(word, label, words, check=check, may_lack=allowed is None)
            label = ""
        if label or len(self._scopes) > 1:
            raise Wrong("the text ends inside a statement or a block")

    def _take_label(self, before: str, word: str) -> None:
        if before:
            raise Wrong(f"a keyword is expected after {before!r}, not {word!r}")
        if not set(word) <= _LABEL or word in self._labels:
            raise Wrong(f"the label {word!r} is taken, or is none")
        self._labels.add(word)

    def _statement(
        self, keyword: str, label: str, words: Iterator[str], *, check: bool, may_lack: bool
    ) -> None:
        match keyword:
            case "${":
                self._scopes.append(_Scope())
            case "$}" if len(self._scopes) > 1:
                self._scopes.pop()
            case "$c" if len(self._scopes) == 1:
                self._constants |= set(self._new(_until("$.", words)))
            case "$v":
                self._scopes[-1].variables |= set(self._new(_until("$.", words)))
            case "$d":
                named = self._variables_in(_until("$.", words))
                self._scopes[-1].apart |= {frozenset(pair) for pair in combinations(named, 2)}
            case "$f" | "$e":
                self._hypothesis(label, self._known(_until("$.", words)), keyword == "$f")
            case "$a":
                self.assertions[label] = self._framed(label, _until("$.", words), None)
            case "$p":
                said = _until("$=", words)
                made = self._framed(label, said, tuple(_until("$.", words)))
                if check and not (may_lack and made.is_open):
                    self._check(made)
                self.assertions[label] = made
            case _:
                raise Wrong(f"{keyword} has no place here")

    # --- what a statement is made of -------------------------------------------------------------

    def _new(self, symbols: Sequence[str]) -> Sequence[str]:
        taken = self._constants | self._variables() | {word for word in symbols if "$" in word}
        if len(set(symbols)) < len(symbols) or taken & set(symbols):
            raise Wrong(f"a symbol of {' '.join(symbols)} is taken, or is none")
        return symbols

    def _variables(self) -> set[str]:
        return {name for scope in self._scopes for name in scope.variables}

    def _variables_in(self, symbols: Sequence[str]) -> Sequence[str]:
        if len(set(symbols)) < len(symbols) or not set(symbols) <= self._variables():
            raise Wrong(f"$d names variables, each once, not {' '.join(symbols)}")
        return symbols

    def _known(self, symbols: Sequence[str]) -> Symbols:
        known = self._constants | self._variables()
        for symbol in symbols:
            if symbol not in known:
                raise Wrong(f"there is no symbol {symbol!r}")
        if not symbols or symbols[0] not in self._constants:
            raise Wrong("a statement begins with a constant")
        return tuple(symbols)

    def _hypotheses(self) -> list[Hypothesis]:
        return [one for scope in self._scopes for one in scope.hypotheses]

    def _hypothesis(self, label: str, symbols: Symbols, is_float: bool) -> None:
        if is_float:
            typed = {one.symbols[1] for one in self._hypotheses() if one.is_float}
            if len(symbols) != 2 or symbols[1] in self._constants | typed:
                raise Wrong(f"{label} gives one variable its type, for the first time")
        self._scopes[-1].hypotheses.append(Hypothesis(label, symbols, is_float))

    def _framed(self, label: str, said: Sequence[str], proof: Symbols | None) -> Assertion:
        """The assertion with all that it takes of the blocks around it (its mandatory frame)."""
        says, there = self._known(said), self._hypotheses()
        lines = [says, *(one.symbols for one in there if not one.is_float)]
        named = {symbol for line in lines for symbol in line} & self._variables()
        given = tuple(one for one in there if not one.is_float or one.symbols[1] in named)
        if sum(one.is_float for one in given) < len(named):
            raise Wrong(f"a variable of {label} has no type")
        apart = frozenset(pair for pair in self._apart() if pair <= named)
        return Assertion(label, given, says, apart, proof)

    def _apart(self) -> set[Pair]:
        return {pair for scope in self._scopes for pair in scope.apart}

    # --- proofs ----------------------------------------------------------------------------------

    def _check(self, made: Assertion) -> None:
        """Raise Wrong where the proof of made does not end in what it says, and nothing else."""
        given = {one.label: one.symbols for one in self._hypotheses()}
        stack = _Stack(self._apart(), self._variables())
        try:
            for step in self._steps(made):
                stack.count()
                if step is None:
                    stack.keep()
                elif isinstance(step, int):
                    stack.recall(step)
                elif step in given:
                    stack.push(given[step])
                else:
                    stack.apply(self._proved(step))
            stack.end(made.says)
        except Wrong as wrong:
            raise Wrong(f"{made.label}: {wrong}") from wrong

    def _proved(self, label: str) -> Assertion:
        found = self.assertions.get(label)
        if found is None:
            raise Wrong(f"nothing before it is called {label!r}")
        if found.is_open:
            raise Wrong(f"{label} is not proved")
        return found

    def _steps(self, made: Assertion) -> Iterator[str | int | None]:
        """Labels; of a compressed proof also None, which keeps the last step, and numbers of kept ones."""
        proof = made.proof or ()
        if not proof or "?" in proof:
            raise Wrong("there is no proof, or it is unfinished")
        if proof[0] != "(":
            yield from proof
            return
        if ")" not in proof:
            raise Wrong("a compressed proof has its labels in ( )")
        end = proof.index(")")
        own = [one.label for one in made.given]
        if set(own) & set(proof[1:end]):
            raise Wrong("a compressed proof lists no hypothesis of its own theorem")
        labels = [*own, *proof[1:end]]
        for number in _numbers("".join(proof[end + 1 :])):
            if number is None or number < len(labels):
                yield None if number is None else labels[number]
            else:
                yield number - len(labels)


@dataclass(slots=True)
class _Stack:
    """apart: the pairs that the theorem's blocks keep distinct."""

    apart: set[Pair]
    variables: set[str]
    items: list[Symbols] = field(default_factory=list[Symbols])
    kept: list[Symbols] = field(default_factory=list[Symbols])
    steps: int = 0
    symbols: int = 0

    def count(self) -> None:
        self.steps += 1
        if self.steps > MOST_STEPS or self.symbols > MOST_SYMBOLS:
            raise Wrong(f"the proof is too large, at step {self.steps}")

    def push(self, symbols: Symbols) -> None:
        self.symbols += len(symbols)
        self.items.append(symbols)

    def keep(self) -> None:
        if not self.items:
            raise Wrong("Z stands before the first step")
        self.kept.append(self.items[-1])

    def recall(self, number: int) -> None:
        if number >= len(self.kept):
            raise Wrong(f"a step names number {number + 1} of {len(self.kept)} that are kept")
        self.push(self.kept[number])

    def apply(self, rule: Assertion) -> None:
        first = len(self.items) - len(rule.given)
        if first < 0:
            raise Wrong(f"step {self.steps} ({rule.label}) needs {len(rule.given)} before it")
        taken = [*zip(rule.given, self.items[first:], strict=True)]
        del self.items[first:]
        values: dict[str, Symbols] = {}
        for one, found in taken:
            if one.is_float:
                self._same(rule, one.symbols[:1], found[:1])
                values[one.symbols[1]] = found[1:]
        for one, found in taken:
            if not one.is_float:
                self._same(rule, self._put(one.symbols, values), found)
        self._distinct(rule, values)
        self.push(self._put(rule.says, values))

    def _put(self, line: Symbols, values: Mapping[str, Symbols]) -> Symbols:
        parts = [values.get(symbol, (symbol,)) for symbol in line]
        self.symbols += sum(map(len, parts))  # counted before it is made
        if self.symbols > MOST_SYMBOLS:
            raise Wrong(f"the proof is too large, at step {self.steps}")
        return tuple(symbol for part in parts for symbol in part)

    def _same(self, rule: Assertion, wanted: Symbols, found: Symbols) -> None:
        if wanted != found:
            raise Wrong(
                f"step {self.steps} ({rule.label}) needs {_shown(wanted)}, not {_shown(found)}"
            )

    def _distinct(self, rule: Assertion, values: Mapping[str, Symbols]) -> None:
        for one, other in map(tuple, rule.apart):
            firsts, seconds = (set(values[name]) & self.variables for name in (one, other))
            for pair in product(firsts, seconds):
                if frozenset(pair) not in self.apart:
                    both = " and ".join(sorted(pair))
                    raise Wrong(f"step {self.steps} ({rule.label}) needs {both} to be distinct")

    def end(self, says: Symbols) -> None:
        if len(self.items) != 1:
            raise Wrong(f"{len(self.items)} are left at the end, not one")
        if self.items[0] != says:
            raise Wrong(f"it proves {_shown(self.items[0])}, not {_shown(says)}")


def _shown(symbols: Symbols) -> str:
    text = " ".join(symbols)
    return f"`{text if len(text) < 200 else text[:200] + '…'}`"


def _words(text: str) -> Iterator[str]:
    """The words of text without its comments. Raises Wrong on a character or a comment that is none."""
    if strange := _STRANGE.search(text):
        raise Wrong(f"the character {strange[0]!r} is none of Metamath's")
    inside = False
    for word in text.split():
        if inside:
            if "$(" in word or (word != "$)" and "$)" in word):
                raise Wrong("a comment holds $( or $) in a word")
            inside = word != "$)"
        elif word == "$(":
            inside = True
        else:
            yield word
    if inside:
        raise Wrong("a comment has no end")


def _until(end: str, words: Iterator[str]) -> list[str]:
    found: list[str] = []
    for word in words:
        if word == end:
            return found
        if "$" in word:
            raise Wrong(f"{end} is expected, not {word}", word)
        found.append(word)
    raise Wrong(f"{end} is missing at the end")


def _numbers(letters: str) -> Iterator[int | None]:
    """The numbers of a compressed proof, from 0; None for Z. Appendix B of the book."""
    value = 0
    for letter in letters:
        if "A" <= letter <= "T":
            yield 20 * value + ord(letter) - ord("A")
            value = 0
        elif "U" <= letter <= "Y":
            value = 5 * value + ord(letter) - ord("U") + 1
            if value > MOST_STEPS:
                raise Wrong("a compressed proof names a step that cannot be")
        elif letter == "Z" and value == 0:
            yield None
        else:
            raise Wrong(f"a compressed proof holds no {letter!r}")
    if value:
        raise Wrong("a compressed proof ends inside a number")
