"""The one layout of a program. No options; the result is checked before it is returned."""

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from itertools import pairwise
from typing import NamedTuple, cast

from . import syntax as s
from .layout import Shape, Tok, attached, nested, shape_of
from .lex import STARTERS, in_column_1, lex
from .parse import parse
from .problem import Problem, has_errors, whole
from .source import Source, Span
from .writer import Writer

_IMPORTS = {"import", "from"}


class FormatError(Exception):
    """A text that is left as it is: its syntax problems, or F001 where the formatter itself went wrong."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("; ".join(f"{p.code}: {p.message}" for p in problems))
        self.problems = tuple(problems)


def format_text(source: Source) -> str:
    """The text of source in the standard layout; formatting it again changes nothing.

    Raises FormatError with the problems of a text that does not parse, and with F001 rather than give a
    text that means something else, lost a comment, or would change when formatted again.
    """
    file, problems = parse(source)
    if has_errors(problems):
        raise FormatError(problems)
    result = laid_out(source, file)
    _verify(source, file, result)
    return result


def laid_out(source: Source, file: s.File) -> str:
    """The standard layout of a text that parsed to file, unchecked."""
    lexed = lex(source.text)
    toks = attached(source.text, lexed.tokens, lexed.comments)
    shape = shape_of(file)
    blocks = [_block(source.text, part, shape) for part in _parts(source.text, toks[:-1])]
    lines: list[str] = []
    for before, block in pairwise([None, *blocks]):
        assert block is not None  # only the first one is missing
        if before is not None and _apart(before, block):
            lines.append("")
        lines += [*block.comments, *block.lines]
    lines += _above(toks[-1], first=not lines)
    return "".join(f"{line}\n" for line in lines)


class _Block(NamedTuple):
    """A declaration in lines, and the comments above it."""

    word: str
    blank: bool
    comments: list[str]
    lines: list[str]


def _parts(text: str, toks: Sequence[Tok]) -> Iterator[list[Tok]]:
    """The tokens of one declaration after the other."""
    part: list[Tok] = []
    for tok in toks:
        if part and tok.type in STARTERS and in_column_1(text, tok.token):
            yield part
            part = []
        part.append(tok)
    if part:
        yield part


def _block(text: str, toks: list[Tok], shape: Shape) -> _Block:
    first = toks[0]
    blank = first.lead[0].blank if first.lead else first.blank
    comments = _above(first, first=True)
    first.lead = []
    return _Block(first.text, blank, comments, Writer().declaration(nested(text, toks, shape)))


def _above(tok: Tok, *, first: bool) -> list[str]:
    """The comments above a token, with the blank lines between them. first: none comes before them."""
    lines: list[str] = []
    for comment in tok.lead:
        if comment.blank and not (first and not lines):
            lines.append("")
        lines.append(comment.text)
    if lines and tok.blank and tok.type != "$END":
        lines.append("")
    return lines


def _apart(before: _Block, block: _Block) -> bool:
    """Whether a blank line stands between two declarations: always, but among imports and one-liners of a kind."""
    imports = {before.word, block.word} <= _IMPORTS
    short = len(before.lines) == len(block.lines) == 1
    return block.blank or not (imports or (short and before.word == block.word))


# --- checks --------------------------------------------------------------------------------------


def _verify(source: Source, file: s.File, result: str) -> None:
    again = Source(source.name, result)
    read, problems = parse(again)
    if any(problem.code == "T000" for problem in problems):
        raise FormatError(problems)  # indented, it is larger than a text may be
    if problems or not same(file, read):
        raise _failure(source, "it would have changed the meaning of this file")
    if _comments(source.text) != _comments(result):
        raise _failure(source, "it would have lost or moved a comment")
    if laid_out(again, read) != result:
        raise _failure(source, "its own result would change when formatted again")


def _failure(source: Source, why: str) -> FormatError:
    problem = Problem(
        "F001",
        f"the formatter made a mistake: {why}",
        whole(source),
        help="the file is left as it is; please report this with the file",
    )
    return FormatError([problem])


def _comments(text: str) -> list[str]:
    return [comment.rstrip() for comment in lex(text).comments]


def same(first: object, second: object) -> bool:
    """Whether two trees are equal but for their spans. Walks without recursion.

    Both have the same type where one is looked into, so what holds of the first holds of the second.
    """
    todo = [(first, second)]
    while todo:
        a, b = todo.pop()
        if type(a) is not type(b):
            return False
        if isinstance(a, Span):
            continue
        if isinstance(a, tuple):
            left, right = cast(tuple[object, ...], a), cast(tuple[object, ...], b)
            if len(left) != len(right):
                return False
            todo.extend(zip(left, right, strict=True))
        elif is_dataclass(a):
            todo.extend((getattr(a, f.name), getattr(b, f.name)) for f in fields(a))
        elif a != b:
            return False
    return True
