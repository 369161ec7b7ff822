"""Text of models, servers and files, made harmless for a terminal.

The rule this file keeps: no character reaches a terminal that moves its cursor, changes its state or
the direction of its text. What is taken out stays visible as an escape, so that nobody is misled.
"""

import re

# C0 but tab and newline, DEL, C1; marks, embeddings, overrides and isolates of bidirectional text;
# line and paragraph separators; byte order mark; lone surrogates, which no encoding can print.
_HARMFUL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)


def safe(text: str) -> str:
    r"""text with every harmful character written out: ESC becomes `\x1b`. CR LF counts as a newline."""
    return _HARMFUL.sub(_escape, text.replace("\r\n", "\n"))


def safe_line(text: str, width: int) -> str:
    """The same on one line of at most width characters, blanks collapsed, `...` where it was cut."""
    line = " ".join(safe(text[: 4 * width + 4]).split())
    return line if len(line) <= width else line[: max(0, width - 3)] + "..."


def safe_json(value: object) -> str:
    """value as indented JSON that is harmless too, and still stands for exactly the same value."""
    import json  # not loaded by `podium --version`

    text = json.dumps(value, indent=2, ensure_ascii=False)
    return _HARMFUL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
