"""The file that `podium show RUN --html` writes."""

from pathlib import Path

from ..artifacts import artifacts_of, trees_of
from ..fold import Fold, fold_for
from ..plan import plan
from ..store import RunRecord, Store
from .calls import tries
from .course import course_of
from .reading import limits, program_of
from .run_page import Shown, run_page
from .run_talk import Kept, only, speakers
from .texts import write_whole


def write_page(path: Path, store: Store, record: RunRecord) -> None:
    """The run's page as it stands now, in place of what is at path. Raises ShellError."""
    program = program_of(record)
    course = course_of(store.events(record.id), Fold() if program is None else fold_for(program))
    chosen = speakers(course)
    own = only(store.events(record.id), course.folded, chosen)
    shown = Shown(
        record.id,
        record.name,
        record.created,
        course,
        program,
        None if program is None else plan(program),
        limits(store, record),
        store.notes(record.id),
        chosen,
        tries(own, course.folded.unpriced),
        Kept(store.listed, store.blob),
        artifacts_of(trees_of(course.folded), store.blob),
    )
    write_whole(path, run_page(shown))
