"""Doc texts (`##`): the one at a file's head, the examples in them, and how they stand in Markdown.

A doc text is a little Markdown: paragraphs, `- ` lists, code between backticks, and examples, which are lines that
are indented by four. Everything else in it is plain text and is escaped, so that no file can change a page around
its own words.
"""

import re
from collections.abc import Iterator

from . import syntax
from .lex import begin, lex
from .source import Source

_INDENT = "    "
_CODE = re.compile(r"(`[^`\n]+`)")
# A letter or digit on both sides makes an underscore harmless; the rest would start some markup.
_MARKUP = re.compile(r"[\\`*\[\]<>|~&]|(?<![^\W_])_|_(?![^\W_])")
_OPENS = re.compile(r"^(\s*)(#|=+\s*$|-+\s*$|\+)", re.MULTILINE)  # a heading, a rule, another list


def head(source: Source, file: syntax.File) -> str:
    """The `##` lines that open the file; those directly above a declaration or an import belong to that."""
    starts = [d.span.start for d in file.declarations] + [i.span.start for i in file.imports]
    first = source.position(min(starts)).line if starts else None
    lines: list[str] = []
    last = 0
    for comment in lex(source.text).comments:
        here = source.position(begin(comment)).line
        if (first is not None and here >= first) or (lines and here != last + 1):
            break
        if comment.startswith("##"):
            lines.append(comment[2:].removeprefix(" ").rstrip())
            last = here
        elif lines:
            break
    return "" if last + 1 == first else "\n".join(lines)


def blocks(doc: str) -> Iterator[tuple[str, bool]]:
    """The parts of a doc text between blank lines, in order, each with whether it is an example."""
    part: list[str] = []
    is_code = False
    for line in [*doc.split("\n"), ""]:
        if part and (not line.strip() or line.startswith(_INDENT) != is_code):
            yield "\n".join(part), is_code
            part = []
        if line.strip():
            is_code = line.startswith(_INDENT)
            part.append(line.removeprefix(_INDENT) if is_code else line)


def examples(doc: str) -> tuple[str, ...]:
    """The examples of a doc text, without their indent."""
    return tuple(text for text, is_code in blocks(doc) if is_code)


def sentence(doc: str) -> str:
    """The first paragraph of a doc text on one line; empty where it begins with an example."""
    text, is_code = next(blocks(doc), ("", True))
    return "" if is_code else " ".join(text.split())


# --- Markdown --------------------------------------------------------------------------------------


def markdown(doc: str) -> Iterator[str]:
    """A doc text as paragraphs of Markdown, its examples fenced."""
    before, after_code = "", False
    for text, is_code in blocks(doc):
        if is_code and not after_code and not before.endswith(":"):
            yield "Example:"
        yield fenced(text) if is_code else escaped(text)
        before, after_code = text, is_code


def escaped(text: str) -> str:
    """text so that Markdown shows it as it is; code between backticks stays code."""
    parts = _CODE.split(text)
    parts[::2] = [_MARKUP.sub(r"\\\g<0>", part) for part in parts[::2]]
    return _OPENS.sub(r"\1\\\2", "".join(parts))


def code(text: str) -> str:
    """text as code within a line, whatever backticks are in it."""
    line = " ".join(text.split())
    ticks = "`" * _more_than(line)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"


def fenced(text: str) -> str:
    """text as a block of code, whatever fences are in it."""
    ticks = "`" * max(3, _more_than(text))
    return f"{ticks}\n{text}\n{ticks}"


def _more_than(text: str) -> int:
    """How many backticks no run of them in text has."""
    return 1 + max((len(run) for run in re.findall(r"`+", text)), default=0)
