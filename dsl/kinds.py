"""The one table of kinds and records: their fields with type, default and a line of help.

Checks read it; completion, hover and the reference pages are written from it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from .types import (
    BUDGET,
    CASES,
    CLOCK,
    CONDITION,
    COUNT,
    ENDPOINT,
    FAULT,
    FLOW,
    MODEL,
    NONE,
    PACE,
    PROMPT,
    RATE,
    RECORD,
    RENT,
    SCHEMA,
    TASK,
    TEXT,
    TOKENS,
    TOOL,
    VERIFIER,
    ListOf,
    Number,
    RecordOf,
    Setting,
    Type,
    Words,
    either,
)

Default = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Spec:
    """A field or a parameter. default is what holds where it is not given; None shows as `none`.

    A word or a text is given as it is; a quantity in the unit that `Program` keeps it in.
    """

    name: str
    type: Type
    doc: str
    default: Default = None
    required: bool = False


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of declaration. form: `fields` in braces, an `expression` after `=`, or both."""

    name: str
    doc: str
    form: frozenset[str]
    fields: tuple[Spec, ...] = ()


ON_EXHAUSTED = Words(("best", "vote", "shrink", "pause", "fail"))
SPLIT = Words(("pooled", "even"))
USE = Words(("always", "final"))
STYLE = Words(("discuss", "work"))
SEES = either(Words(("board", "leaderboard", "own")), Setting("last"))
_OWN = ("submit", "notes")
_ON_FILES = ("shell", "read", "write", "edit", "python")


def _tools(words: tuple[str, ...]) -> Type:
    return ListOf(either(Words(words), Setting("submit"), TOOL))


RECORDS: Mapping[str, tuple[Spec, ...]] = {
    "price": (
        Spec("input", RATE, "Dollars per tokens of prompt", 0),
        Spec("cached", RATE, "The same of what the server had cached; as `input` unless said"),
        Spec(
            "cache_write", RATE, "The same of what is written to the cache; as `input` unless said"
        ),
        Spec("output", RATE, "Dollars per tokens of reply, reasoning included", 0),
        Spec(
            "above", TOKENS, "In a list: these rates are of requests with a longer prompt than so"
        ),
    ),
    "limits": (
        Spec("inflight", COUNT, "Calls at the same time, over all replicas"),
        Spec("rate", either(PACE, ListOf(PACE)), "Calls and tokens per time"),
    ),
    "sampling": (
        Spec("temperature", Number(False, 0, 2), "0 takes the likeliest token"),
        Spec("top_p", Number(False, 0, 1), "Tokens that together have this probability"),
        Spec("top_k", COUNT, "The likeliest tokens, so many"),
        Spec("min_p", Number(False, 0, 1), "Tokens at least so likely, relative to the likeliest"),
        Spec("stop", ListOf(TEXT), "Texts that end a reply"),
    ),
}

_MODEL = (
    Spec(
        "endpoint",
        either(ENDPOINT, ListOf(ENDPOINT)),
        "Where it is served: `openai(…)`, `local(…)`, or a list of replicas",
        required=True,
    ),
    Spec(
        "price",
        either(RecordOf("price"), ListOf(RecordOf("price")), NONE),
        "Dollars per tokens; `none` is free; left out is unknown, and free on this machine. "
        "A list: dearer rates for longer prompts, each with its `above`",
    ),
    Spec("rent", RENT, "Dollars per time and replica, instead of `price`"),
    Spec("context", TOKENS, "The window, prompt and reply together; default: as the server says"),
    Spec("limits", RecordOf("limits"), "What the endpoints bear"),
    Spec("sampling", RecordOf("sampling"), "Sent with every call, where a role sets nothing else"),
    Spec("profile", either(RECORD, TEXT), "How the server differs from the usual protocol"),
)
_ROLE = (
    Spec("prompt", PROMPT, "What the agent is asked", required=True),
    Spec("system", PROMPT, "What stands before the prompt"),
    Spec("model", MODEL, "Default: the team's, else the run's, else the file's only model"),
    Spec("output", SCHEMA, "Fields of the reply: `{ answer: text }`; default: free text"),
    Spec("max_output", TOKENS, "The cap of a reply; default 2k tokens, of a CEO 512 tokens"),
    Spec(
        "tools",
        _tools((*_OWN, "attempts", *_ON_FILES)),
        "What the agent may call: `submit`, `submit(3)`, `notes`, `attempts` to look up those that it is given,"
        " functions of yours, `python(…)`, servers,"
        " `mcp(…)`, and on files of its own `read`, `write`, `edit`, and in the sandbox `shell` and `python`",
    ),
    Spec("turns", COUNT, "Requests that an agent with tools makes, at most", 20),
    Spec("sees", SEES, "What a member sees of its team; default: as the team says"),
    Spec("sampling", RecordOf("sampling"), "Default: the model's"),
    Spec("budget", BUDGET, "Upper bounds for each agent of this role"),
    Spec(
        "context",
        Words(("keep", "drop_oldest", "summarise", "restart")),
        "What gives way when an agent's window is full: nothing, its oldest steps, these for a summary, or all"
        " but its notes",
        "keep",
    ),
)
_TASK = (
    Spec("statement", TEXT, "The problem, as agents read it", required=True),
    Spec("verify", VERIFIER, "What scores an attempt"),
    Spec("pass", CONDITION, "When a score passes: `score >= 2`"),
    Spec("better", Words(("higher", "lower")), "Which scores are better", "higher"),
    Spec("use", USE, "`final` hides scores from members, CEO and leaderboard"),
    Spec(
        "baseline",
        either(TEXT, NONE),
        "An answer to beat: scored before anything is paid, shown beside the best, never returned",
    ),
    Spec(
        "files",
        either(TEXT, ListOf(TEXT)),
        "What the folder of each agent begins with: what is in a folder, a file, or a list of these",
    ),
    Spec("style", STYLE, "How teams go about it; with `files` or `tools` it is `work`", "discuss"),
    Spec("tools", _tools(_OWN + _ON_FILES), "Tools that agents may call for it"),
)
_RUN = (
    Spec("flow", FLOW, "What runs", required=True),
    Spec("task", TASK, "The problem; `--task` gives or replaces it"),
    Spec("budget", BUDGET, "Upper bounds of the whole run"),
    Spec(
        "by",
        CLOCK,
        "A deadline by the clock: `07:00`, the next after the start, or `2026-12-01 07:00`",
    ),
    Spec("split", SPLIT, "How branches share what there is", "pooled"),
    Spec("model", MODEL, "For roles that name none; default: the file's only model"),
    Spec("seed", Number(True, 0), "Of every choice by chance", 0),
    Spec("on_exhausted", ON_EXHAUSTED, "What happens when the budget ends", "best"),
    Spec("max_agents", COUNT, "A run that would expand to more is refused", 10_000),
    Spec("out", TEXT, "The folder that the best answer and its files are written to"),
)
_TEST = (
    Spec("flow", FLOW, "What is tested under the simulator", required=True),
    Spec("task", TASK, "What it works on; default: a task that the simulator makes"),
    Spec("model", MODEL, "For roles that name none; default: the file's only model"),
    Spec("given", either(FAULT, ListOf(FAULT)), "What goes wrong: `[outage(30s), busy(1m)]`"),
    Spec(
        "replies",
        either(TEXT, ListOf(TEXT), RECORD),
        "What the models answer: a text, several in turn, or either for each role by its name",
    ),
    Spec(
        "always",
        either(CONDITION, ListOf(CONDITION)),
        "What must hold at each moment; with `outcome`, `passed` or `score` in it, at the end. Names: `score`, "
        "`passed`, `spent`, `held`, `elapsed`, and `outcome`, as in `outcome == finished`",
    ),
    Spec(
        "never",
        either(CONDITION, ListOf(CONDITION)),
        "What must hold at no moment; with `outcome`, `passed` or `score` in it, at no end and no pause: "
        "`outcome == failed`; the names are those of `always`",
    ),
    Spec("at_most", BUDGET, "What the flow may spend: looked at, not kept as a budget is"),
)
_EXPERIMENT = (
    Spec(
        "arms",
        either(CASES, ListOf(FLOW)),
        "The flows that are compared, two at least, by name",
        required=True,
    ),
    Spec("task", TASK, "What they are compared on", required=True),
    Spec(
        "each",
        either(BUDGET, COUNT),
        "What each arm may spend: dollars, tokens or calls; a bare number is of agents",
        required=True,
    ),
    Spec("repeats", COUNT, "Runs of each arm", 10),
)

_FIELDS, _EXPRESSION = frozenset({"fields"}), frozenset({"expression"})

KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("model", "A model and where it is served", _FIELDS | _EXPRESSION, _MODEL),
        Kind("role", "What an agent is asked and by which model", _FIELDS | _EXPRESSION, _ROLE),
        Kind("verifier", "What scores an attempt", _EXPRESSION),
        Kind("task", "A problem and how attempts are scored", _FIELDS | _EXPRESSION, _TASK),
        Kind("flow", "A topology, with parameters", _EXPRESSION),
        Kind("param", "A value set by `--set`, with a type and a default", _EXPRESSION),
        Kind("run", "A flow on a task under a budget", _FIELDS | _EXPRESSION, _RUN),
        Kind("test", "What a flow must keep under the simulator", _FIELDS | _EXPRESSION, _TEST),
        Kind("experiment", "Flows compared at equal cost", _FIELDS | _EXPRESSION, _EXPERIMENT),
    )
}

# What a prompt may mention: root -> its fields; a root without fields is a value itself.
PROMPT_NAMES: Mapping[str, tuple[str, ...]] = {
    "task": ("statement", "name"),
    "self": ("index", "role", "name"),
    "team": ("size", "round", "leaderboard", "digest", "left"),
    "round": (),
    "attempt": ("answer", "score", "evidence", "before"),
    "attempts": (),
}
FILTERS: Mapping[str, tuple[Spec, ...]] = {
    "clip": (Spec("to", TOKENS, "How many tokens at most", required=True),),
    "bullets": (),
    "json": (),
}
# Names in scope where a condition stands: of `until` and `accept`, of a team's `until`, of `pass`, of a test.
CONDITION_NAMES = ("score", "passed", "round", "spent")
TEAM_CONDITION_NAMES = (*CONDITION_NAMES, "consensus", "accepted")
PASS_NAMES = ("score",)
TEST_NAMES = ("score", "passed", "spent", "held", "elapsed", "outcome")
OUTCOMES = ("passed", "finished", "exhausted", "stopped", "failed", "cancelled", "paused")
