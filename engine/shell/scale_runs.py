"""What `podium scale` reads from the store, and the pilot that it would add to it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from podium.dsl.program import Budget, Program

from ..compare import Arm, Design, Trial
from ..sizes import replicated, sized
from .compare_arms import trials_of, worst_of
from .exits import ShellError
from .loading import Loaded
from .reading import find_run, open_store, program_of


def _none() -> dict[int, list[Trial]]:
    return {}


@dataclass(frozen=True, slots=True)
class Rival:
    """One agent of another model, or of a recorded run. loaded: its program, None where it is a recorded run.

    models: those of the file, one of which may have been meant.
    """

    name: str
    loaded: Loaded | None = None
    models: tuple[str, ...] = ()

    @property
    def unknown(self) -> str:
        known = f"; it has {', '.join(self.models)}" if self.models else ""
        return f"--versus {self.name}: there is no such run, and no such model in the file{known}"


@dataclass(frozen=True, slots=True)
class Found:
    """Trials by size of team, and those of a rival."""

    teams: dict[int, list[Trial]] = field(default_factory=_none)
    rival: list[Trial] = field(default_factory=list[Trial])


def arms_of_sizes(loaded: Loaded, sizes: Sequence[int]) -> tuple[Arm, ...]:
    """The program's team alone, at each of sizes. Raises ShellError where it cannot have another size."""
    program, request = loaded.program, loaded.request
    kept = replace(request, texts=program.sources)
    try:
        flows = [(size, sized(program.flow, size)) for size in sizes]
    except ValueError as error:
        raise ShellError(str(error)) from error
    return tuple(
        Arm(f"size {size}", replace(program, flow=flow), replace(kept, size=size), Budget())
        for size, flow in flows
    )


def arm_of(rival: Rival) -> Arm | None:
    """The rival's agent; None where it is a recorded run, of which no more are run."""
    if rival.loaded is None:
        return None
    program, request = rival.loaded.program, rival.loaded.request
    kept = replace(request, texts=program.sources)
    return Arm(f"one agent of {rival.name}", program, kept, Budget())


def pilot(
    loaded: Loaded, rival: Rival | None, sizes: Sequence[int], runs: int, seed: int
) -> Design:
    """The rival's agent runs in the same blocks, so that what drifts meets it too."""
    other = None if rival is None else arm_of(rival)
    arms = (*arms_of_sizes(loaded, sizes), *(() if other is None else (other,)))
    return Design(f"scale {loaded.program.name}", arms, runs, seed, worst=worst_of(arms))


def recorded(store: str, loaded: Loaded, rival: Rival | None) -> Found:
    """The trials of the program's team in the store, by size, and the rival's; each under its task's name."""
    found = Found()
    if not Path(store).is_file():
        return found
    names = _statements(loaded).keys()
    with open_store(Path(store)) as opened:
        for record in opened.runs():
            ran = program_of(record)
            if ran is None or names.isdisjoint(task.statement for task in ran.tasks):
                continue
            to = _place(found, ran, loaded, rival)
            if to is not None:
                to += _of_tasks(trials_of(opened, record, "")[1], ran, loaded)
        if rival is not None and rival.loaded is None:
            record = find_run(opened, rival.name)
            trials = trials_of(opened, record, record.id)[1]
            ran = program_of(record)
            found.rival.extend(trials if ran is None else _of_tasks(trials, ran, loaded))
    return found


def must_know(store: str, rival: Rival) -> None:
    """Raise ShellError, before anything is run, where a rival is neither a model nor a run of the store."""
    if rival.loaded is not None:
        return
    if not Path(store).is_file():
        raise ShellError(rival.unknown)
    with open_store(Path(store)) as opened:
        try:
            find_run(opened, rival.name)
        except ShellError as error:
            raise ShellError(rival.unknown) from error


def _place(found: Found, ran: Program, loaded: Loaded, rival: Rival | None) -> list[Trial] | None:
    """Where the trials of what ran belong; None where it is neither the program's team nor the rival."""
    from ..compare.arms import digest_of
    from ..compare.scaling import is_lone, is_same_team

    if rival is not None and rival.loaded is not None:
        model = rival.loaded.request.versus or ""
        theirs, ours = ran.models.get(model), rival.loaded.program.models[model]
        alone = is_lone(ran.flow, loaded.program.flow, model)
        if alone and theirs is not None and digest_of(theirs) == digest_of(ours):
            return found.rival
    size = replicated(ran.flow)
    if size is not None and is_same_team(ran.flow, loaded.program.flow):
        return found.teams.setdefault(size, [])
    return None


def _of_tasks(trials: Sequence[Trial], ran: Program, loaded: Loaded) -> Iterator[Trial]:
    """The trials of the program's tasks, under their names in it."""
    names = _statements(loaded)
    for trial in trials:
        # Of a run of several tasks `3.row` is the third.
        number = int(trial.task.partition(".")[0]) - 1 if trial.task else 0
        said = ran.tasks[number].statement if number < len(ran.tasks) else ""
        if said in names:
            yield replace(trial, task=names[said])


def _statements(loaded: Loaded) -> dict[str, str]:
    return {task.statement: task.name for task in loaded.program.tasks}
