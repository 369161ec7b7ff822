"""Which dialect a server speaks, and what a program changes about it. The table is `.dialects`."""

from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, get_args, get_type_hints

from podium.dsl.model import Sampling
from podium.dsl.quantity import Scalar

from .dialects import ALL, HELP, PROFILES, Profile

UNKNOWN = "compatible"


def recognise(host: str, owned_by: str, server: str) -> str:
    """The profile's name by the endpoint's host, the model's owned_by and the Server header."""
    for profile in PROFILES.values():
        if any(host == own or host.endswith(f".{own}") for own in profile.hosts):
            return profile.name
    for profile in PROFILES.values():
        if profile.server and server.lower().startswith(profile.server):
            return profile.name
    owners = {owner: profile.name for profile in PROFILES.values() for owner in profile.owners}
    return owners.get(owned_by, UNKNOWN)


def adjusted(profile: Profile, changes: Mapping[str, Scalar]) -> Profile:
    """profile with the changes of a model's `profile` field; `name` there chooses another one.

    Raises ValueError, worded for people, on an unknown field or a value of the wrong type.
    """
    rest = dict(changes)
    if (name := rest.pop("name", None)) is not None:
        profile = PROFILES[_known(str(name), PROFILES, "profile")]
    for key, value in rest.items():
        key = _known(key, HELP, "field of a profile")
        # The key is a field and the value of its type: both are checked.
        profile = replace(profile, **{key: _fitting(key, value)})  # type: ignore[arg-type]  # fits, as just checked
    return _checked(profile)


_TYPES: Mapping[str, Any] = get_type_hints(Profile)


def _known(word: str, words: Mapping[str, Any], what: str) -> str:
    if word in words:
        return word
    near = get_close_matches(word, words, n=1)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(words)}"
    raise ValueError(f"there is no {what} named {word!r}: {hint}")


def _fitting(key: str, value: Scalar) -> Scalar:
    """value as the field's type has it. Raises ValueError."""
    kind = _TYPES[key]
    if choices := get_args(kind):
        if value not in choices:
            raise ValueError(f"profile.{key} is {value!r}; it must be {' or '.join(choices)}")
        return value
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:
        raise ValueError(f"profile.{key} is {value!r}; it must be of type {kind.__name__}")
    return value


def _checked(profile: Profile) -> Profile:
    above = ("inflight", "idle_s", "first_s", "stuck_s")
    if any(getattr(profile, name) <= 0 for name in above):
        raise ValueError(f"profile.{', '.join(above[:-1])} and {above[-1]} must be above zero")
    if profile.check_s < 0:
        raise ValueError("profile.check_s must be above zero, or 0 to switch the check off")
    if 0 < profile.comments_s >= profile.idle_s:
        raise ValueError(
            f"profile.idle_s is {profile.idle_s:g}: a healthy stream may be silent for the"
            f" {profile.comments_s:g} s of comments_s, so it must be longer"
        )
    for name in ("about", "count", "health", "metrics"):
        if (route := getattr(profile, name)) and not route.startswith("/"):
            raise ValueError(f"profile.{name} is {route!r}; a route begins with /")
    if not profile.affinity.replace("-", "").isalnum() and profile.affinity:
        raise ValueError(f"profile.affinity is {profile.affinity!r}; it must be a header's name")
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
