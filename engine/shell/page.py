"""A page of HTML that needs nothing else: its frame, and the elements that are put in it. Pure.

The rule this file keeps: no text becomes markup, and none reaches a page with a character that would turn what
is around it. Elements are built as a tree, whose texts are escaped when it is written; there is no other way in,
but for a drawing of our own. No page has a script, and its policy lets none run, nor anything be loaded.
"""

from base64 import b64encode
from collections.abc import Iterable, Sequence
from hashlib import sha256
from html import escape
from pathlib import Path
from xml.etree.ElementTree import Element, tostring

from .safe import safe

Part = Element | str

_CSS = Path(__file__).with_name("page.css").read_text("utf-8")


def tag(name: str, *parts: Part, **attributes: str | float | None) -> Element:
    """An element around parts. An attribute's name ends before a trailing `_`; one that is None is left out."""
    element = Element(name)
    for key, value in attributes.items():
        if value is not None:
            shown = f"{value:.6g}" if isinstance(value, float) else str(value)
            element.set(key.rstrip("_").replace("_", "-"), safe(shown))
    add(element, *parts)
    return element


def add(element: Element, *parts: Part) -> None:
    """Put parts behind what is in element."""
    for part in parts:
        if isinstance(part, Element):
            element.append(part)
        elif len(element):
            element[-1].tail = (element[-1].tail or "") + safe(part)
        else:
            element.text = (element.text or "") + safe(part)


def markup(element: Element) -> str:
    """The element as a page has it."""
    return tostring(element, encoding="unicode", method="html")


def table(heads: Sequence[str], rows: Iterable[Sequence[Part]], left: int = 1) -> Element:
    """A table whose columns are figures, but for the first `left` ones."""

    def row(kind: str, cells: Sequence[Part]) -> Element:
        shown = (tag(kind, c, class_="n" if i >= left else None) for i, c in enumerate(cells))
        return tag("tr", *shown)

    body = tag("tbody", *(row("td", cells) for cells in rows))
    return tag("div", tag("table", tag("thead", row("th", heads)), body), class_="wide")


def clipped(text: str, most: int) -> str:
    """text; of one that is longer than most characters its beginning and its end, and how much is between."""
    if len(text) <= most:
        return text
    head = most * 2 // 3
    tail = most - head
    return (
        f"{text[:head]}\n[… {len(text) - most:,} characters left out …]\n{text[len(text) - tail :]}"
    )


def document(title: str, parts: Iterable[str], *, styled: bool = False) -> str:
    """The whole page, of parts that are markup already. styled: they have styles of their own, as a drawing of
    a plot library has; else only the page's own style sheet is let in, by its hash."""
    known = b64encode(sha256(_CSS.encode()).digest()).decode()
    styles = "'unsafe-inline'" if styled else f"'sha256-{known}'"
    policy = f"default-src 'none'; style-src {styles}; base-uri 'none'; form-action 'none'"
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="referrer" content="no-referrer">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(safe(title))}</title><style>{_CSS}</style></head>\n<body>"
        f"{''.join(parts)}</body></html>\n"
    )
