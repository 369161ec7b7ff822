"""The types of values in a program: what a field, an argument or a parameter may be."""

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Plain:
    """A type without parts, by the name people know it by. example: one of its own, for a special use."""

    name: str
    example: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Number:
    """`int` or `float`, within bounds that are part of it; None is no bound."""

    whole: bool
    low: int | float | None = None
    high: int | float | None = None


@dataclass(frozen=True, slots=True)
class Words:
    """One of some words: policies written bare (`order = in_turn`), choices written in quotes.

    quoted tells how they are shown; both ways of writing are taken where the type is expected.
    """

    words: tuple[str, ...]
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Setting:
    """A policy with a number: `pass(3)`, `last(2)`, `lease(10m)`; name is its callable."""

    name: str


@dataclass(frozen=True, slots=True)
class ListOf:
    """counted: an item may be `3 of x`."""

    item: "Type"
    counted: bool = False


@dataclass(frozen=True, slots=True)
class RecordOf:
    """A record whose fields are those of `kinds.RECORDS[name]`."""

    name: str


@dataclass(frozen=True, slots=True)
class Either:
    options: tuple["Type", ...]


Type = Plain | Number | Words | Setting | ListOf | RecordOf | Either

ANY = Plain("value")
NONE = Plain("none")
BOOL = Plain("bool")
TEXT = Plain("text")
PROMPT = Plain("prompt")
USD = Plain("amount of money")
TOKENS = Plain("number of tokens")
CALLS = Plain("number of calls")
TIME = Plain("duration")
SHARE = Plain("percentage")
CLOCK = Plain("time of day")
RATE = Plain("rate")
RENT = Plain("rate", "$2 per 1h")
PACE = Plain("rate", "500 calls per 1m")
BUDGET = Plain("budget")
CONDITION = Plain("condition")
MODEL = Plain("model")
ROLE = Plain("role")
VERIFIER = Plain("verifier")
TASK = Plain("task")
FLOW = Plain("flow")
CASES = Plain("record of flows")
ENDPOINT = Plain("endpoint")
TOOL = Plain("tool")
ENV = Plain("environment variable")
SCHEMA = Plain("schema")
RECORD = Plain("record")
RUN = Plain("run")
FAULT = Plain("fault")
INT = Number(True)
FLOAT = Number(False)
COUNT = Number(True, 1)

QUANTITIES = {"usd": USD, "tokens": TOKENS, "calls": CALLS, "time": TIME, "share": SHARE}

# How a type is written after `:`; the rest are ranges, words in quotes, and lists.
WRITTEN: dict[str, Type] = {
    "int": INT,
    "float": FLOAT,
    "text": TEXT,
    "bool": BOOL,
    "Money": USD,
    "Tokens": TOKENS,
    "Calls": CALLS,
    "Duration": TIME,
    "Percent": SHARE,
    "Clock": CLOCK,
    "Budget": BUDGET,
    "Condition": CONDITION,
    "Model": MODEL,
    "Role": ROLE,
    "Verifier": VERIFIER,
    "Task": TASK,
    "Flow": FLOW,
}

_EXAMPLES = {
    USD: "$2.50",
    TOKENS: "8k tokens",
    CALLS: "500 calls",
    TIME: "10m",
    SHARE: "20%",
    CLOCK: "07:00",
    RATE: "$2 per 1M tokens",
    BUDGET: "[$5, 1M tokens, 30m]",
    CONDITION: "score >= 0.9",
    ENDPOINT: 'openai("name", base_url = "http://127.0.0.1:8000/v1")',
    TOOL: 'python("package.module:name")',
    ENV: 'env("NAME")',
    SCHEMA: "{ answer: text }",
    PROMPT: '"""text"""',
    TEXT: '"text"',
    BOOL: "true",
    CASES: "{ easy = a, hard = b }",
    FAULT: "outage(30s)",
}
_RECORD_EXAMPLES = {
    "price": "{ input = $1 per 1M tokens, output = $4 per 1M tokens }",
    "limits": "{ inflight = 8 }",
    "sampling": "{ temperature = 0.5 }",
}


def either(*options: Type) -> Either:
    return Either(options)


def options(kind: Type) -> Iterator[Type]:
    """The alternatives of kind; itself where it has none."""
    if isinstance(kind, Either):
        for option in kind.options:
            yield from options(option)
    else:
        yield kind


def words(kind: Type) -> tuple[str, ...]:
    """The bare words that kind takes."""
    return tuple(w for option in options(kind) if isinstance(option, Words) for w in option.words)


def describe(kind: Type) -> str:
    """kind for a sentence, with its article: `a whole number from 1 to 64`."""
    match kind:
        case Plain(name="none"):
            return "none"
        case Plain(name="text" | "bool"):
            return {"text": "text", "bool": "true or false"}[kind.name]
        case Plain(name=name):
            return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
        case Number():
            return _number(kind)
        case Words():
            shown = _alternatives(kind)
            return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"
        case Setting(name=name):
            return f"{name}(…)"
        case ListOf(item=item):
            return f"a list (each {describe(item)})"
        case RecordOf(name=name):
            return f"a record of {name}"
        case Either(options=several):
            parts = [part for option in several for part in _alternatives(option)]
            return f"{', '.join(parts[:-1])} or {parts[-1]}"


def _alternatives(kind: Type) -> list[str]:
    """What an `or` lists of kind: each word of a policy, everything else as one."""
    if isinstance(kind, Words):
        return [f'"{word}"' if kind.quoted else word for word in kind.words]
    return [describe(kind)]


def _number(kind: Number) -> str:
    name = "a whole number" if kind.whole else "a number"
    match kind.low, kind.high:
        case None, None:
            return name
        case low, None:
            return f"{name} from {low} up"
        case None, high:
            return f"{name} up to {high}"
        case low, high:
            return f"{name} from {low} to {high}"


def example(kind: Type) -> str:
    """A value of kind as one writes it; empty where none is worth showing."""
    for option in options(kind):
        if isinstance(option, Plain) and option in _EXAMPLES:
            return option.example or _EXAMPLES[option]
        if isinstance(option, RecordOf) and option.name in _RECORD_EXAMPLES:
            return _RECORD_EXAMPLES[option.name]
        if isinstance(option, Setting):
            return f"{option.name}({'10m' if option.name == 'lease' else 2})"
    return ""


def accepts(want: Type, have: Type) -> bool:
    """Whether a value known only by its type have may turn out to be a want.

    Bounds are left to the value: `int` may go where `int(1 to 64)` is wanted.
    """
    if ANY in (want, have):
        return True
    if isinstance(have, Either):
        return any(accepts(want, option) for option in options(have))
    return any(_accepts(option, have) for option in options(want))


def _accepts(want: Type, have: Type) -> bool:
    match want, have:
        case Number(), Number():
            return have.whole or not want.whole
        case Words(words=allowed), Words(words=given):
            return bool(set(allowed) & set(given))
        case Words(), Plain(name="text"):
            return True
        case Plain(name="text" | "prompt"), (Words() | Plain(name="text" | "prompt")):
            return True
        case ListOf(item=a), ListOf(item=b):
            return accepts(a, b)
        case Plain(name="flow"), Plain(name="role"):
            return True
        case Plain(name="budget"), Plain():
            return have == BUDGET or have in QUANTITIES.values()
        case _:
            return want == have
