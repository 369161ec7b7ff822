"""Small programs made by hand: what a test of a topology needs, without a text."""

from dataclasses import replace

from podium.dsl.model import Endpoint, Model, Price
from podium.dsl.program import (
    Agent,
    Branch,
    Ceo,
    Flow,
    Member,
    Parallel,
    Program,
    Reduce,
    Role,
    Slot,
    Task,
    Team,
    Template,
    Text,
    Then,
    Verifier,
)
from podium.dsl.source import Place, Source, Span

HERE = Place(Source("<program>", ""), Span(0, 0))
TASK = Task("sum", "What is 2 + 2?")


def template(*parts: str) -> Template:
    """A prompt of texts and slots; a part such as `{attempt.answer}` is a slot."""
    return Template(tuple(_part(part) for part in parts))


def _part(part: str) -> Text | Slot:
    if part.startswith("{") and part.endswith("}"):
        return Slot(tuple(part[1:-1].split(".")))
    return Text(part)


def role(name: str = "agent", *parts: str) -> Role:
    """A role; its prompt is the task's statement where none is given. takes follows from the slots."""
    prompt = template(*(parts or ("{task.statement}",)))
    heads = {part.path[0] for part in prompt.parts if isinstance(part, Slot)}
    takes = frozenset(heads & {"task", "attempt", "attempts"})
    return Role(name, prompt, takes=takes or frozenset({"task"}))


def agent(one: Role | None = None) -> Agent:
    one = one or role()
    return Agent(one.name, HERE, one)


def team(*members: tuple[int, Role] | int, ceo: Ceo | None = None, rounds: int = 2) -> Team:
    """`team(3)` has three agents; `team((1, solver), (2, critic))` has kinds."""
    kinds = tuple(Member(one, role()) if isinstance(one, int) else Member(*one) for one in members)
    return Team("team", HERE, sum(k.count for k in kinds), kinds, ceo=ceo, rounds=rounds)


def parallel(count: int, flow: Flow, *, passes: int | None = None, need: int = 1) -> Parallel:
    return Parallel("parallel", HERE, (Branch(count, flow),), passes, need)


def then(*steps: Flow) -> Then:
    return Then("then", HERE, steps)


def reduce_by(how: str, k: int = 1, by: Verifier | None = None) -> Reduce:
    """`best`, `top`, `vote`, `sample` or `score`."""
    whole = Reduce("best", HERE, "best", k, by)
    return replace(whole, label=how, how=how)  # type: ignore[arg-type]  # a form's name


def exact(expected: str, *, use: str = "always") -> Verifier:
    whole = Verifier("exact", "exact", {"expected": expected})
    return replace(whole, use=use)  # type: ignore[arg-type]  # always or final


def program(flow: Flow, task: Task | None = TASK, *, price: Price | None = None) -> Program:
    """One run, `main`, of flow on one model, `m`."""
    model = Model("m", (Endpoint("openai", "m"),), price)
    tasks = () if task is None else (task,)
    return Program("main", flow, tasks, {"m": model}, "m")
