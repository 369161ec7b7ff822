"""One agent: its prompt, its call, the attempt it gives."""

from .act import (
    Ask,
    Turn,
    act,
    call_of,
    cap_of,
    messages_of,
    prompt_tokens,
    seed_of,
    window_of,
)
from .prompt import View, attempt_view, clip, clip_bytes, fit_tokens, render, show
from .shape import Unreadable, failure_value, objects, parse, schema, whole_number

__all__ = [
    "Ask",
    "Turn",
    "Unreadable",
    "View",
    "act",
    "attempt_view",
    "call_of",
    "cap_of",
    "clip",
    "clip_bytes",
    "failure_value",
    "fit_tokens",
    "messages_of",
    "objects",
    "parse",
    "prompt_tokens",
    "render",
    "schema",
    "seed_of",
    "show",
    "whole_number",
    "window_of",
]
