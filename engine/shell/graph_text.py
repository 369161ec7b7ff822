"""A drawing as Mermaid text and as an SVG picture. Pure; labels are escaped in both."""

from collections.abc import Mapping
from html import escape
from typing import NamedTuple

from .graph_model import Arrow, Box, Drawing, Shape
from .safe import safe_line

_LABEL = 60  # characters of a line in a box
_BRACKETS: dict[Shape, tuple[str, str]] = {
    "task": ("([", "])"),
    "answer": ("([", "])"),
    "agent": ("[", "]"),
    "team": ("[[", "]]"),
    "control": ("{{", "}}"),
    "reduce": ("[/", "\\]"),
}


def mermaid(drawn: Drawing) -> str:
    """A Mermaid flowchart, top down."""
    lines = ["flowchart TD"]
    lines.extend(f"  n{box.number}{_mermaid_box(box)}" for box in drawn.boxes)
    lines.extend(_mermaid_arrow(arrow) for arrow in drawn.arrows)
    return "\n".join(lines) + "\n"


def _mermaid_box(box: Box) -> str:
    opened, closed = _BRACKETS[box.shape]
    label = "<br/>".join(mermaid_label(line) for line in box.lines)
    return f'{opened}"{label}"{closed}'


def _mermaid_arrow(arrow: Arrow) -> str:
    line = "-.->" if arrow.back else "-->"
    label = f'|"{mermaid_label(arrow.label)}"|' if arrow.label else ""
    return f"  n{arrow.start} {line}{label} n{arrow.end}"


def mermaid_label(text: str) -> str:
    """text inside a quoted label: everything but letters, digits and plain marks as an entity."""
    return "".join(
        char if char.isalnum() or char in " .,:()-_/$%" else f"#{ord(char)};"
        for char in safe_line(text, _LABEL)
    )


# --- SVG -------------------------------------------------------------------------------------

_CHAR, _LINE, _PAD, _GAP_X, _GAP_Y = 7.5, 17, 10, 28, 46  # pixels; a 13 px font is 7.5 wide
_FILL: dict[Shape, str] = {
    "task": "#eef",
    "answer": "#efe",
    "agent": "#fff",
    "team": "#ffd",
    "control": "#f4f4f4",
    "reduce": "#fef",
}


class Place(NamedTuple):
    """Where a box lies: its centre and its size."""

    x: float
    y: float
    width: float
    height: float


def svg(drawn: Drawing) -> str:
    """A picture in layers: each box stands below all boxes whose arrows lead to it."""
    places = layout(drawn)
    width = max((p.x + p.width / 2 for p in places.values()), default=0) + _GAP_X
    height = max((p.y + p.height / 2 for p in places.values()), default=0) + _GAP_X
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" font-family="monospace" font-size="13">',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" '
        'markerHeight="8" orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>',
    ]
    parts.extend(_svg_arrow(arrow, places) for arrow in drawn.arrows)
    parts.extend(_svg_box(box, places[box.number]) for box in drawn.boxes)
    return "\n".join([*parts, "</svg>"]) + "\n"


def layers(drawn: Drawing) -> list[list[Box]]:
    """The boxes by the longest way that leads to them; arrows back do not count.

    A box is drawn after all that lead to it, so one pass in the order of drawing is enough.
    """
    depth = dict.fromkeys(range(len(drawn.boxes)), 0)
    for arrow in sorted(drawn.arrows, key=lambda arrow: arrow.end):
        if not arrow.back:
            depth[arrow.end] = max(depth[arrow.end], depth[arrow.start] + 1)
    rows: list[list[Box]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for box in drawn.boxes:
        rows[depth[box.number]].append(box)
    return rows


def layout(drawn: Drawing) -> dict[int, Place]:
    """Where each box lies, rows centred above one another; no two boxes overlap."""
    rows = layers(drawn)
    sizes = {box.number: _size(box) for box in drawn.boxes}
    widths = [sum(sizes[b.number][0] + _GAP_X for b in row) - _GAP_X for row in rows]
    middle = max(widths, default=0) / 2 + _GAP_X
    places: dict[int, Place] = {}
    top: float = _GAP_X
    for row, row_width in zip(rows, widths, strict=True):
        left = middle - row_width / 2
        tallest = max(sizes[box.number][1] for box in row)
        for box in row:
            width, height = sizes[box.number]
            places[box.number] = Place(left + width / 2, top + tallest / 2, width, height)
            left += width + _GAP_X
        top += tallest + _GAP_Y
    return places


def _size(box: Box) -> tuple[float, float]:
    longest = max((len(safe_line(line, _LABEL)) for line in box.lines), default=0)
    return longest * _CHAR + 2 * _PAD, len(box.lines) * _LINE + 2 * _PAD


def _svg_box(box: Box, place: Place) -> str:
    left, top = place.x - place.width / 2, place.y - place.height / 2
    corner = 14 if box.shape in ("task", "answer") else 3
    texts = "".join(
        f'<text x="{place.x:.1f}" y="{top + _PAD + _LINE * (number + 0.75):.1f}" '
        f'text-anchor="middle">{_svg_text(line)}</text>'
        for number, line in enumerate(box.lines)
    )
    return (
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{place.width:.1f}" '
        f'height="{place.height:.1f}" rx="{corner}" fill="{_FILL[box.shape]}" stroke="#333"/>'
        f"{texts}"
    )


def _svg_arrow(arrow: Arrow, places: Mapping[int, Place]) -> str:
    a, b = places[arrow.start], places[arrow.end]
    if arrow.back:
        x1, y1, x2, y2 = a.x + a.width / 2, a.y, b.x + b.width / 2, b.y
        out = max(x1, x2) + _GAP_X
        path = f"M{x1:.1f} {y1:.1f}C{out:.1f} {y1:.1f} {out:.1f} {y2:.1f} {x2:.1f} {y2:.1f}"
        at = (out, (y1 + y2) / 2)
    else:
        x1, y1, x2, y2 = a.x, a.y + a.height / 2, b.x, b.y - b.height / 2
        path = f"M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}"
        at = ((x1 + x2) / 2 + 4, (y1 + y2) / 2)
    dashes = ' stroke-dasharray="4 3"' if arrow.back else ""
    label = (
        f'<text x="{at[0]:.1f}" y="{at[1]:.1f}" font-size="11">{_svg_text(arrow.label)}</text>'
        if arrow.label
        else ""
    )
    return f'<path d="{path}" fill="none" stroke="#333"{dashes} marker-end="url(#tip)"/>{label}'


def _svg_text(text: str) -> str:
    return escape(safe_line(text, _LABEL))
