"""A run struck at each of its steps or records in turn, and what must hold whichever one it was.

    for simulation in struck(program, "cancel"):
        assert not simulation.violations, simulation.told()

It is cancelled before each step that any task takes, which is at every await; or its process is killed at every
record. Then it is resumed, and struck again if one wishes, until it ends.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from .arm import How, Stroke
from .invariants import Violation
from .simulate import Simulation


def struck(
    simulated: Callable[[Sequence[Stroke]], Simulation],
    how: How,
    *,
    every: int = 1,
    first: int = 0,
    then: Sequence[Stroke] = (),
    same: bool = False,
) -> Iterator[Simulation]:
    """The simulations of a run that is struck at its first-th step or record and at every every-th from there.

    simulated: the run under strokes, `lambda strokes: simulate(program, strokes=strokes)`. then: strokes of
    the lives that follow. same: whether it must come to the transcript of the run that nothing struck, as it
    does where nothing in the program depends on an order.
    """
    whole = simulated(())
    if whole.violations:
        yield whole
        return
    count = whole.steps[0] if how == "cancel" else whole.records[0]
    for at in range(first, count, every):
        one = simulated((Stroke(how, at), *then))
        yield replace(one, violations=(*one.violations, *_differs(whole, one, same=same)))


def _differs(whole: Simulation, one: Simulation, *, same: bool) -> Iterable[Violation]:
    if same and not one.violations and one.transcript != whole.transcript:
        text = "it came to another transcript than the run that nothing struck"
        yield Violation("replay", one.program.name, text)
