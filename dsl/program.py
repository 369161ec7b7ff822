"""`Program`: one run, checked, with every name, parameter and flow call worked out.

The engine walks this tree and nothing else. Copies are counted, not written out: `parallel(10) of f`
is one `Parallel` with one `Branch` of ten. A node's `label` is its segment of the structural address:
the name of the declared flow it came from, else the kernel form (`team`, `parallel`, `best`).

Addresses join segments with `/`, from the run's name down. Siblings carry their number, from 1:

    main/parallel/3.squad/r1.m2      branch 3 of parallel, the squad's round 1, seat 2
    main/1.parallel/…  main/2.best   the steps of `parallel(…) of … -> best`

Why one module: it is the one contract between language and engine; its records have no behaviour,
refer to one another and are read together. What models are is in `model`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Literal

from .model import Model, Sampling
from .quantity import Scalar
from .source import Place, Source

OnExhausted = Literal["best", "vote", "shrink", "pause", "fail"]
ToolKind = Literal[
    "submit",
    "notes",
    "function",
    "mcp",
    "shell",
    "read",
    "write",
    "edit",
    "python",
    "board",
    "leaderboard",
    "claim",
    "pull",
    "attempts",
]
ContextPolicy = Literal["keep", "drop_oldest", "summarise", "restart"]
Workspace = Literal["private", "shared", "branches"]

# --- quantities ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Budget:
    """Upper bounds, each None where there is none: micro-dollars, tokens, calls, live seconds.

    share is a fraction (0 to 1] of the enclosing limits, fixed when the account opens.
    """

    usd: int | None = None
    tokens: int | None = None
    calls: int | None = None
    seconds: float | None = None
    share: float | None = None


@dataclass(frozen=True, slots=True)
class Clock:
    """A moment by the clock and the time zone of the machine that starts the run.

    day None: the next such time of day after the start.
    """

    hour: int
    minute: int
    day: date | None = None

    def __str__(self) -> str:
        """As one writes it."""
        time = f"{self.hour:02}:{self.minute:02}"
        return time if self.day is None else f"{self.day.isoformat()} {time}"


# --- prompts -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Text:
    """Constant text: parameters are already filled in."""

    text: str


@dataclass(frozen=True, slots=True)
class FilterCall:
    """`clip(tokens)`, `bullets`, `json`: name and constant arguments (token counts as int)."""

    name: str
    args: tuple[Scalar, ...] = ()


@dataclass(frozen=True, slots=True)
class Slot:
    """A value known only at run time. path[0] is task, self, team, round, attempt or attempts.

    Lines after the first are indented by column, so that quoted code keeps its shape.
    """

    path: tuple[str, ...]
    filters: tuple[FilterCall, ...] = ()
    column: int = 0


@dataclass(frozen=True, slots=True)
class Template:
    """A prompt as fragments, in order: what is constant stays visible to plan, cache and provenance."""

    parts: tuple[Text | Slot, ...]


# --- nouns ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OutputField:
    """A field of `output`. type: text, int, float, bool, or a tuple of the allowed literals."""

    name: str
    type: Literal["text", "int", "float", "bool"] | tuple[str, ...]
    is_list: bool = False
    required: bool = True
    default: Scalar = None


@dataclass(frozen=True, slots=True)
class Tool:
    """Something that an agent may call. kind function: one of the user's, args `ref` ("pkg.mod:attr").

    args: of submit `times`; of an MCP server `command` or `url`.
    once: a call of which it is not known whether it was made is not made again.
    """

    name: str
    kind: ToolKind
    args: Mapping[str, "Scalar | tuple[Scalar, ...]"] = field(
        default_factory=dict[str, "Scalar | tuple[Scalar, ...]"]
    )
    timeout_s: float = 60.0
    inflight: int | None = None
    once: bool = False


@dataclass(frozen=True, slots=True)
class Role:
    """model None: the team's, else the run's (already chosen in `Program.default_model`).

    takes is what its prompt mentions: {"task"} Task -> Attempt, {"attempt"} Attempt -> Attempt,
    {"attempts"} Many -> Attempt, both Many -> Many.
    turns: how many requests an agent with tools makes at most. context: what it does once its history does
    not fit into the window. sees, last: as of Team, where they are its own.
    """

    name: str
    prompt: Template
    system: Template | None = None
    model: str | None = None
    output: tuple[OutputField, ...] | None = None
    max_output: int | None = None
    turns: int = 20
    sees: str | None = None
    sampling: Sampling = Sampling()
    budget: Budget | None = None
    takes: frozenset[str] = frozenset({"task"})
    tools: tuple[Tool, ...] = ()
    context: ContextPolicy = "keep"
    last: int | None = None


@dataclass(frozen=True, slots=True)
class Verifier:
    """kind: exact, number, choice, contains, python (and, later, the rest of language.md).

    args are the constants it was given, by name: `expected` (text, number or list), `tolerance`,
    `ref` ("pkg.mod:attr"); of judges `by`, their roles, and `model`, what these choose ("": the run's).
    use: "final" hides its scores from members, CEO and leaderboard.
    finalists: where its scores are random, how many of the best `best` has scored once more.
    parts: of all_of, any_of and weighted what they are made of.
    judges: of judge and panel the roles that are asked, with all that they are asked.
    """

    name: str
    kind: str
    args: Mapping[str, "Scalar | tuple[Scalar, ...]"]
    timeout_s: float = 60.0
    inflight: int | None = None
    use: Literal["always", "final"] = "always"
    finalists: int = 0
    parts: tuple["Verifier", ...] = ()
    judges: tuple[Role, ...] = ()

    def leaves(self) -> "tuple[Verifier, ...]":
        """What judges in it: itself, or what its parts are made of."""
        if not self.parts:
            return (self,)
        return tuple(leaf for part in self.parts for leaf in part.leaves())


@dataclass(frozen=True, slots=True)
class Task:
    """One problem. pass_rule None: only a bool or a Verdict can say `passed`.

    baseline: an answer to beat, scored before anything is paid and never returned; only where there is a verifier.
    files: what the folders of agents begin with: names of texts of `Program.sources`, as `Library.tree` has them.
    """

    name: str
    statement: str
    verify: Verifier | None = None
    pass_rule: "Condition | None" = None
    better: Literal["higher", "lower"] = "higher"
    baseline: str | None = None
    files: tuple[str, ...] = ()


# --- conditions (until, accept, pass) ------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Compare:
    """name: score, round, spent_usd (micro-dollars), spent_tokens, spent_calls.

    In a test also held_usd, held_tokens, held_calls, and elapsed (live seconds).
    """

    name: str
    operator: Literal["==", "!=", "<=", ">=", "<", ">"]
    value: float


@dataclass(frozen=True, slots=True)
class Flag:
    """passed; in a team also consensus and accepted; in a test how the run ended."""

    name: Literal[
        "passed",
        "consensus",
        "accepted",
        "finished",
        "exhausted",
        "stopped",
        "failed",
        "cancelled",
        "paused",
    ]


@dataclass(frozen=True, slots=True)
class Plateau:
    """The best score has not risen for this many rounds."""

    rounds: int


@dataclass(frozen=True, slots=True)
class AllOf:
    parts: tuple["Condition", ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    parts: tuple["Condition", ...]


@dataclass(frozen=True, slots=True)
class Not:
    part: "Condition"


Condition = Compare | Flag | Plateau | AllOf | AnyOf | Not

# --- flows ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Agent:
    """One agent of a role. Its type follows from role.takes."""

    label: str
    place: Place
    role: Role


@dataclass(frozen=True, slots=True)
class Member:
    """count seats of one role in a team."""

    count: int
    role: Role


@dataclass(frozen=True, slots=True)
class Ceo:
    """mode fixed: one call before round 1; adaptive: before every round."""

    mode: Literal["fixed", "adaptive"]
    role: Role
    sets: frozenset[str] = frozenset({"size", "direction", "effort", "assignment", "stop"})


@dataclass(frozen=True, slots=True)
class Team:
    """Collaborating agents; A -> Attempt. size is the number of seats; the kinds in members add up to it.

    rounds: of each cycle. execute and evaluate: at the end of each. compat: the published system whose protocol
    it keeps, "" for ours. lease: how long a claim lasts, in live seconds, 0 where there are none.
    styled: its style is its own, whatever its task says. workspace: whose folders its members work in.
    """

    label: str
    place: Place
    size: int
    members: tuple[Member, ...]
    model: str | None = None
    ceo: Ceo | None = None
    recruit: Role | None = None
    style: Literal["discuss", "work"] = "discuss"
    order: Literal["together", "in_turn", "solver_first", "solver_last", "relay", "ceo"] = (
        "together"
    )
    sees: str = "board"
    last: int | None = None
    rounds: int = 2
    until: Condition | None = None
    cycles: int = 1
    execute: Verifier | None = None
    evaluate: Role | None = None
    compat: Literal["", "mas_tts"] = ""
    lease: float = 0.0
    styled: bool = True
    workspace: Workspace = "private"

    @property
    def closes(self) -> bool:
        """Whether a cycle's end says if its solution is accepted."""
        return self.execute is not None or self.evaluate is not None


@dataclass(frozen=True, slots=True)
class Branch:
    count: int
    flow: "Flow"


@dataclass(frozen=True, slots=True)
class Parallel:
    """A -> Many. passes: stop once so many branches passed (first_pass is 1); None: stop = none.

    migrate: every so many rounds a team reads the best of its neighbour; all branches are then teams.
    """

    label: str
    place: Place
    branches: tuple[Branch, ...]
    passes: int | None = None
    need: int = 1
    inflight: int | None = None
    split: Literal["pooled", "even"] = "pooled"
    migrate: int | None = None


@dataclass(frozen=True, slots=True)
class Then:
    label: str
    place: Place
    steps: tuple["Flow", ...]


@dataclass(frozen=True, slots=True)
class Lift:
    """An `Attempt -> X` step over `Many`: once for each attempt, results flattened, order kept."""

    label: str
    place: Place
    flow: "Flow"


@dataclass(frozen=True, slots=True)
class Fallback:
    """The next option if the last failed or was not accepted. accept None: passed, where there is a pass rule."""

    label: str
    place: Place
    options: tuple["Flow", ...]
    accept: Condition | None = None


@dataclass(frozen=True, slots=True)
class Repeat:
    """A -> A, at most max rounds. until is tested on the input and after each round."""

    label: str
    place: Place
    max: int
    flow: "Flow"
    until: Condition | None = None


@dataclass(frozen=True, slots=True)
class Same:
    label: str
    place: Place


@dataclass(frozen=True, slots=True)
class Reduce:
    """On Many. best and vote give an Attempt; top(k), sample(k), score give Many.

    by None: the task's verifier. score also takes a single Attempt (a Lift or a lone step).
    """

    label: str
    place: Place
    how: Literal["best", "top", "vote", "sample", "score"]
    k: int = 1
    by: Verifier | None = None


@dataclass(frozen=True, slots=True)
class Route:
    """by answers one of the keys; every key is covered."""

    label: str
    place: Place
    by: Role
    cases: tuple[tuple[str, "Flow"], ...]


@dataclass(frozen=True, slots=True)
class ForEach:
    """by gives a list of at most max parts; flow runs on each, as a task of its own. Task -> Many."""

    label: str
    place: Place
    by: Role
    max: int
    flow: "Flow"


@dataclass(frozen=True, slots=True)
class Limited:
    """flow under an account of its own. Adds no segment to the address: label is its flow's."""

    label: str
    place: Place
    flow: "Flow"
    budget: Budget
    on_exhausted: OnExhausted | None = None


Flow = (
    Agent
    | Team
    | Parallel
    | Then
    | Lift
    | Fallback
    | Repeat
    | Same
    | Reduce
    | Route
    | ForEach
    | Limited
)


def subflows(flow: Flow) -> tuple[Flow, ...]:
    """The flows directly inside flow, once each whatever their count."""
    match flow:
        case Parallel(branches=branches):
            return tuple(branch.flow for branch in branches)
        case Then(steps=steps):
            return steps
        case Fallback(options=options):
            return options
        case Route(cases=cases):
            return tuple(inner for _, inner in cases)
        case Lift(flow=inner) | Repeat(flow=inner) | ForEach(flow=inner) | Limited(flow=inner):
            return (inner,)
        case Agent() | Team() | Same() | Reduce():
            return ()


def verifier_of(flow: Flow) -> Verifier | None:
    """The verifier that flow itself names."""
    match flow:
        case Reduce(by=by):
            return by
        case Team(execute=execute):
            return execute
        case _:
            return None


# --- the whole -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Program:
    """One run. tasks holds one task, or one for each row of `rows(…)`; empty where the flow needs none.

    params are the values in force and where each came from, for showing. sources is every text the
    program was made from, so that a store can keep it whole. by: moments, the first of which ends the run.
    """

    name: str
    flow: Flow
    tasks: tuple[Task, ...]
    models: Mapping[str, Model]
    default_model: str
    budget: Budget = Budget()
    by: tuple[Clock, ...] = ()
    split: Literal["pooled", "even"] = "pooled"
    on_exhausted: OnExhausted = "best"
    seed: int = 0
    max_agents: int = 10_000
    out: str | None = None
    params: tuple[tuple[str, Scalar, str], ...] = ()
    sources: tuple[Source, ...] = ()
