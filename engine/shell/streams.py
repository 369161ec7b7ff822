"""Standard output or standard error that takes nothing more: a full disk, a closed pipe, a terminal that is gone.

That is no mistake of Podium's and none of the program's: what was to be said is lost, what was done is not.
"""

import errno
import os
import sys
from contextlib import suppress
from typing import IO

# What a system says that cannot do what it was asked, whoever asked it.
_OUTSIDE = frozenset(
    (
        *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.EPIPE),
        *(errno.EACCES, errno.EPERM, errno.EMFILE, errno.ENFILE),
    )
)


def refusal(error: OSError) -> str | None:
    """What a person is told of error where the system refuses to write; None of any other.

    Empty where a reader has closed its pipe: one that has seen enough, as `head` has, wants to hear no more.
    Afterwards standard output takes everything and keeps nothing, so that the end of the process is quiet.
    """
    if error.errno not in _OUTSIDE:
        return None
    drop(sys.stdout)
    if error.errno == errno.EPIPE:
        return ""
    return f"{error.filename or 'the output'} cannot be written: {told(error)}"


def told(error: OSError) -> str:
    """What the system says, in a clause."""
    if error.errno == errno.EPIPE:
        return "nobody reads it any more"
    said = error.strerror or str(error)
    return said[:1].lower() + said[1:]


def drop(stream: IO[str]) -> None:
    """Lose what stream holds and all that comes."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
