"""The collector of cyclic garbage, looking less often while runs are live."""

import gc
from collections.abc import Generator
from contextlib import contextmanager

# Objects made and not yet dropped before the collector looks at the young ones. Python's own 700 (2,000 later) are
# those of ten agents in flight: it would look at every one of them several times, and find none to drop, as what a
# call leaves behind is in no cycle. So many take some 10 MB at the most.
YOUNG = 50_000


@contextmanager
def patient() -> Generator[None, None, None]:
    """Have it look after YOUNG new ones, unless it is off or looks less often already; as before, afterwards."""
    young, *older = gc.get_threshold()
    if not 0 < young < YOUNG:
        yield
        return
    gc.set_threshold(YOUNG, *older)
    try:
        yield
    finally:
        if gc.get_threshold()[0] == YOUNG:  # else somebody else has set it meanwhile
            gc.set_threshold(young, *older)
