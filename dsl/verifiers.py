"""Verifiers, endpoints and the small values beside them: what their calls give."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from ipaddress import ip_address
from pathlib import PurePosixPath
from typing import Literal
from urllib.parse import urlsplit

from .calls import FINAL
from .context import Bound, Context
from .judging import judges
from .model import Endpoint, EnvRef
from .program import Plateau, Tool, Verifier
from .quantity import Scalar
from .reading import amount, as_int, as_number, as_text, as_word, items, scalar, show
from .types import CONDITION, ENDPOINT, ENV, TEXT, TOOL, VERIFIER, Setting
from .values import BAD, Items, Policy, Quantity, Unknown, Value

VENDOR_HOST = "api.openai.com"
DEFAULT_HOST = (
    ""  # of an endpoint without an address: the vendor's, or what the environment says instead
)

Args = Mapping[str, Scalar | tuple[Scalar, ...]]


def verifier(bound: Bound, args: Args, parts: tuple[Verifier, ...] = ()) -> Verifier:
    """The verifier of bound's kind; its name is that of its kind until a declaration gives another.

    One with a part that is final is final itself: otherwise it would show what that part is to hide.
    """
    hides = bound.name in FINAL or any(part.use == "final" for part in parts)
    default: Literal["always", "final"] = "final" if hides else "always"
    use = as_word(bound.value("use"), default)
    seconds = amount(bound.value("timeout"))
    return Verifier(
        bound.name,
        bound.name,
        args,
        timeout_s=60.0 if seconds is None else float(seconds),
        inflight=as_int(bound.value("inflight")) if bound.known("inflight") else None,
        use="final" if use == "final" else "always",
        finalists=as_int(bound.value("finalists"), 0) if bound.known("finalists") else 0,
        parts=parts,
    )


def constants(value: Value) -> Scalar | tuple[Scalar, ...]:
    """A value as a verifier keeps it: a text, a number, or several."""
    if isinstance(value, Items):
        return tuple(scalar(item) for item in value.items)
    return scalar(value)


def _python(context: Context, bound: Bound) -> Value:
    ref = bound.value("ref")
    if not isinstance(ref, str):
        return Unknown(VERIFIER)
    package, colon, name = ref.partition(":")
    if not colon or not all(p.isidentifier() for p in (*package.split("."), *name.split("."))):
        context.error(
            "E120",
            f"{show(ref)} names no function",
            bound.at("ref"),
            help='write module and name: `python("package.module:name")`',
        )
        return BAD
    context.ask("python", ref, bound.at("ref"))
    return verifier(bound, {"ref": ref} | ({"once": True} if bound.value("once") is True else {}))


def _expecting(context: Context, bound: Bound) -> Value:
    if not bound.known("expected"):
        return verifier(bound, {"expected": ""})
    args: dict[str, Scalar | tuple[Scalar, ...]] = {"expected": constants(bound.value("expected"))}
    if bound.name == "number":
        args["tolerance"] = as_number(bound.value("tolerance"))
        if not _is_number(args["expected"]):
            context.error(
                "E120",
                f"{show(bound.value('expected'))} is no number",
                bound.at("expected"),
                help="compare texts with `exact(…)`",
            )
            return BAD
    return verifier(bound, args)


def _is_number(value: object) -> bool:
    try:
        float(str(value).replace(",", "").replace("_", ""))
    except ValueError:
        return False
    return True


def _contains(context: Context, bound: Bound) -> Value:
    texts = tuple(
        item for _, arg in bound.rest for item in items(arg.value) if isinstance(item, str)
    )
    unknown = any(isinstance(arg.value, Unknown) for _, arg in bound.rest)
    if not texts and not unknown:
        context.error(
            "E112",
            "`contains` needs a text to look for",
            bound.place,
            help='write `contains("one", "two")`',
        )
        return BAD
    return verifier(bound, {"expected": texts})


def _command(context: Context, bound: Bound) -> Value:
    given = [item for _, arg in bound.rest for item in items(arg.value)]
    if not given and not any(isinstance(arg.value, Unknown) for _, arg in bound.rest):
        context.error(
            "E112",
            "`command` needs a program to start",
            bound.place,
            help='write `command("python3", "check.py", files = ["check.py"])`',
        )
        return BAD
    files: list[str] = []
    for path in items(bound.value("files")):
        text = context.text(path, bound.at("files")) if isinstance(path, str) else None
        if isinstance(path, str) and text is not None:
            files += [PurePosixPath(path).name, text]
    if len({*files[::2]}) < len(files) // 2:
        context.error(
            "E120", "two files have the same name; each lies in one folder", bound.at("files")
        )
        return BAD
    args: dict[str, Scalar | tuple[Scalar, ...]] = {"argv": tuple(as_text(one) for one in given)}
    return verifier(bound, args | ({"files": tuple(files)} if files else {}))


def _mcp(context: Context, bound: Bound) -> Value:
    """The tools of a server. It is named by its program, or by its host."""
    words = tuple(as_text(arg.value) for _, arg in bound.rest)
    if any(isinstance(arg.value, Unknown) for _, arg in bound.rest):
        return Unknown(TOOL)
    if bool(words) == bound.given("url"):
        context.error(
            "E112",
            "`mcp` needs a command, or the address of a server that runs",
            bound.place,
            help='write `mcp("uvx", "mcp-server-fetch")` or `mcp(url = "http://127.0.0.1:8000/mcp")`',
        )
        return BAD
    args: dict[str, Scalar | tuple[Scalar, ...]] = {"command": words}
    name = PurePosixPath(words[-1]).name if words else ""
    if words:
        context.ask("mcp", " ".join(words), bound.place)
    elif bound.known("url"):
        url = as_text(bound.value("url"))
        _ask_host(context, url, bound)
        args = {"url": url}
        name = host_of(url) or url
    seconds = amount(bound.value("timeout"))
    return Tool(
        name,
        "mcp",
        args,
        timeout_s=60.0 if seconds is None else float(seconds),
        inflight=as_int(bound.value("inflight")) if bound.known("inflight") else None,
        once=bound.value("once") is True,
    )


def _http(context: Context, bound: Bound) -> Value:
    url = as_text(bound.value("url"))
    if bound.known("url"):
        _ask_host(context, url, bound)
    key = bound.value("key")
    return verifier(bound, {"url": url} | ({"key": key.name} if isinstance(key, EnvRef) else {}))


def _judge(context: Context, bound: Bound) -> Value:
    asked = judges(context, bound)
    args: dict[str, Scalar | tuple[Scalar, ...]] = {
        "by": tuple(judge.name for judge in asked),
        "model": tuple(judge.model or "" for judge in asked),
        "rubric": as_text(bound.value("rubric")) if bound.known("rubric") else "",
        "against": as_word(bound.value("against"), "none"),
    }
    return replace(verifier(bound, args), judges=asked)


def _several(context: Context, bound: Bound) -> Value:
    values = [arg.value for _, arg in bound.rest] or list(items(bound.value("verifiers")))
    if not values and not isinstance(bound.value("verifiers"), Unknown):
        context.error("E112", f"`{bound.name}` needs verifiers", bound.place)
        return BAD
    weights = items(bound.value("weights")) if bound.name == "weighted" else ()
    if bound.known("weights") and bound.known("verifiers"):
        _weights(context, bound, weights, len(values))
    parts = tuple(value for value in values if isinstance(value, Verifier))
    args: dict[str, tuple[Scalar, ...]] = {"of": tuple(digest_of(part) for part in parts)}
    if weights:
        args["weights"] = tuple(scalar(weight) for weight in weights)
    return verifier(bound, args, parts)


def _weights(context: Context, bound: Bound, weights: Sequence[Value], count: int) -> None:
    found = [weight for weight in weights if isinstance(weight, int | float)]
    if len(weights) != count:
        context.error(
            "E210",
            f"{len(weights)} weights do not go with {count} verifiers",
            bound.at("weights"),
        )
    elif len(found) == len(weights) and (min(found) < 0 or not any(found)):
        context.error(
            "E120",
            "weights are 0 or more, and one is above 0",
            bound.at("weights"),
            help="write, for example, `weights = [2, 1]`",
        )


def digest_of(verifier: Verifier) -> str:
    """What verifier is, in one text: the same for those that judge alike."""
    return f"{verifier.kind} {sorted(verifier.args.items())}"


# --- endpoints and what they are made of ----------------------------------------------------------


def _openai(context: Context, bound: Bound) -> Value:
    url = bound.value("base_url")
    if not bound.known("name") or isinstance(url, Unknown):
        return Unknown(ENDPOINT)
    if isinstance(url, str):
        _ask_host(context, url, bound)
    elif url is None:
        context.ask("host", DEFAULT_HOST, bound.place)
    key = bound.value("key")
    return Endpoint(
        "openai",
        as_text(bound.value("name")),
        url if isinstance(url, str | EnvRef) else None,
        key if isinstance(key, EnvRef) else None,
    )


def _ask_host(context: Context, url: str, bound: Bound) -> None:
    host = host_of(url)
    at = bound.at("base_url" if bound.given("base_url") else "url")
    if host is None:
        context.error(
            "E120",
            f"{show(url)} is no address",
            at,
            help='write, for example, `"http://127.0.0.1:8000/v1"`',
        )
    elif not is_loopback(host):
        context.ask("host", host, at)


def host_of(url: str) -> str | None:
    """The host of an http address; None where url is none."""
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        return None
    return host if parts.scheme in ("http", "https") and host else None


def is_loopback(host: str) -> bool:
    """This machine by name or number; a name that only resolves to it is not trusted."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _local(context: Context, bound: Bound) -> Value:
    return Endpoint("local", as_text(bound.value("name")))


def _env(context: Context, bound: Bound) -> Value:
    name = bound.value("name")
    if not isinstance(name, str):
        return Unknown(ENV)
    if not name.isidentifier():
        context.error("E120", f"{show(name)} names no environment variable", bound.at("name"))
        return BAD
    context.ask("env", name, bound.at("name"))
    return EnvRef(name)


def _file(context: Context, bound: Bound) -> Value:
    path = bound.value("path")
    text = context.text(path, bound.at("path")) if isinstance(path, str) else None
    return Unknown(TEXT) if text is None else text


# --- policies ------------------------------------------------------------------------------------


def _policy(context: Context, bound: Bound) -> Value:
    value = bound.value("time" if bound.name == "lease" else "k")
    if isinstance(value, Unknown):
        return Unknown(Setting(bound.name))
    if isinstance(value, Quantity):
        return Policy(bound.name, value.amount)
    return Policy(bound.name, as_int(value))


def _plateau(context: Context, bound: Bound) -> Value:
    if not bound.known("rounds"):
        return Unknown(CONDITION)
    return Plateau(as_int(bound.value("rounds")))


BUILDERS: Mapping[str, Callable[[Context, Bound], Value]] = {
    "python": _python,
    "exact": _expecting,
    "number": _expecting,
    "choice": _expecting,
    "contains": _contains,
    "command": _command,
    "http": _http,
    "judge": _judge,
    "panel": _judge,
    "all_of": _several,
    "any_of": _several,
    "weighted": _several,
    "openai": _openai,
    "local": _local,
    "mcp": _mcp,
    "env": _env,
    "file": _file,
    "last": _policy,
    "every": _policy,
    "pass": _policy,
    "submit": _policy,
    "lease": _policy,
    "plateau": _plateau,
}
