"""A file's reference page as Markdown and as JSON. Pure: `doc.page_of` says what is on it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict

from .doc import Entry, Page, Parameter, Size
from .doc_text import code, escaped, examples, markdown
from .kinds import KINDS

# Each kind's heading, in the order of a page: what one needs, then what one gets.
_HEADINGS = {
    "param": "Parameters",
    "model": "Models",
    "role": "Roles",
    "verifier": "Verifiers",
    "task": "Tasks",
    "flow": "Flows",
    "run": "Runs",
    "test": "Tests",
    "experiment": "Experiments",
}
assert _HEADINGS.keys() == KINDS.keys()


def as_markdown(page: Page, level: int = 1) -> str:
    """The page; its title is a heading of this level, what is on it of the next two."""
    return "\n\n".join(_parts(page, "#" * level)) + "\n"


def _parts(page: Page, mark: str) -> Iterator[str]:
    yield f"{mark} {escaped(page.name)}"
    yield from markdown(page.doc)
    if page.imports:
        yield "\n".join(f"- {code(line)}" for line in page.imports)
    for kind, heading in _HEADINGS.items():
        entries = [entry for entry in page.entries if entry.kind == kind]
        if entries:
            yield f"{mark}# {heading}"
            if kind == "param":
                yield _table(entry.parameters[0] for entry in entries)
            else:
                yield from (part for entry in entries for part in _entry(entry, f"{mark}##"))


def _entry(entry: Entry, mark: str) -> Iterator[str]:
    yield f"{mark} {escaped(entry.name)}"
    if entry.type:
        yield code(f"{entry.signature} : {entry.type}")
    yield from markdown(entry.doc)
    if entry.parameters:
        yield _table(entry.parameters)
    if entry.fields:
        yield "\n".join(_field(name, text) for name, text in entry.fields)
    if entry.output:
        yield "Its reply has these fields:"
        yield _table(entry.output)
    if entry.size is not None:
        yield _size(entry, entry.size)


def _field(name: str, text: str) -> str:
    return f"- {code(name)}: {code(text)}" if name else f"- {code(text)}"


# --- parameters ------------------------------------------------------------------------------------


def _table(parameters: Iterable[Parameter]) -> str:
    rows = list(parameters)
    documented = any(row.doc for row in rows)
    names = ["name", "type", "default", *(["meaning"] if documented else [])]
    lines = [names, ["---"] * len(names), *(_row(row, documented=documented) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _row(parameter: Parameter, *, documented: bool) -> Sequence[str]:
    default = "**required**" if parameter.default is None else _cell(code(parameter.default))
    cells = [_cell(code(parameter.name)), _cell(escaped(parameter.type)), default]
    return [*cells, _cell(" ".join(markdown(parameter.doc)))] if documented else cells


def _cell(text: str) -> str:
    r"""text in a table: on one line, each `|` as `\|`, which a table takes off even inside code."""
    return " ".join(text.replace("\\|", "|").replace("|", "\\|").split())


# --- how large it is -------------------------------------------------------------------------------


_LEADS = {"flow": "With its defaults: ", "run": "For one task: "}


def _size(entry: Entry, size: Size) -> str:
    agents = f"at most {_count(size.agents, 'agent')}"
    least = f"{size.least:,} to " if size.least != size.most else ""
    calls = f"{least}{_count(size.most, 'call')}"
    each = " for each attempt that comes in" if size.each else ""
    inner = f", where {code(_inner(entry))} is one agent" if size.inner else ""
    lead = _LEADS.get(entry.kind, "") if entry.parameters or entry.kind == "run" else ""
    text = f"{lead}{agents}, {calls}{each}{inner}."
    return text[0].upper() + text[1:]


def _inner(entry: Entry) -> str:
    return entry.signature.rpartition(" of ")[2]


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


# --- JSON --------------------------------------------------------------------------------------------


def as_json(page: Page) -> dict[str, object]:
    """The page for a program; examples are also part of the doc they stand in."""
    return {
        "schema": 1,
        "name": page.name,
        "doc": page.doc,
        "examples": list(examples(page.doc)),
        "imports": list(page.imports),
        "entries": [_entry_json(entry) for entry in page.entries],
    }


def _entry_json(entry: Entry) -> dict[str, object]:
    size = entry.size
    return {
        "kind": entry.kind,
        "name": entry.name,
        "signature": entry.signature,
        "type": entry.type or None,
        "doc": entry.doc,
        "examples": list(examples(entry.doc)),
        "parameters": [asdict(parameter) for parameter in entry.parameters],
        "output": [asdict(parameter) for parameter in entry.output],
        "fields": [{"name": name or None, "value": text} for name, text in entry.fields],
        "size": None if size is None else _size_json(size),
    }


def _size_json(size: Size) -> dict[str, object]:
    return {
        "agents": size.agents,
        "calls": {"at_least": size.least, "at_most": size.most},
        "for_each_attempt": size.each,
        "inner_is_one_agent": size.inner,
    }
