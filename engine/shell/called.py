"""How the command was called, so that what is printed to be typed next can be typed."""

import os
import shlex
import shutil
import sys

from .safe import safe


def called() -> str:
    """`podium` where the shell finds that; else the path as it was typed, such as `.venv/bin/podium`."""
    typed = sys.argv[0]
    if os.path.basename(typed) != "podium" or shutil.which("podium") is not None:
        return "podium"
    here = os.path.relpath(typed)
    return shlex.quote(safe(typed if here.startswith("..") else here))
