"""The pipeline from text to `Program`, and nothing else."""

from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass, field, replace

from . import draft as drafts
from . import prices, syntax, trials
from .accept import finished, models
from .check import in_order, problems_of
from .draft import Draft
from .evaluate import Evaluator
from .helpful import helpful, slips
from .library import Library, LibraryError
from .model import Model
from .names import did_you_mean, either
from .params import in_force, set_params
from .parse import parse_expression
from .permission import REFUSALS, permits, require
from .problem import Problem, ProgramError, has_errors, whole
from .problem_sets import SOME_TASK, is_file, of_family, of_lines
from .program import Budget, Clock, Program
from .scope import Files
from .source import EXPRESSION, Place, Source
from .statement import needs_task
from .tried import Experiment, TestCase
from .types import FLOW, TASK
from .values import Module, Noun, Scope, Tasks


@dataclass(frozen=True, slots=True)
class Choice:
    """What a caller picks of a file: run None takes `main`, else the only run.

    params: values as text (`--set`) or already typed, by name, with their origin ("--set", "PODIUM_PARAM_x" …).
    expression and task make a run of their own (`-e EXPR --task NAME`): the file may then be empty.
    task names a task of the file, else a family (`words`, `words:7`) or a file of problems (`set.jsonl`,
    `math:set.jsonl`). models replace those of the file by name;
    default_model replaces the default one (`--model URL`). budget and by can only tighten the run's.
    beside: the name of another model, of the file or of models, that the program has too.
    default_url is where `openai(…)` without an address goes (`OPENAI_BASE_URL`); None: to the vendor.
    allow says whether a run may use `kind`, `value` (env, file, python, host). None refuses nothing: it is
    for texts that were allowed before, such as those of a stored run.
    """

    run: str | None = None
    params: Mapping[str, tuple[str | int | float | bool, str]] = field(
        default_factory=dict[str, tuple[str | int | float | bool, str]]
    )
    expression: str | None = None
    task: str | None = None
    models: Mapping[str, Model] = field(default_factory=dict[str, Model])
    default_model: Model | None = None
    budget: Budget = Budget()
    by: Clock | None = None
    beside: str | None = None
    default_url: str | None = None
    allow: Callable[[str, str], bool] | None = None


def check(source: Source, library: Library) -> tuple[Problem, ...]:
    """Every mistake of source and of what it imports, in order; warnings included. Never raises."""
    files = Files(library)
    found = problems_of(files, files.load(source))
    return helpful(source, found, lambda text: _again(text, library))


def _again(source: Source, library: Library) -> tuple[Problem, ...]:
    files = Files(library)
    return problems_of(files, files.load(source))


def compile_run(
    source: Source, library: Library, choice: Choice
) -> tuple[Program, tuple[Problem, ...]]:
    """The chosen run as a Program, with the warnings. Raises ProgramError on any error."""
    files = Files(library)
    main = files.load(source)
    warnings = problems_of(files, main, runs=False)
    if has_errors(warnings):
        raise ProgramError(check(source, library))
    evaluator = _evaluator(files, main, choice)
    draft = _draft(evaluator, main, choice)
    if any(p.severity == "error" and p.code not in REFUSALS for p in evaluator.problems):
        raise ProgramError(slips(in_order(evaluator.problems, main)))
    needs_task(evaluator, draft)
    draft = finished(evaluator, drafts.within(draft, choice.budget, choice.by), final=True)
    used, default = models(evaluator, main, draft, final=True)
    if choice.beside is not None:
        used[choice.beside] = _beside(evaluator, main, choice.beside, choice.models)
    if choice.allow is not None:
        require(evaluator, choice.allow, draft, used, default_url=choice.default_url)
    notes = in_order([*warnings, *_accepted(evaluator.problems, main)], main)
    return _program(evaluator, main, choice, draft, used=used, default=default), notes


def _beside(evaluator: Evaluator, main: Module, name: str, given: Mapping[str, Model]) -> Model:
    """The model of that name. Raises ProgramError where the file has none, and none was given."""
    nouns = {noun.name: noun for noun in _nouns(evaluator, main, "model")}
    found = evaluator.built(nouns[name]) if name in nouns else given.get(name)
    if isinstance(found, Model):
        return found
    help_ = f"choose {_names(list(nouns))}" if nouns else "declare it: `model NAME { … }`"
    problem = Problem("E110", f"there is no model `{name}`", whole(main.source), help=help_)
    raise ProgramError((problem,))


@dataclass(frozen=True, slots=True)
class Trials:
    """What a file declares to be tried: its tests and its experiments, in order."""

    tests: tuple[TestCase, ...]
    experiments: tuple[Experiment, ...]


def compile_trials(source: Source, library: Library, choice: Choice) -> Trials:
    """The file's tests and experiments; of choice only what sets parameters and permissions counts.

    Raises ProgramError on any error.
    """
    files = Files(library)
    main = files.load(source)
    _accepted(list(problems_of(files, main)), main)
    evaluator = _evaluator(files, main, choice)
    nouns = list(_nouns(evaluator, main, "test", "experiment"))
    tests = tuple(trials.test_case(evaluator, noun) for noun in nouns if noun.kind == "test")
    others = tuple(trials.experiment(evaluator, n) for n in nouns if n.kind == "experiment")
    _accepted(evaluator.problems, main)
    return Trials(tests, others)


@dataclass(frozen=True, slots=True)
class Staged:
    """A test, and the program that a run of its flow would be: without a budget."""

    test: TestCase
    program: Program


def compile_tests(source: Source, library: Library, choice: Choice) -> tuple[Staged, ...]:
    """The file's tests in order; of choice what sets parameters, models and permissions counts.

    Raises ProgramError on any error.
    """
    files = Files(library)
    main = files.load(source)
    _accepted(list(problems_of(files, main, runs=False)), main)
    evaluator = _evaluator(files, main, choice)
    made = [_staged(evaluator, main, choice, n) for n in _nouns(evaluator, main, "test")]
    _accepted(evaluator.problems, main)
    return tuple(made)


def _staged(evaluator: Evaluator, main: Module, choice: Choice, noun: Noun) -> Staged:
    test = trials.test_case(evaluator, noun)
    _accepted(evaluator.problems, main)
    draft = trials.draft_of(evaluator, noun, test)
    needs_task(evaluator, draft)
    used, default = models(evaluator, main, draft, final=True)
    free = replace(draft, budget=Budget())
    return Staged(test, _program(evaluator, main, choice, free, used=used, default=default))


@dataclass(frozen=True, slots=True)
class Arranged:
    """An experiment, and by arm the program of its runs: of all tasks, under the budget that each run has."""

    experiment: Experiment
    programs: Mapping[str, Program]


def compile_experiment(
    source: Source, library: Library, choice: Choice, arms: Container[str] | None = None
) -> tuple[Arranged, tuple[Problem, ...]]:
    """The experiment that choice.run names, else the file's only one, with the warnings.

    arms: those whose programs are made; None makes all. choice.budget bounds each run where `each` is of agents.
    Raises ProgramError on any error.
    """
    files = Files(library)
    main = files.load(source)
    warnings = problems_of(files, main, runs=False)
    if has_errors(warnings):
        raise ProgramError(check(source, library))
    evaluator = _evaluator(files, main, choice)
    noun = _experiment(evaluator, main, choice.run)
    made = trials.experiment(evaluator, noun)
    _accepted(evaluator.problems, main)
    programs = {
        name: _arm(evaluator, main, choice, trials.arm_of(noun, made, (name, flow), noun.place))
        for name, flow in made.arms
        if arms is None or name in arms
    }
    notes = in_order([*warnings, *_accepted(evaluator.problems, main)], main)
    return Arranged(made, programs), notes


def _experiment(evaluator: Evaluator, main: Module, name: str | None) -> Noun:
    nouns = {noun.name: noun for noun in _nouns(evaluator, main, "experiment")}
    if name is None and len(nouns) == 1:
        return next(iter(nouns.values()))
    if name in nouns:
        return nouns[name]
    found = f"there is no experiment `{name}`"
    if name is None:
        found = "the file has several experiments" if nouns else "there is no experiment here"
    help_ = f"choose {_names(list(nouns))}" if nouns else "write `experiment NAME { arms = … }`"
    raise ProgramError((Problem("E110", found, whole(main.source), help=help_),))


def _arm(evaluator: Evaluator, main: Module, choice: Choice, draft: Draft) -> Program:
    if choice.default_model is not None:
        draft = replace(draft, model=prices.listed(evaluator, choice.default_model))
    needs_task(evaluator, draft)
    if draft.budget == Budget():
        draft = drafts.within(draft, choice.budget, choice.by)
    used, default = models(evaluator, main, draft, final=True)
    evaluator.problems[:] = [_of_arm(problem) for problem in evaluator.problems]
    if choice.allow is not None:
        require(evaluator, choice.allow, draft, used, default_url=choice.default_url)
    _accepted(evaluator.problems, main)
    return _program(evaluator, main, choice, draft, used=used, default=default)


def _of_arm(problem: Problem) -> Problem:
    """The problem as an experiment has it, which has no `budget`."""
    if problem.code != "E310":
        return problem
    help_ = "give `each` in dollars or tokens, such as `each = [$5]`, or all runs a bound with `--max-usd`"
    return replace(problem, help=help_)


def _nouns(evaluator: Evaluator, main: Module, *kinds: str) -> Iterator[Noun]:
    for declaration in main.declared.values():
        if declaration.kind in kinds:
            value = evaluator.declared(main, declaration)
            if isinstance(value, Noun):
                yield value


def _evaluator(files: Files, main: Module, choice: Choice) -> Evaluator:
    """An evaluator with the parameters and permissions of choice."""
    evaluator = Evaluator(files, reading=True, main=main, models=choice.models)
    if (allow := choice.allow) is not None:
        evaluator.permits = lambda ask: permits(evaluator, allow, ask)
    set_params(evaluator, main, choice.params)
    _accepted(evaluator.problems, main)
    return evaluator


def _accepted(problems: list[Problem], main: Module) -> tuple[Problem, ...]:
    """The problems where none is an error; raises ProgramError otherwise."""
    found = in_order(problems, main)
    if has_errors(found):
        raise ProgramError(found)
    return found


def _draft(evaluator: Evaluator, main: Module, choice: Choice) -> Draft:
    """The chosen run, with the task and the model that were given in place of its own."""
    if choice.expression is not None:
        draft = _expression(evaluator, main, choice.expression)
    else:
        draft = drafts.of_run(evaluator, _run(evaluator, main, choice.run))
    if choice.task is not None:
        tasks = _task(evaluator, main, choice.task)
        even = "even" if tasks is not None and len(tasks.tasks) > 1 else draft.split
        draft = replace(draft, tasks=tasks, split=even)
    if choice.default_model is not None:
        draft = replace(draft, model=prices.listed(evaluator, choice.default_model))
    return draft


def _expression(evaluator: Evaluator, main: Module, text: str) -> Draft:
    source = Source(EXPRESSION, text)
    expr, problems = parse_expression(source)
    evaluator.problems.extend(problems)
    if expr is None:
        raise ProgramError(in_order(problems, main))
    evaluator.files.sources.append(source)
    place = Place(source, expr.span)
    return drafts.of_flow(evaluator.value(expr, Scope(main, source, {}), FLOW), place)


def _run(evaluator: Evaluator, main: Module, name: str | None) -> Noun:
    runs = [d.name for d in main.declared.values() if d.kind == "run"]
    wanted = name or ("main" if "main" in runs else runs[0] if len(runs) == 1 else None)
    if wanted is None or wanted not in runs:
        raise ProgramError((_no_run(main, wanted, runs),))
    value = evaluator.declared(main, main.declared[wanted])
    assert isinstance(value, Noun)  # a run that is none was refused by the check
    return value


def _no_run(main: Module, wanted: str | None, runs: list[str]) -> Problem:
    flows = [d.name for d in main.declared.values() if d.kind in ("flow", "role")]
    tried = main.declared.get(wanted or "")
    if tried is not None and tried.kind in ("test", "experiment"):
        return _tried(main, tried)
    if wanted is not None:
        message = f"there is no run `{wanted}`"
        help_ = did_you_mean(wanted, runs) or (f"there is {_names(runs)}" if runs else "")
    elif runs:
        message, help_ = "the file has several runs", f"choose {_names(runs)}"
    else:
        message = "there is no run in this file"
        example = flows[0] if flows else "agent"
        help_ = f"write `run main {{ flow = {example} }}`, or give a flow with `-e`"
    return Problem("E110", message, whole(main.source), help=help_)


def _tried(main: Module, declaration: syntax.Declaration) -> Problem:
    place = Place(main.source, declaration.name_span)
    if declaration.kind == "test":
        name = main.source.name
        return Problem(
            "E110",
            f"`{declaration.name}` is a test, not a run",
            place,
            help=f"write `podium test {name} {declaration.name}`; a run of its flow alone is `-e`",
        )
    return Problem(
        "E110",
        f"`{declaration.name}` is an experiment, not a run",
        place,
        help=f"write `podium compare {main.source.name} {declaration.name}`; a run of a flow alone is `-e`",
    )


def _names(names: list[str]) -> str:
    return either([f"`{name}`" for name in names])


def _task(evaluator: Evaluator, main: Module, name: str) -> Tasks | None:
    """A task of the file by name, else a family or one of its problems, else the problems in a file."""
    place = whole(Source("--task", name))
    declared = [d.name for d in main.declared.values() if d.kind == "task"]
    if name in declared:
        value = evaluator.declared(main, main.declared[name])
        fitted = evaluator.fit(value, TASK, place)
        return fitted if isinstance(fitted, Tasks) else None
    family, colon, rest = name.partition(":")
    path = rest if colon else name
    if is_file(path):
        return _problems(evaluator, family if colon else None, path, place)
    try:
        return Tasks((evaluator.library.family(name, {}),))
    except LibraryError as error:
        own = f"tasks of the file are {', '.join(declared)}; " if declared else ""
        help_ = did_you_mean(name, declared) or own + error.help
        evaluator.error(error.code, f"there is no task `{name}`", place, help=help_)
        return None


def _problems(evaluator: Evaluator, family: str | None, path: str, place: Place) -> Tasks:
    """The problems of the file at path, which who names it on the command line has allowed to be read."""
    permits, evaluator.permits = evaluator.permits, None
    try:
        if family is None:
            found = of_lines(evaluator, path, place)
        else:
            found = of_family(evaluator, family, path, {}, place)
    finally:
        evaluator.permits = permits
    return found if isinstance(found, Tasks) else SOME_TASK


def _program(
    evaluator: Evaluator,
    main: Module,
    choice: Choice,
    draft: Draft,
    *,
    used: Mapping[str, Model],
    default: str,
) -> Program:
    return Program(
        name=draft.name,
        flow=draft.flow,
        tasks=() if draft.tasks is None else draft.tasks.tasks,
        models=used,
        default_model=default,
        budget=draft.budget,
        by=draft.by,
        split="even" if draft.split == "even" else "pooled",
        on_exhausted=draft.on_exhausted,
        seed=draft.seed,
        max_agents=draft.max_agents,
        out=draft.out,
        params=in_force(evaluator, main, choice.params),
        sources=(*evaluator.files.sources, *evaluator.texts.values()),
    )
