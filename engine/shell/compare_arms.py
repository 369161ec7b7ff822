"""From the words of `podium compare` to arms: an experiment of a file, runs of several files, recorded runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path

from podium.dsl.bounds import max_agents
from podium.dsl.compile import Choice, compile_experiment
from podium.dsl.parse import parse
from podium.dsl.program import Budget

from ..caps import budget_of
from ..clients.address import BASE
from ..compare.arms import Arm, arms_of
from ..compare.recorded import replicates
from ..compare.trial import Better, Trial
from ..fold import Fold, fold_for
from ..library import DiskLibrary, allowance
from ..plan import plan
from ..ranges import ANY, Range, mean_range
from ..ranges import range_of as range_of_task
from ..store import RunRecord, Store
from .exits import ShellError
from .inputs import Asked, allow_rules, request_of
from .loading import load, params, reach
from .project import NAME as PROJECT_FILE
from .project import read_project
from .reading import find_run, open_store, program_of
from .texts import read_program


@dataclass(frozen=True, slots=True)
class Chosen:
    """What is to run. worst: micro-dollars of a block of one run of each arm at most; None where not known."""

    name: str
    arms: tuple[Arm, ...]
    repeats: int
    worst: int | None

    @property
    def better(self) -> Better:
        return self.arms[0].tasks[0].better

    @property
    def within(self) -> Range:
        return mean_range([range_of_task(task) for task in self.arms[0].tasks])


def range_of(text: str) -> Range:
    """`0,1`, or `0,` where one end is open. Raises ShellError."""
    parts = [part.strip() for part in text.split(",")]
    try:
        low, high = (
            float(part) if part else end for part, end in zip(parts, (-inf, inf), strict=True)
        )
    except ValueError:
        low = high = 0.0
    if not low < high:
        raise ShellError(
            f'--range "{text}" is no range: write 0,1, or 0, where scores have no upper end'
        )
    return Range(low, high)


def is_program(word: str) -> bool:
    return word.endswith(".team") or Path(word).is_file()


def of_experiment(
    file: str, name: str | None, asked: Asked, environ: Mapping[str, str], repeats: int | None
) -> Chosen:
    """The experiment called name, else the file's only one. Raises ProgramError and ShellError."""
    source = read_program(file)
    tree, _ = parse(source)
    request = request_of(source, asked, [d.name for d in params(tree)], environ)
    library = DiskLibrary(source.name, environ.get(BASE))
    rules = allow_rules(asked.allow, request.models)
    rules += read_project(library.root / PROJECT_FILE).rules
    named = {one.name: one.model() for one in request.models if one.name is not None}
    default = [one.model() for one in request.models if one.name is None]
    choice = Choice(
        run=name,
        params=request.params,
        models=named,
        default_model=default[-1] if default else None,
        budget=request.budget,
        default_url=environ.get(BASE),
        allow=allowance(rules),
    )
    found, _ = compile_experiment(source, library, choice)
    reach(library.root)
    arms = arms_of(found, request)
    return Chosen(found.experiment.name, arms, repeats or found.experiment.repeats, worst_of(arms))


def of_files(
    words: Sequence[str], asked: Asked, environ: Mapping[str, str], each: str | None, repeats: int
) -> Chosen:
    """A run of each of several files, FILE or FILE#RUN, on the first one's tasks. Raises as above."""
    arms: list[Arm] = []
    budget, agents = _each(each)
    capped = replace(
        asked, max_usd=_usd(budget), max_tokens=_tokens(budget), max_calls=budget.calls
    )
    for word in words:
        file, _, run = word.partition("#")
        loaded = load(file, replace(capped, run=run or None), environ)
        arms.append(Arm(run or Path(file).stem, loaded.program, loaded.request, budget))
    names = [arm.name for arm in arms]
    if len(set(names)) < len(names):
        arms = [replace(arm, name=word) for arm, word in zip(arms, words, strict=True)]
    _alike(arms)
    for arm in arms:
        if agents is not None and max_agents(arm.program.flow) > agents:
            raise ShellError(
                f"{arm.name} has {max_agents(arm.program.flow):,} agents, and --each says {agents:,} at most"
            )
    return Chosen("files", tuple(arms), repeats, worst_of(arms))


def _each(text: str | None) -> tuple[Budget, int | None]:
    """What each run may spend, or how many agents it may have. Raises ShellError and ProgramError."""
    if text is not None and text.strip().isdecimal():
        return Budget(), int(text)
    budget = budget_of(text)
    if budget.seconds is not None:
        raise ShellError(
            "--each is dollars, tokens, calls or, as a bare number, agents of a run: times differ with the "
            "machine. Write --each '$2', --each '400k tokens', --each '30 calls' or --each 10"
        )
    return budget, None


def _usd(budget: Budget) -> str | None:
    return None if budget.usd is None else f"{budget.usd / 1e6:.6f}"


def _tokens(budget: Budget) -> str | None:
    return None if budget.tokens is None else str(budget.tokens)


def _alike(arms: Sequence[Arm]) -> None:
    """Raise ShellError unless all arms have the same tasks, with verifiers, and the same budget."""
    first = arms[0]
    for arm in arms:
        if [t.statement for t in arm.tasks] != [t.statement for t in first.tasks] or not arm.tasks:
            raise ShellError(
                f"{first.name} and {arm.name} have different tasks: name one for all with --task"
            )
        if arm.program.budget != first.program.budget:
            raise ShellError(
                f"{first.name} and {arm.name} have different budgets: give each run the same with --each"
            )
        if any(task.verify is None for task in arm.tasks):
            raise ShellError(f"{arm.name} has a task without `verify`: arms are compared by scores")


def worst_of(arms: Sequence[Arm]) -> int | None:
    """Micro-dollars that one run of each arm may cost at most, on the task where that is most; None: not known."""
    whole = 0
    for arm in arms:
        planned = [plan(replace(arm.program, tasks=(task,))).total.usd for task in arm.tasks]
        known = [usd.most for usd in planned if usd is not None]
        if len(known) < len(planned):
            return None
        whole += max(known)
    return whole


def trials_of(store: Store, record: RunRecord, arm: str) -> tuple[Fold, list[Trial]]:
    """What ran side by side in a run of the store, as trials of an arm."""
    program = program_of(record)
    folded = Fold() if program is None else fold_for(program)
    return folded, replicates(record.id, arm, store.events(record.id), folded)


@dataclass(frozen=True, slots=True)
class Recorded:
    """Runs of the store as arms, each named by its id."""

    names: list[str]
    trials: list[Trial]
    better: Better
    within: Range


def recorded(store: str, words: Sequence[str]) -> Recorded:
    """The runs that words name. Raises ShellError where they cannot be compared."""
    names: list[str] = []
    trials: list[Trial] = []
    directions: set[Better] = set()
    ranges: list[Range] = []
    with open_store(Path(store)) as opened:
        for word in words:
            record = find_run(opened, word)
            folded, found = trials_of(opened, record, record.id)
            names.append(record.id)
            trials += found
            directions.add(folded.better)
            program = program_of(record)
            ranges += [ANY] if program is None else map(range_of_task, program.tasks)
    if len(set(names)) < len(names):
        raise ShellError("name each run once")
    if len(directions) > 1:
        raise ShellError("in one of these runs higher scores are better, in another lower ones")
    return Recorded(names, trials, directions.pop(), mean_range(ranges))
