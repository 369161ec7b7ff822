"""Judges a repaired repository: its files go to the candidate's process, the tests stay here."""

from __future__ import annotations

import re
from typing import Any

from ..harness import exchange, source, tests
from ..harness.calls import Unfit
from .patch import Misfit, patched

MOST_FILES = 50
_LONGEST_PATH = 100


def main() -> None:
    exchange.steady()
    asked, problem = exchange.asked(), exchange.problem()
    try:
        given = handed_in(asked["text"], problem["files"])
        used = {path: text for path, text in given.items() if ours(path, problem["package"])}
    except Misfit as error:
        exchange.invalid(str(error))
        return
    if why := source.too_long(*used.values()) or _number(len(used), problem["package"]):
        exchange.invalid(why)
        return
    try:
        faults = tests.judge(asked, problem, problem["files"] | used)
    except Unfit as error:
        exchange.error(str(error))
        return
    if faults is not None:
        others = [f"hands in {path[:60]}" for path in sorted(given) if path not in used][:5]
        flags = source.flags("\n".join(used.values()))
        _tell(faults, [*others, *flags, *tests.suspected(asked)])


def _number(files: int, package: str) -> str:
    return "" if 0 < files <= MOST_FILES else f"there are {files} modules of {package}/ in it"


def handed_in(text: str, before: dict[str, str]) -> dict[str, str]:
    """The files in text: as a patch, or whole. Raises Misfit."""
    patches = [body for head, body in source.blocks(text) if head in ("diff", "patch")]
    if why := source.too_long(*patches):
        raise Misfit(why)
    given: dict[str, str] = {}
    for one in patches:
        given |= patched(before | given, one)
    return given | source.files(text)


def ours(path: str, package: str) -> bool:
    """Whether path is a module in the repository's package: nothing else is handed on, tests least of all."""
    return len(path) <= _LONGEST_PATH and bool(
        re.fullmatch(rf"{package}/(?:\w+/)*\w+\.py", path, re.ASCII)
    )


def _tell(faults: dict[str, Any], flags: list[str]) -> None:
    """Of known tests it is told which failed and why, of hidden ones how many."""
    known = {name: why for name, why in faults.items() if not name.startswith("hidden/")}
    failed = [f"{name}: {why}"[:200] for name, why in known.items() if why]
    hidden = sum(bool(why) for name, why in faults.items() if name not in known)
    right = 1 - (len(failed) + hidden) / len(faults)
    told = f"{len(failed)} of {len(known)} known and {hidden} of {len(faults) - len(known)} hidden tests fail"
    exchange.verdict(right, not failed and not hidden, "\n".join([told, *failed[:5]]), flags=flags)


if __name__ == "__main__":
    main()
