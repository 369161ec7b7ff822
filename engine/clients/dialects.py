"""How kinds of servers differ: one table, data alone. docs/dialects.md is written from it.

What is said of a server was read in its source or seen in its recorded answers; where neither was
possible the row takes the careful side.

Every sampling parameter that a profile takes is sent in every call: left unset, llama.cpp samples with
top_k 40, top_p 0.95, min_p 0.05 and vLLM with none of them, and the same program would score .45 on
the one and .26 on the other [measured: one-digit sums, SmolLM2-135M, temperature 0.8]. The default is
therefore one set for all servers of open weights: llama.cpp's.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from podium.dsl.verifiers import VENDOR_HOST

Cap = Literal["max_tokens", "max_completion_tokens"]
UsageOption = Literal["last", "each", "unasked"]
SchemaForm = Literal["response_format", "json_object", "none"]
Priority = Literal["none", "lower", "higher"]
ToolForm = Literal["native", "text"]

# llama.cpp's own defaults, which the embedded model was measured with.
OPEN_WEIGHTS = MappingProxyType({"temperature": 0.8, "top_p": 0.95, "top_k": 40, "min_p": 0.05})
# The documented defaults of the vendors' APIs.
VENDOR = MappingProxyType({"temperature": 1.0, "top_p": 1.0})
ALL = frozenset(OPEN_WEIGHTS)
_COMMON = ("temperature", "top_p")


@dataclass(frozen=True, slots=True)
class Gauges:
    """Names in the server's /metrics, without `_total`; the first that is there counts. See `gauges.Load`.

    read_has_hit: whether the tokens read include those found in its cache.
    """

    running: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    cache: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    hit: tuple[str, ...] = ()
    read_has_hit: bool = True


@dataclass(frozen=True, slots=True)
class Profile:
    """One kind of server. The fields not in HELP say how it is known, and are not for a `model` block.

    hosts: names of its own. owners: `owned_by` of its models. server: how its Server header begins.
    defaults: the sampling sent where the program says nothing. takes: the sampling parameters it knows.
    """

    name: str
    hosts: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()
    server: str = ""
    defaults: Mapping[str, float] = field(default_factory=lambda: OPEN_WEIGHTS)
    takes: frozenset[str] = ALL
    gauges: Gauges = Gauges()

    # --- what is sent
    cap: Cap = "max_tokens"
    usage: UsageOption = "last"
    schema: SchemaForm = "response_format"
    tools: ToolForm = "native"
    top_k_off: int = 0
    seed: bool = True
    salt: bool = False
    slots: bool = False
    priority: Priority = "none"
    affinity: str = ""
    cache_key: bool = False

    # --- what comes back
    reasoning: str = "reasoning_content"
    hides_reasoning: bool = False
    input_has_cached: bool = True
    cuts_prompts: bool = False
    busy_says: str = ""
    overflow_says: str = ""

    # --- connections and time
    reuses_connections: bool = True
    inflight: int = 32
    works_on_s: float = 2.0
    comments_s: float = 0.0
    idle_s: float = 120.0
    stuck_s: float = 1800.0
    first_s: float = 120.0
    check_s: float = 5.0

    # --- routes, from the server's root; "" where it has none
    about: str = ""
    count: str = ""
    health: str = ""
    metrics: str = ""


# What each field means, which a `model` block may set in its `profile`. docs/dialects.md shows it.
HELP: Mapping[str, str] = MappingProxyType(
    {
        "cap": (
            "the field that limits a reply: `max_tokens` or `max_completion_tokens`. With the other "
            "one Ollama sets no limit at all, and the vendor's reasoning models refuse it"
        ),
        "usage": (
            "how the tokens of a streamed reply are asked for: `last`, in its last chunk; `each`, in "
            "every chunk, where a stream that breaks off then still tells its prompt; `unasked`, "
            "where it tells them without being asked, or refuses the question"
        ),
        "schema": (
            "how a structured reply is asked for: `response_format`, with its JSON schema; "
            "`json_object`, as any object; `none`. Without a schema field the schema stands in the "
            "prompt. A reply is checked always"
        ),
        "tools": (
            "how an agent's tools are told of and called: `native`, in the protocol's own fields, and in "
            "words where the server refuses these or llama.cpp says that its model's template has no place for "
            "them; `text`, in words from the start, for models that were "
            "not taught the server's form"
        ),
        "top_k_off": "the number that switches `top_k` off",
        "seed": "whether a seed is sent, for which no server promises anything",
        "salt": "keeps the prompt caches of accounts apart by `cache_salt`",
        "slots": "calls are pinned to a slot of the server with `id_slot`",
        "priority": "which `priority` goes first: `lower`, `higher`, or `none` where there is no such field",
        "affinity": (
            "a header that routers choose a replica by; calls that share a prompt prefix send the "
            "same value"
        ),
        "cache_key": "the same value as `prompt_cache_key`, in the body",
        "reasoning": "the field of its reasoning; the other names in use are read where this one is empty",
        "hides_reasoning": "paid tokens may be invisible, so a reply without usage is charged at its cap",
        "input_has_cached": "`prompt_tokens` include the cached ones",
        "cuts_prompts": (
            "a prompt that is too long is cut without a word, so the server's count is compared with "
            "ours; else it is refused"
        ),
        "busy_says": "words of a refusal that mean: come back later",
        "overflow_says": "words of a refusal that mean: the prompt is too long",
        "reuses_connections": (
            "False for llama.cpp, which closes each connection after a stream though its headers say "
            "otherwise"
        ),
        "inflight": "calls at once where neither program nor server says",
        "works_on_s": "seconds for which it may still work on a call whose client has gone",
        "comments_s": "seconds between comments that it sends while it has nothing to say; 0: none",
        "idle_s": "seconds without a byte after which a stream counts as dead",
        "stuck_s": "seconds with nothing but comments after which a stream counts as dead",
        "first_s": (
            "as `idle_s`, for the first byte that ever comes from the model there, which it may have "
            "to load"
        ),
        "check_s": (
            "seconds without that byte after which the endpoint is asked whether it is still there; "
            "0: never"
        ),
        "about": "the route that tells its slots and window, beside the list of models",
        "count": "the route that counts the tokens of a call",
        "health": "the route that says whether it is ready",
        "metrics": "the route of its gauges and counters",
    }
)

# Servers that load a model on its first use answer nothing meanwhile. Ollama allows a load that stands
# still for five minutes (OLLAMA_LOAD_TIMEOUT, 5m); an unknown server may have one like it behind it.
LOADS_S = 300.0

_TABLE = (
    Profile(
        "openai",
        hosts=(VENDOR_HOST,),
        defaults=VENDOR,
        takes=frozenset(_COMMON),
        cap="max_completion_tokens",
        cache_key=True,
        hides_reasoning=True,
        works_on_s=0.0,  # no slot of ours is taken there
    ),
    Profile(
        "vllm",
        owners=("vllm",),
        salt=True,
        priority="lower",
        affinity="X-Session-ID",
        reasoning="reasoning",
        works_on_s=1.0,
        count="/tokenize",
        health="/health",
        metrics="/metrics",
        gauges=Gauges(
            running=("vllm:num_requests_running",),
            waiting=("vllm:num_requests_waiting",),
            cache=("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"),
            read=("vllm:prefix_cache_queries", "vllm:gpu_prefix_cache_queries"),
            hit=("vllm:prefix_cache_hits", "vllm:gpu_prefix_cache_hits"),
        ),
    ),
    Profile(
        "sglang",
        owners=("sglang",),
        top_k_off=-1,
        salt=True,
        priority="higher",
        affinity="X-SMG-Routing-Key",
        works_on_s=4.0,  # an unstreamed call took up to that long to stop [measured]
        count="/tokenize",
        health="/health",
        metrics="/metrics",
        gauges=Gauges(
            running=("sglang:num_running_reqs",),
            waiting=("sglang:num_queue_reqs",),
            cache=("sglang:token_usage",),
            read=("sglang:prompt_tokens",),
            hit=("sglang:cached_tokens",),
        ),
    ),
    Profile(
        "llama.cpp",
        owners=("llamacpp",),
        server="llama.cpp",
        slots=True,
        reuses_connections=False,
        inflight=4,
        works_on_s=1.0,  # it notices between two batches of tokens
        comments_s=30.0,
        about="/props",
        count="/v1/chat/completions/input_tokens",
        health="/health",
        metrics="/metrics",
        gauges=Gauges(
            running=("llamacpp:requests_processing",),
            waiting=("llamacpp:requests_deferred",),
            read=("llamacpp:prompt_tokens",),
            hit=("llamacpp:prompt_tokens_cached",),
            read_has_hit=False,
        ),
    ),
    Profile(
        "ollama",
        owners=("library",),
        defaults=MappingProxyType({name: OPEN_WEIGHTS[name] for name in _COMMON}),
        takes=frozenset(_COMMON),
        reasoning="reasoning",
        cuts_prompts=True,
        inflight=4,  # it queues the rest, and a queued call shows no sign of life
        works_on_s=1.0,
        first_s=LOADS_S,
        about="/api/ps",
        health="/",
    ),
    Profile(
        "openrouter",
        hosts=("openrouter.ai",),
        defaults=VENDOR,
        reasoning="reasoning",
        hides_reasoning=True,
        # Some of its providers work on: the call is charged all the same, and no slot of ours is taken.
        works_on_s=0.0,
        comments_s=10.0,
    ),
    # Any other server that speaks the protocol: max_tokens is what all of them know, and
    # what only some know (top_k, min_p) is sent where the program asks for it.
    Profile(
        "compatible",
        defaults=VENDOR,
        hides_reasoning=True,
        cuts_prompts=True,
        first_s=LOADS_S,
    ),
)
PROFILES: Mapping[str, Profile] = MappingProxyType({profile.name: profile for profile in _TABLE})
