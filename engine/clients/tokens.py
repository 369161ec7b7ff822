"""Upper bounds of token counts, from bytes alone: what may be charged where a server says nothing."""

import unicodedata
from collections.abc import Iterable

from ..call import Message

# Role markers cost 3 to 8 tokens a message; a template's own system text, BOS and the start of the
# reply up to about 100 (gpt-oss). Doubled, since no template may exceed the bound.
PER_MESSAGE = 16
PER_CALL = 256


def text_bound(text: str) -> int:
    """No tokenizer makes more tokens of text than this.

    A byte-level tokenizer makes at most one token of a byte; one that normalises first makes at most
    one of a byte of the normalised text [measured: 3,000 random strings; U+FDFA gives 15 with NFKC].
    """
    if text.isascii():
        return len(text)
    forms = (text, unicodedata.normalize("NFC", text), unicodedata.normalize("NFKC", text))
    return max(len(form.encode(errors="surrogatepass")) for form in forms)


def prompt_bound(messages: Iterable[Message]) -> int:
    """No template makes more tokens of messages than this."""
    return PER_CALL + sum(PER_MESSAGE + text_bound(message.content) for message in messages)


def prompt_floor(messages: Iterable[Message]) -> int:
    """Words in messages: tokenizers in use make at least one token of each."""
    return sum(len(message.content.split()) for message in messages)
