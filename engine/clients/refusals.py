"""What refusals mean: one table, data alone. docs/dialects.md is written from it.

A row is a kind of failure and how it is told. A code that the server chose comes before its status, since
one status is many things: 429 is pace, overload or an empty account; 400 is a wrong field or a prompt too
long. Words of a message decide where there is no code, and a bare status where there are no words.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..call import FailureKind


@dataclass(frozen=True, slots=True)
class Rule:
    """codes: of `code`, `type` or `error_type`, in lower case. words: patterns looked for, in any case, in
    messages of said_with, a set of statuses. statuses: that mean it by themselves, and whether work may have
    been paid then.
    """

    kind: FailureKind
    codes: frozenset[str] = frozenset()
    words: tuple[str, ...] = ()
    said_with: frozenset[int] = frozenset()
    statuses: Mapping[int, bool] = field(default_factory=dict[int, bool])


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# The first row that fits decides: over codes, then over words, then over statuses.
RULES: tuple[Rule, ...] = (
    Rule(
        "quota",
        codes=_set(
            "insufficient_quota credit_balance_exhausted organization_spend_limit_exceeded"
            " project_spend_limit_exceeded organization_usage_limit_exceeded billing_not_active"
            " billing_hard_limit_reached insufficient_balance account_suspended"
        ),
        words=(
            r"\bquota\b.{0,80}billing",
            r"insufficient (balance|credits|funds)",
        ),
        said_with=frozenset((402, 403, 412, 429)),
        statuses={402: False, 412: False},
    ),
    Rule(
        "overflow",
        codes=_set(
            "context_length_exceeded exceed_context_size_error token_limit_exceeded"
            " max_tokens_exceeded model_context_window_exceeded"
        ),
        # Read in the sources of servers that give no code.
        words=(
            r"maximum context length",
            r"(than|exceeds?) the (model's|available) (maximum )?context",
            r"longer than the maximum model length",
            r"greater than max_model_len",
            r"exceeds the maximum (allowed )?length",
            r"less than the context length",
            r"inputs` tokens \+ `max_new_tokens`",
            r"context (length|window|size) .{0,40}exceeded",
            r"max_(completion_)?tokens is too large",
            r"prompt is too long",
        ),
        said_with=frozenset((400, 403, 404, 413, 422, 500)),
        statuses={413: False},
    ),
    Rule(
        "model",
        codes=_set("model_not_found model_not_available deploymentnotfound"),
        words=(
            r"model .{0,120}(does not exist|not found|is not available|not supported)",
            r"no such model",
            r"unknown model",
            r"invalid model",
            r"not a valid model",
            r"try pulling it",
            r"server is pinned to",
        ),
        said_with=frozenset((400, 404)),
    ),
    Rule(
        "request",
        codes=_set("content_filter content_policy_violation invalid_prompt cyber_policy"),
        words=(
            r"requires moderation",
            r"was flagged",
            r"content management policy",
            r"without a priority",  # SGLang, if it was started so
        ),
        said_with=frozenset((400, 403, 503)),
        statuses={501: False},
    ),
    Rule(
        "credentials",
        codes=_set(
            "invalid_api_key authentication_error permission_error permission_denied account_deactivated"
        ),
        words=(
            r"api[ _-]?key",
            r"unauthori[sz]ed",
            r"authentication",
        ),
        said_with=frozenset((400, 403)),
        statuses={401: False, 403: False},
    ),
    Rule(
        "busy",
        codes=_set(
            "rate_limit_exceeded rate_limit_error slow_down server_is_overloaded overloaded_error"
            " engine_overloaded too_many_requests unavailable_error openrouter_in_flight_budget"
        ),
        statuses=dict.fromkeys((409, 425, 429, 503, 529), False),
    ),
    Rule(
        "server",
        # TGI tells every failure inside of a stream as a 422.
        words=(r"failed during generation",),
        said_with=frozenset((422,)),
        statuses=dict.fromkeys((408, 424, 499), True),
    ),
)
