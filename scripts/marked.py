"""Text between two marks of a page, which a script writes anew."""

from pathlib import Path


def put(page: Path, begin: str, text: str, end: str) -> None:
    """Write text between begin and end. Raises ValueError where the page lacks one of them, and writes nothing."""
    before, opened, rest = page.read_text("utf-8").partition(begin)
    _, closed, after = rest.partition(end)
    if not (opened and closed):
        raise ValueError(f"{page} lacks {begin!r} or {end!r}")
    page.write_text(f"{before}{begin}{text}{end}{after}", "utf-8")
