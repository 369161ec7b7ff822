"""How servers differ, as data: what each kind wants in a request, and what it can be trusted with.

Every sampling parameter that a profile takes is sent in every call: left unset, llama.cpp samples with
top_k 40, top_p 0.95, min_p 0.05 and vLLM with none of them, and the same program would score .45 on
the one and .26 on the other [measured: one-digit sums, SmolLM2-135M, temperature 0.8]. The default is
therefore one set for all servers of open weights: llama.cpp's.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from types import MappingProxyType
from typing import Literal

from podium.dsl.program import Sampling, Scalar

# llama.cpp's own defaults, which the embedded model was measured with.
OPEN_WEIGHTS = MappingProxyType({"temperature": 0.8, "top_p": 0.95, "top_k": 40, "min_p": 0.05})
# The documented defaults of the vendors' APIs.
VENDOR = MappingProxyType({"temperature": 1.0, "top_p": 1.0})
ALL = frozenset(OPEN_WEIGHTS)


@dataclass(frozen=True, slots=True)
class Profile:
    """One kind of server.

    cap: the field that limits the reply; with the other one Ollama and TGI set no limit at all, and
    the vendor's reasoning models refuse it. defaults: the sampling sent where the program says
    nothing. takes: the sampling parameters it knows. top_k_off: the number that switches top_k off.
    schema: where a JSON schema goes; none: it is not sent, and the reply is only validated.
    slots: calls are pinned with id_slot. reuses_connections: False for llama.cpp, which closes each
    connection after a stream though its headers say otherwise. hides_reasoning: paid tokens may be
    invisible, so a reply without usage is charged at its cap. input_has_cached: whether prompt_tokens
    include the cached ones. cuts_prompts: a too long prompt may be cut silently, so the server's count
    is compared with ours. inflight: calls at once where neither program nor server says.
    idle_s: seconds without a byte after which a stream counts as dead. first_s: the same for the first
    byte that ever comes from the model there, which it may have to load. check_s: seconds without that
    byte after which the endpoint is asked whether it is still there; 0: never.
    seed: whether a seed is sent, for which no server promises anything. salt: keeps the prompt caches of
    accounts apart by `cache_salt`.
    """

    name: str
    cap: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    defaults: Mapping[str, float] = field(default_factory=lambda: OPEN_WEIGHTS)
    takes: frozenset[str] = ALL
    top_k_off: int = 0
    schema: Literal["response_format", "none"] = "response_format"
    slots: bool = False
    reuses_connections: bool = True
    hides_reasoning: bool = False
    input_has_cached: bool = True
    cuts_prompts: bool = False
    inflight: int = 32
    idle_s: float = 120.0
    first_s: float = 120.0
    check_s: float = 5.0
    seed: bool = True
    salt: bool = False


_COMMON = ("temperature", "top_p")
# Servers that load a model on its first use answer nothing meanwhile. Ollama allows a load that stands
# still for five minutes (OLLAMA_LOAD_TIMEOUT, 5m); an unknown server may have one like it behind it.
LOADS_S = 300.0

PROFILES: Mapping[str, Profile] = MappingProxyType(
    {
        profile.name: profile
        for profile in (
            Profile(
                "openai",
                cap="max_completion_tokens",
                defaults=VENDOR,
                takes=frozenset(_COMMON),
                hides_reasoning=True,
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
            Profile("llama.cpp", slots=True, reuses_connections=False, inflight=4),
            Profile("vllm", salt=True),
            Profile("sglang", top_k_off=-1, salt=True),
            Profile(
                "ollama",
                defaults=MappingProxyType({name: OPEN_WEIGHTS[name] for name in _COMMON}),
                takes=frozenset(_COMMON),
                cuts_prompts=True,
                inflight=4,  # it queues the rest, and a queued call shows no sign of life
                first_s=LOADS_S,
            ),
        )
    }
)

# `owned_by` of /v1/models.
_OWNERS = {"vllm": "vllm", "sglang": "sglang", "llamacpp": "llama.cpp", "library": "ollama"}
VENDOR_HOST = "api.openai.com"


def recognise(host: str, owned_by: str, server: str) -> str:
    """The profile's name by the endpoint's host, the model's owned_by and the Server header."""
    if host == VENDOR_HOST:
        return "openai"
    if server.lower().startswith("llama.cpp"):
        return "llama.cpp"
    return _OWNERS.get(owned_by, "compatible")


def adjusted(profile: Profile, changes: Mapping[str, Scalar]) -> Profile:
    """profile with the changes of a model's `profile` field; `name` there chooses another one.

    Raises ValueError, worded for people, on an unknown field or a value of the wrong type.
    """
    rest = dict(changes)
    if (name := rest.pop("name", None)) is not None:
        profile = PROFILES[_known(str(name), PROFILES, "profile")]
    for key, value in rest.items():
        old: object = getattr(profile, _known(key, _CHANGEABLE, "field of a profile"))
        kind = type(old)
        if kind is float and type(value) is int:
            value = float(value)
        if type(value) is not kind:
            raise ValueError(f"profile.{key} is {value!r}; it must be of type {kind.__name__}")
        # The key is a field and the value of its type: both were checked above.
        profile = replace(profile, **{key: value})  # type: ignore[arg-type]
    return _checked(profile)


_CHANGEABLE = tuple(
    part.name for part in fields(Profile) if part.name not in ("name", "defaults", "takes")
)


def _known(word: str, words: Mapping[str, Profile] | tuple[str, ...], what: str) -> str:
    if word in words:
        return word
    near = get_close_matches(word, words, n=1)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(words)}"
    raise ValueError(f"there is no {what} named {word!r}: {hint}")


def _checked(profile: Profile) -> Profile:
    if profile.cap not in ("max_tokens", "max_completion_tokens"):
        raise ValueError(
            f"profile.cap is {profile.cap!r}; it must be max_tokens or max_completion_tokens"
        )
    if profile.schema not in ("response_format", "none"):
        raise ValueError(
            f"profile.schema is {profile.schema!r}; it must be response_format or none"
        )
    if profile.inflight < 1 or profile.idle_s <= 0 or profile.first_s <= 0:
        raise ValueError("profile.inflight, idle_s and first_s must be above zero")
    if profile.check_s < 0:
        raise ValueError("profile.check_s must be above zero, or 0 to switch the check off")
    return profile


def sampling_fields(profile: Profile, wanted: Sampling) -> dict[str, float]:
    """The sampling part of a request: what is wanted, else the profile's default, for all it takes.

    Raises ValueError, worded for people, where the program sets what this kind of server does not know.
    """
    found = dict(profile.defaults)
    for name in sorted(ALL):
        value = getattr(wanted, name)
        if value is None:
            continue
        if name not in profile.takes:
            raise ValueError(
                f"servers of the profile {profile.name} take no {name}: leave it out of `sampling`"
            )
        found[name] = value
    if found.get("top_k") == 0:
        found["top_k"] = profile.top_k_off
    return found
