"""What each problem code means: a title, the rule and its reason, a program that earns it and one mended."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Required, TypedDict


@dataclass(frozen=True, slots=True)
class Example:
    """A file `x.team`, and what `podium run x.team` is given; fill: what `…` stands for, and how often."""

    text: str
    options: str = ""
    fill: tuple[str, int] | None = None

    def whole(self) -> str:
        """The text with all that `…` stands for."""
        if self.fill is None:
            return self.text
        part, times = self.fill
        return self.text.replace("…", part * times)


@dataclass(frozen=True, slots=True)
class Entry:
    """One code. why is a few sentences on one line; files are others of the project, by path.

    compiled: the mistake shows only when a run is compiled. Both examples are None where no program earns it.
    """

    code: str
    title: str
    why: str
    failing: Example | None
    mended: Example | None
    files: Mapping[str, str]
    compiled: bool


class _Fields(TypedDict, total=False):
    """A table of problems.toml; its head says what they are."""

    title: Required[str]
    why: Required[str]
    failing: str
    mended: str
    failing_options: str
    mended_options: str
    fill: tuple[str, int]
    files: dict[str, str]
    compiled: bool


@cache
def catalogue() -> Mapping[str, Entry]:
    """Every code that Podium reports, in the order of problems.toml."""
    text = files("podium").joinpath("dsl").joinpath("problems.toml").read_text("utf-8")
    return {code: _entry(code, fields) for code, fields in tomllib.loads(text).items()}


def _entry(code: str, fields: _Fields) -> Entry:
    failing = mended = None
    if "failing" in fields:
        text = fields["failing"]
        failing = _example(text, fields.get("failing_options", ""), fields)
        mended = _example(fields.get("mended", text), fields.get("mended_options", ""), fields)
    why = " ".join(fields["why"].split())
    compiled = fields.get("compiled", False)
    return Entry(code, fields["title"], why, failing, mended, fields.get("files", {}), compiled)


def _example(text: str, options: str, fields: _Fields) -> Example:
    if "fill" not in fields or "…" not in text:
        return Example(text, options)
    part, times = fields["fill"]
    return Example(text, options, (part, times))


def sections(entry: Entry) -> Iterator[tuple[str, str]]:
    """Each text of entry under its heading: the files, what is wrong, what is right."""
    for name, text in entry.files.items():
        yield f'The file "{name}"', text.rstrip("\n")
    for heading, example in (("Wrong", entry.failing), ("Right", entry.mended)):
        if example is not None:
            yield heading + _beside(example), example.text.rstrip("\n")


def _beside(example: Example) -> str:
    given = f", with `{example.options}`" if example.options else ""
    if example.fill is None:
        return given
    part, times = example.fill
    return f"{given}, where `…` stands for {times:,} times `{part.strip()}`"
