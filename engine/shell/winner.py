"""Why the best attempt of a run is the best: the rule that chose it, and what came next. Pure; sentences."""

from collections.abc import Iterator, Sequence

from podium.dsl.program import Program, Reduce, Task, Then

from ..early import early, is_lost
from ..fold import Best
from ..places import is_within
from ..plan.settings import text as condition
from ..reduce import rank
from ..value import Verdict
from .course import Course, Judged
from .safe import safe_line
from .summary import measured_again
from .units import counted, plural, show_count, show_seconds, show_tokens, show_usd

_ORDER = (
    "Attempts that passed come first, then the {way} score; of equals one without a flag, "
    "then a whole reply before one that was cut, then the earliest."
)


def ranked(course: Course) -> list[Judged]:
    """The attempts that the task's own verifier judged, the best first; each once, with its last verdict."""
    verifier = verifier_of(course)
    last = {one.address: one for one in course.judged if one.verifier == verifier}
    found = list(last.values())
    found.sort(key=lambda one: rank(one.verdict, course.folded.better), reverse=True)
    return found


def verifier_of(course: Course) -> str:
    """The name of the verifier by which the best so far is chosen; empty where nothing was judged."""
    best = {one.address for one in course.best}
    return next((one.verifier for one in course.judged if one.address in best), "")


def won(course: Course, program: Program | None) -> Iterator[str]:
    """Sentences on the best attempt of a run of one task. program: None where it is not known."""
    best = course.folded.best
    if best is None:
        yield "No attempt was judged, so none is better than another: the answer is what the flow gave."
        return
    yield f"The best attempt is {safe_line(best.address, 200)}: {_worth(best.score, best.passed)}."
    if program is not None and program.tasks:
        yield from _rule(program.tasks[0])
    yield _ORDER.format(way=course.folded.better)
    order = ranked(course)
    yield from _when(course, best, order)
    yield from _next(course, best, order)
    yield from _after(course, program, best)


def _worth(score: float | None, passed: bool | None) -> str:
    words = [] if score is None else [f"score {score:.6g}"]
    words += [] if passed is None else ["passed" if passed else "did not pass"]
    return ", ".join(words) or "no score"


def _rule(task: Task) -> Iterator[str]:
    if task.verify is None:
        return
    passes = ""
    if task.pass_rule is not None:
        passes = f"; an attempt passes where {safe_line(condition(task.pass_rule), 200)}"
    yield f"It was judged by {safe_line(task.verify.name, 80)}, {task.better} is better{passes}."


def _when(course: Course, best: Best, order: Sequence[Judged]) -> Iterator[str]:
    """What had been spent when it was judged."""
    mine = [one for one in course.best if one.address == best.address]
    if not mine or not order:
        return
    total, spent = course.folded.total, mine[0].spent
    price = f"{show_count(spent.tokens)} of {show_tokens(total.amount.tokens)}"
    if total.amount.usd and not total.unpriced:
        price = f"{show_usd(spent.usd)} of {show_usd(total.amount.usd)}"
    sooner = _before(course, best.address)
    judged = f"{counted(len(order), 'attempt')} {plural(len(order), 'was', 'were')} judged"
    after = show_seconds(mine[0].seconds)
    yield f"It was found after {after}, when {price} had been spent; {judged}, {sooner:,} of them before it."


def _before(course: Course, address: str) -> int:
    """How many other attempts were judged before the one at address."""
    verifier, found = verifier_of(course), dict[str, None]()
    for one in course.judged:
        if one.address == address:
            break
        if one.verifier == verifier:
            found[one.address] = None
    return len(found)


def _next(course: Course, best: Best, order: Sequence[Judged]) -> Iterator[str]:
    """The runner-up, and how far behind it is."""
    others = [one for one in order if one.address != best.address]
    if not others:
        if order:
            yield "There is no other judged attempt to compare it with."
        return
    mine = rank(Verdict(best.score, best.passed, flags=_flags(course, best)), course.folded.better)
    equal = [one for one in others if rank(one.verdict, course.folded.better) == mine]
    if equal:
        who = f"{counted(len(equal), 'other attempt')} {plural(len(equal), 'is', 'are')}"
        yield f"{who} as good: {_named(equal[0])}."
        return
    runner = others[0]
    yield f"Next best: {_named(runner)}{_behind(best, runner)}."


def _flags(course: Course, best: Best) -> tuple[str, ...]:
    return course.folded.flags.get(best.address, ())


def _named(one: Judged) -> str:
    return f"{safe_line(one.address, 200)} ({_worth(one.verdict.score, one.verdict.passed)})"


def _behind(best: Best, runner: Judged) -> str:
    if best.score is None or runner.verdict.score is None:
        return ""
    return f", {abs(best.score - runner.verdict.score):.3g} behind"


def _after(course: Course, program: Program | None, best: Best) -> Iterator[str]:
    """What else decided: a second measurement, a race, a choice of the flow's own."""
    if again := measured_again(course.folded):
        yield again
    lost = early(course.folded).losers
    if lost:
        who = f"{counted(lost, 'branch', 'branches')} {plural(lost, 'was', 'were')}"
        yield f"{who} stopped when others won their race."
    ended = course.folded.ended
    if ended is not None and ended.answer is not None and ended.answer != best.answer:
        worth = _worth(ended.score, ended.passed)
        yield f"The run gave another answer ({worth}): {_instead(course, program, best)}."


def _instead(course: Course, program: Program | None, best: Best) -> str:
    """Why the run's answer is not its best attempt."""
    for address, node in course.folded.nodes.items():
        if is_lost(node) and is_within(best.address, address):
            return f"the best attempt is of {safe_line(address, 120)}, which was stopped when others won its race"
    how = _last_choice(program)
    return f"its flow chose it by `{how}`" if how else "its flow chose it"


def _last_choice(program: Program | None) -> str:
    """The reducer at the end of the flow; empty where there is none."""
    flow = None if program is None else program.flow
    while isinstance(flow, Then):
        flow = flow.steps[-1]
    return flow.how if isinstance(flow, Reduce) else ""
