"""The one table of what can be called: parameters with type, default and help, and what comes out."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from .kinds import ON_EXHAUSTED, SEES, SPLIT, STYLE, USE, Spec
from .types import (
    BOOL,
    BUDGET,
    CONDITION,
    COUNT,
    ENDPOINT,
    ENV,
    FLOAT,
    FLOW,
    MODEL,
    ROLE,
    TASK,
    TEXT,
    TIME,
    TOOL,
    VERIFIER,
    ListOf,
    Number,
    Setting,
    Type,
    Words,
    either,
)

Inner = Literal["", "flow", "list", "flow or list", "record"]


@dataclass(frozen=True, slots=True)
class Form:
    """A callable of the language. of: what follows `of`, empty where nothing may.

    rest: the type of further arguments; their names too are free where rest_named.
    """

    name: str
    gives: Type
    doc: str
    params: tuple[Spec, ...] = ()
    of: Inner = ""
    rest: Type | None = None
    rest_named: bool = False


_TIMEOUT = Spec("timeout", TIME, "When it counts as failed", 60)
_INFLIGHT = Spec("inflight", COUNT, "How many at the same time")
_USE = Spec("use", USE, "`final` hides its scores from members, CEO and leaderboard")
_RUBRIC = Spec("rubric", TEXT, "What it judges by; default: from 0, worthless, to 1, perfect", "")
_AGAINST = Spec(
    "against",
    Words(("none", "baseline")),
    "`baseline`: it says which is better, the attempt or the task's baseline, in both orders",
    "none",
)
_FINALISTS = Spec("finalists", COUNT, "Its scores are random: so many of the best are scored again")
_BY = Spec("by", VERIFIER, "What scores; default: the task's verifier")
_UNTIL = Spec("until", CONDITION, "When to end before the bound")
_CEO = either(Words(("none", "fixed", "adaptive")), ROLE)

CEO_SETS = Words(("size", "direction", "effort", "assignment", "stop"))

_TEAM = (
    Spec("n", COUNT, "Agents at most; default: as many as `members` are"),
    Spec("members", ListOf(ROLE, counted=True), "The mix; default: n of `agent`"),
    Spec("ceo", _CEO, "`fixed` decides once, `adaptive` and a role before every round", "none"),
    Spec("ceo_model", MODEL, "Default: the team's"),
    Spec("ceo_sets", ListOf(CEO_SETS), "What the CEO may change; default: all"),
    Spec("model", MODEL, "For members that name none; default: the run's"),
    Spec("recruit", ROLE, "Writes the members' personas"),
    Spec("style", STYLE, "`discuss` in rounds of messages, `work` with tools", "discuss"),
    Spec(
        "order",
        Words(("together", "in_turn", "solver_first", "solver_last", "relay", "ceo")),
        "Who speaks when",
        "together",
    ),
    Spec("sees", SEES, "What a member sees of the others", "board"),
    Spec("rounds", COUNT, "Rounds of discussion, at most", 2),
    Spec("turns", COUNT, "Tool turns of a member, at most", 20),
    Spec("cycles", COUNT, "Outer cycles: recruit, discuss, execute, evaluate", 1),
    Spec("execute", VERIFIER, "Runs at the end of a cycle"),
    Spec("evaluate", ROLE, "Judges at the end of a cycle"),
    Spec("workspace", Words(("private", "shared", "branches")), "Where members work", "private"),
    Spec("claims", either(Words(("none",)), Setting("lease")), "How work is claimed", "none"),
    Spec("until", CONDITION, "When to end before the bound: `consensus`, `score >= 1`, …"),
    Spec("compat", Words(("none", "mas_tts")), "Keep a published system's quirks", "none"),
)
_PARALLEL = (
    Spec("n", COUNT, "Copies; a list after `of` brings its own counts"),
    Spec("stop", either(Words(("none", "first_pass")), Setting("pass")), "When to end", "none"),
    Spec("need", COUNT, "How many must give an attempt", 1),
    Spec("inflight", COUNT, "Branches at the same time; default: all"),
    Spec("split", SPLIT, "How branches share a budget", "pooled"),
    Spec("migrate", either(Words(("none",)), Setting("every")), "Exchange between teams", "none"),
)

FLOW_FORMS = (
    Form("team", FLOW, "Agents that collaborate", _TEAM),
    Form("parallel", FLOW, "Independent copies, or a mix", _PARALLEL, of="flow or list"),
    Form(
        "fallback",
        FLOW,
        "The next one if the last failed or was not accepted",
        (Spec("accept", CONDITION, "Default: passed, where there is a pass rule"),),
        of="list",
    ),
    Form(
        "route",
        FLOW,
        "A role picks one of the cases",
        (Spec("by", ROLE, "Answers one of the keys", required=True),),
        of="record",
    ),
    Form(
        "for_each",
        FLOW,
        "A role's list of parts, the flow on each",
        (
            Spec("by", ROLE, "Answers a list of parts", required=True),
            Spec("max", COUNT, "Parts at most", required=True),
        ),
        of="flow",
    ),
    Form(
        "repeat",
        FLOW,
        "Again and again, a bounded number of times",
        (Spec("max", COUNT, "Rounds at most"), _UNTIL),
        of="flow",
    ),
    Form("same", FLOW, "What comes in; for mixes that keep their parents"),
    Form("best", FLOW, "The attempt with the best score", (_BY,)),
    Form(
        "top",
        FLOW,
        "The k attempts with the best scores",
        (Spec("k", COUNT, "How many", required=True), _BY),
    ),
    Form(
        "vote",
        FLOW,
        "The answer most attempts agree on. Of a text counts what it comes to: the number or the letter that the"
        " task's `number(…)` or `choice(…)` reads in it, else its last line; of a structured answer its field"
        " `answer`",
        (
            Spec(
                "by", VERIFIER, "A vote counts as much as this scores it; default: all count alike"
            ),
        ),
    ),
    Form(
        "sample",
        FLOW,
        "k attempts by chance, without replacement",
        (Spec("k", COUNT, "How many", required=True),),
    ),
    Form("score", FLOW, "The same attempts, scored", (_BY,)),
)

# Every form that gives a flow takes these too.
ACCOUNT = (
    Spec("budget", BUDGET, "Upper bounds of this part of the run"),
    Spec("on_exhausted", ON_EXHAUSTED, "What happens when its budget ends; default: as above"),
)

_EXPECTED = Spec("expected", either(TEXT, FLOAT, ListOf(TEXT)), "What is right", required=True)

_VERIFIERS = (
    Form(
        "python",
        VERIFIER,
        "A function `verify(attempt, task)` of yours",
        (
            Spec("ref", TEXT, '"package.module:name"', required=True),
            _TIMEOUT,
            _INFLIGHT,
            _USE,
            _FINALISTS,
            Spec("once", BOOL, "As a tool: what may have been called is not called again", False),
        ),
    ),
    Form("exact", VERIFIER, "The answer, spaces aside, is one of these", (_EXPECTED, _USE)),
    Form(
        "number",
        VERIFIER,
        "The last number of the answer is this one",
        (
            Spec("expected", either(FLOAT, TEXT), "What is right", required=True),
            Spec("tolerance", Number(False, 0), "How far off it may be", 0),
            _USE,
        ),
    ),
    Form("choice", VERIFIER, "The chosen letter or option is this one", (_EXPECTED, _USE)),
    Form(
        "contains",
        VERIFIER,
        "The share of these texts that the answer contains; all is a pass",
        (_USE,),
        rest=either(TEXT, ListOf(TEXT)),
    ),
    Form(
        "command",
        VERIFIER,
        "The verdict of a program, started in the sandbox",
        (
            Spec("files", ListOf(TEXT), "Paths of its own files, which lie in its start folder"),
            _TIMEOUT,
            _INFLIGHT,
            _USE,
            _FINALISTS,
        ),
        rest=either(TEXT, ListOf(TEXT)),
    ),
    Form(
        "http",
        VERIFIER,
        "The verdict of a service on another machine",
        (
            Spec("url", TEXT, "Where it is", required=True),
            _TIMEOUT,
            _INFLIGHT,
            _USE,
            _FINALISTS,
            Spec("key", ENV, 'env("NAME"), the token it wants; default: none is sent'),
        ),
    ),
    Form(
        "judge",
        VERIFIER,
        "A role's score: it is asked by a model, which is charged to who asks",
        (Spec("by", ROLE, "The judge", required=True), _RUBRIC, _AGAINST, _USE),
    ),
    Form(
        "panel",
        VERIFIER,
        "The mean of several judges",
        (
            Spec("by", ListOf(ROLE, counted=True), "The judges", required=True),
            _RUBRIC,
            _AGAINST,
            _USE,
        ),
    ),
    Form(
        "all_of", VERIFIER, "The worst of several scores; passed: all pass", (_USE,), rest=VERIFIER
    ),
    Form(
        "any_of", VERIFIER, "The best of several scores; passed: one passes", (_USE,), rest=VERIFIER
    ),
    Form(
        "weighted",
        VERIFIER,
        "The weighted mean of several scores",
        (
            Spec("verifiers", ListOf(VERIFIER), "What scores", required=True),
            Spec("weights", ListOf(FLOAT), "One for each verifier", required=True),
            _USE,
        ),
    ),
)
_OTHERS = (
    Form(
        "openai",
        ENDPOINT,
        "A server that speaks the chat completions protocol",
        (
            Spec("name", TEXT, "The model's name there", required=True),
            Spec("base_url", either(TEXT, ENV), "Its address; default: the vendor's"),
            Spec("key", ENV, 'env("NAME"); default: OPENAI_API_KEY, at the vendor\'s host only'),
        ),
    ),
    Form(
        "local",
        ENDPOINT,
        "A model file that Podium serves itself",
        (Spec("name", TEXT, "The file; default: the model that comes with Podium", ""),),
    ),
    Form(
        "mcp",
        TOOL,
        "In `tools`: the tools of an MCP server, started by a command or reached at an address",
        (
            Spec("url", TEXT, "Its address, in place of a command"),
            _TIMEOUT,
            _INFLIGHT,
            Spec("once", BOOL, "What may have been called is not called again", False),
        ),
        rest=TEXT,
    ),
    Form(
        "env", ENV, "A variable, read when used", (Spec("name", TEXT, "Its name", required=True),)
    ),
    Form("file", TEXT, "A file's text", (Spec("path", TEXT, "Where it is", required=True),)),
    Form(
        "family",
        TASK,
        "A problem that comes with its verifier",
        (Spec("name", TEXT, "Which family", required=True),),
        rest=either(TEXT, FLOAT, Words(("true", "false"))),
        rest_named=True,
    ),
    Form(
        "rows",
        TASK,
        "A task for each line of a JSON Lines file",
        (Spec("path", TEXT, "Where it is", required=True),),
    ),
    Form("last", Setting("last"), "The last k messages", (Spec("k", COUNT, "k", required=True),)),
    Form("every", Setting("every"), "Every k rounds", (Spec("k", COUNT, "k", required=True),)),
    Form(
        "submit",
        Setting("submit"),
        "In `tools`: the answer may be submitted so often",
        (Spec("k", COUNT, "How often", required=True),),
    ),
    Form("pass", Setting("pass"), "k passes", (Spec("k", COUNT, "k", required=True),)),
    Form(
        "lease",
        Setting("lease"),
        "A claim that expires",
        (Spec("time", TIME, "How long it lasts", required=True),),
    ),
    Form(
        "plateau",
        CONDITION,
        "The best score has not risen for k rounds",
        (Spec("rounds", COUNT, "k", required=True),),
    ),
)

FORMS: Mapping[str, Form] = {form.name: form for form in (*FLOW_FORMS, *_VERIFIERS, *_OTHERS)}

# Verifiers whose scores are final by default.
FINAL = frozenset({"exact", "number", "choice"})


def all_words() -> dict[str, str]:
    """Every policy word, with where it belongs: `adaptive` -> `ceo`."""
    from_params = (spec for form in FORMS.values() for spec in (*form.params, *ACCOUNT))
    found: dict[str, str] = {}
    for spec in from_params:
        for word in _words_of(spec.type):
            found.setdefault(word, spec.name)
    return found


def _words_of(kind: Type) -> tuple[str, ...]:
    match kind:
        case Words(words=words, quoted=False):
            return words
        case ListOf(item=item):
            return _words_of(item)
        case _:
            return tuple(
                word for option in getattr(kind, "options", ()) for word in _words_of(option)
            )
