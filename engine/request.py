"""What a run was asked to be: everything needed to compile it again, as JSON in the store.

A resumed run compiles the texts it began with, so an edit of the file or an upgrade of the standard
library never blocks it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from podium.dsl import prices
from podium.dsl.compile import Choice, compile_experiment, compile_run
from podium.dsl.library import Library
from podium.dsl.model import Endpoint, EnvRef, Model, Price
from podium.dsl.problem import Problem, ProgramError
from podium.dsl.program import Budget, Clock, Program
from podium.dsl.source import Source

from .clock import clock_of
from .plan import plan
from .plan.amounts import Amounts
from .rent import rate
from .sizes import sized

NO_BUDGET = "E310"
# A bound that never binds: what a run without a budget is planned with.
BOUNDLESS = Budget(tokens=10**15)
Parameters = Mapping[str, tuple[str | int | float | bool, str]]


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """`--model URL` (name None: the default model) or `--model NAME=URL`.

    served: the model's name at the server, "" for its only one. price None is unknown, except on
    loopback, where it is free. key: the variable that holds the key.
    """

    url: str
    name: str | None = None
    served: str = ""
    price: Price | None = None
    key: str | None = None

    def model(self) -> Model:
        key = None if self.key is None else EnvRef(self.key)
        endpoint = Endpoint("openai", self.served, self.url, key)
        return Model(self.name or "default", (endpoint,), self.price)


@dataclass(frozen=True, slots=True)
class Request:
    """source: the text the run starts from. budget, by: caps from outside, which can only tighten.

    texts: what the first life read, by name; empty before it. arm: of an experiment of the file, (its name, the
    arm), in place of a run. row: the task that is run alone, from 0, of several.
    """

    source: Source
    run: str | None = None
    params: Parameters = field(default_factory=dict[str, tuple[str | int | float | bool, str]])
    expression: str | None = None
    task: str | None = None
    models: tuple[ModelChoice, ...] = ()
    budget: Budget = Budget()
    seed: int | None = None
    texts: tuple[Source, ...] = ()
    by: Clock | None = None
    arm: tuple[str, str] | None = None
    row: int | None = None
    size: int | None = None
    versus: str | None = None


def compiled(
    request: Request,
    library: Library,
    allow: Callable[[str, str], bool] | None = None,
    *,
    default_url: str | None = None,
) -> tuple[Program, tuple[Problem, ...]]:
    """The request as a Program under its caps, with the warnings. Raises ProgramError.

    default_url: where endpoints without an address are, from the environment; None: at the vendor's.
    """
    try:
        program, warnings = _compiled(request, library, allow, default_url)
    except ProgramError as error:
        problems = [
            _priced(problem, request, library, allow, default_url) for problem in error.problems
        ]
        raise ProgramError(tuple(problems)) from None
    seed = program.seed if request.seed is None else request.seed
    tasks = program.tasks if request.row is None else program.tasks[request.row :][:1]
    flow = (
        program.flow if request.size is None else sized(program.flow, request.size, request.versus)
    )
    return replace(program, seed=seed, tasks=tasks, flow=flow), warnings


def _compiled(
    request: Request,
    library: Library,
    allow: Callable[[str, str], bool] | None,
    default_url: str | None,
) -> tuple[Program, tuple[Problem, ...]]:
    named = {choice.name: choice.model() for choice in request.models if choice.name is not None}
    default = [choice.model() for choice in request.models if choice.name is None]
    choice = Choice(
        run=request.run,
        params=request.params,
        expression=request.expression,
        task=request.task,
        models=named,
        default_model=default[-1] if default else None,
        budget=request.budget,
        by=request.by,
        beside=request.versus,
        default_url=default_url,
        allow=allow,
    )
    if request.arm is None:
        return compile_run(request.source, library, choice)
    name, arm = request.arm
    found, warnings = compile_experiment(request.source, library, replace(choice, run=name), (arm,))
    return found.programs[arm], warnings


def _priced(
    problem: Problem,
    request: Request,
    library: Library,
    allow: Callable[[str, str], bool] | None,
    default_url: str | None,
) -> Problem:
    """The problem; where a budget is missing, with what the plan says the run may cost."""
    if problem.code != NO_BUDGET:
        return problem
    try:
        program, _ = _compiled(replace(request, budget=BOUNDLESS), library, allow, default_url)
    except ProgramError:
        return problem  # there are other mistakes, which are reported beside it
    if rate(program.models):  # what a rent comes to hangs on a time, which is what lacks
        return problem
    written = request.expression is None
    return replace(problem, help=suggestion(plan(program).total, written=written))


def suggestion(total: Amounts, *, written: bool = True) -> str:
    """The budget to give a run of which this is the plan, as a clause of help.

    written: whether the run stands in a file, and not in `-e`, where only an option can bound it.
    """
    if total.usd is None:
        most, expected = f"{total.tokens.most} tokens", f"{total.tokens.expected} tokens"
    else:
        most, expected = _dollars(total.usd.most), _dollars(total.usd.expected)
    option = "max-tokens" if total.usd is None else "max-usd"
    bound = f"--{option} {most.removeprefix('$').removesuffix(' tokens')}"
    give = f"add `budget = [{most}]` to the run" if written else f"give `{bound}`"
    return f"{give}: its plan is {expected} expected, {most} at most"


def _dollars(micro: int) -> str:
    """Rounded up to the cent: what is suggested must be enough."""
    return f"${-(-micro // 10_000) / 100:.2f}"


def to_json(request: Request) -> dict[str, Any]:
    """The request as JSON values; keys and other secrets are never part of it."""
    return {
        "source": _text(request.source),
        "run": request.run,
        "params": {name: list(value) for name, value in request.params.items()},
        "expression": request.expression,
        "task": request.task,
        "models": [
            {
                "url": choice.url,
                "name": choice.name,
                "served": choice.served,
                "price": None if choice.price is None else prices.to_json(choice.price),
                "key": choice.key,
            }
            for choice in request.models
        ],
        "budget": {
            "usd": request.budget.usd,
            "tokens": request.budget.tokens,
            "calls": request.budget.calls,
            "seconds": request.budget.seconds,
        },
        "seed": request.seed,
        "by": None if request.by is None else str(request.by),
        "texts": [_text(source) for source in request.texts],
        "arm": None if request.arm is None else list(request.arm),
        "row": request.row,
        "size": request.size,
        "versus": request.versus,
    }


def from_json(values: Mapping[str, Any]) -> Request:
    """The request that `to_json` wrote. Raises KeyError or TypeError on anything else."""
    return Request(
        source=Source(**values["source"]),
        run=values["run"],
        params={name: (value[0], value[1]) for name, value in values["params"].items()},
        expression=values["expression"],
        task=values["task"],
        models=tuple(
            ModelChoice(**(model | {"price": model["price"] and prices.from_json(model["price"])}))
            for model in values["models"]
        ),
        budget=Budget(**values["budget"]),
        seed=values["seed"],
        texts=tuple(Source(**text) for text in values["texts"]),
        by=clock_of(values["by"]) if values.get("by") else None,
        arm=(values["arm"][0], values["arm"][1]) if values.get("arm") else None,
        row=values.get("row"),
        size=values.get("size"),
        versus=values.get("versus"),
    )


def _text(source: Source) -> dict[str, str]:
    return {"name": source.name, "text": source.text}
