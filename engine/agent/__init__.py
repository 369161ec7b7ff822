"""One agent: its prompt, its call, the attempt it gives."""

from .act import (
    Turn,
    act,
    call_of,
    cap_of,
    messages_of,
    seed_of,
    window_of,
)
from .history import prompt_tokens
from .prompt import View, attempt_view, clip, clip_bytes, fit_tokens, render, show
from .shape import Unreadable, failure_value, objects, parse, schema, whole_number
from .work import Ask, Bench

__all__ = [
    "Ask",
    "Bench",
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
