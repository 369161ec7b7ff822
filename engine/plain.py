"""Text from outside made safe to keep and to show. Pure."""

import re

# Everything a terminal may act on: C0 but tab and newline, DEL, C1; and halves of surrogate pairs.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")


def clean(text: str) -> str:
    """text without control characters but tab and newline; CR and CRLF become newlines.

    Halves of a surrogate pair are joined, lone ones become U+FFFD, so that the result has a UTF-8 form.
    """
    if _CONTROL.search(text) is None:
        return text
    if _SURROGATE.search(text) is not None:
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def excerpt(text: str, length: int = 200) -> str:
    """text on one line, cleaned, spaces run together, cut to length: fit to stand in a message."""
    line = " ".join(clean(text).split())
    return line if len(line) <= length else line[: length - 1] + "…"
