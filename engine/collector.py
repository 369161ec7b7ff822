"""The collector of cyclic garbage, looking less often while runs are live."""

import gc
from collections.abc import Generator
from contextlib import contextmanager
from threading import Lock

# Objects made and not yet dropped before the collector looks at the young ones. Python's own 700 (2,000 later) are
# those of ten agents in flight: it would look at every one of them several times, and find none to drop, as what a
# call leaves behind is in no cycle. So many take some 10 MB at the most.
YOUNG = 50_000


_counting = Lock()  # engines of several threads open and close at once
_inside = 0
_before = 0  # what was set before the first of those inside; 0 where it was left alone


@contextmanager
def patient() -> Generator[None, None, None]:
    """Have it look after YOUNG new ones, unless it is off or looks less often; as before, after the last."""
    with _counting:
        _enter()
    try:
        yield
    finally:
        with _counting:
            _leave()


def _enter() -> None:
    global _inside, _before
    _inside += 1
    young, *older = gc.get_threshold()
    if _inside == 1:
        _before = young if 0 < young < YOUNG else 0
        if _before:
            gc.set_threshold(YOUNG, *older)


def _leave() -> None:
    global _inside
    _inside -= 1
    young, *older = gc.get_threshold()
    if _inside == 0 and _before and young == YOUNG:  # else somebody else has set it meanwhile
        gc.set_threshold(_before, *older)
