"""What a run touches outside its own text, and whether it may: files, variables, hosts, Python."""

import shlex
from collections.abc import Callable, Mapping
from dataclasses import replace

from .draft import Draft, tools_of, verifiers
from .evaluate import Ask, Evaluator
from .model import EnvRef, Model
from .program import Tool
from .verifiers import DEFAULT_HOST, VENDOR_HOST, host_of, is_loopback

Allow = Callable[[str, str], bool]

_CODES = {"python": "E501", "file": "E502", "env": "E503", "host": "E505", "mcp": "E506"}
REFUSALS = frozenset(_CODES.values())
_SAYS = {
    "python": "calling Python code",
    "file": "reading a file",
    "env": "reading an environment variable",
    "host": "calling another machine",
    "mcp": "starting a program outside the sandbox",
}


def permits(evaluator: Evaluator, allow: Allow, ask: Ask) -> bool:
    """Whether ask is allowed; if not, it is reported with the flag that would allow it."""
    if allow(ask.kind, ask.value):
        return True
    allowed = f"{ask.kind}:{ask.value}"
    evaluator.error(
        _CODES[ask.kind],
        f"{_SAYS[ask.kind]} is not allowed: `{ask.value}`",
        ask.place,
        help=f"add `--allow {shlex.quote(allowed)}`, or list it under [allow] in podium.toml",
    )
    return False


def require(
    evaluator: Evaluator,
    allow: Allow,
    draft: Draft,
    models: Mapping[str, Model],
    *,
    default_url: str | None,
) -> None:
    """Report what the run uses and may not; what it only declares needs no permission.

    default_url: where endpoints without an address are; None: at the vendor's.
    """
    used = _used(draft, models)
    host = (host_of(default_url) if default_url else None) or VENDOR_HOST
    for ask in evaluator.asked:
        if (ask.kind, ask.value) not in used:
            continue
        if (ask.kind, ask.value) != ("host", DEFAULT_HOST):
            permits(evaluator, allow, ask)
        elif not is_loopback(host):
            permits(evaluator, allow, replace(ask, value=host))


def mcp_ask(server: Tool) -> tuple[str, str]:
    """The permission that a server of tools needs: to start its command, or to call its host."""
    if "url" in server.args:
        url = str(server.args["url"])
        return "host", host_of(url) or url
    argv = server.args["command"]
    return "mcp", " ".join(map(str, argv)) if isinstance(argv, tuple) else str(argv)


def _used(draft: Draft, models: Mapping[str, Model]) -> set[tuple[str, str]]:
    used: set[tuple[str, str]] = set()
    for leaf in (leaf for one in verifiers(draft.flow, draft.tasks) for leaf in one.leaves()):
        if leaf.kind == "python":
            used.add(("python", str(leaf.args.get("ref"))))
        if leaf.kind == "http":
            at = str(leaf.args.get("url"))
            used |= {("host", host_of(at) or at), ("env", str(leaf.args.get("key", "")))}
    functions = (tool for tool in tools_of(draft.flow) if tool.kind == "function")
    used |= {("python", str(tool.args["ref"])) for tool in functions}
    for server in (tool for tool in tools_of(draft.flow) if tool.kind == "mcp"):
        used.add(mcp_ask(server))
    for endpoint in (e for model in models.values() for e in model.endpoints):
        url = endpoint.base_url
        used |= {("env", ref.name) for ref in (url, endpoint.key) if isinstance(ref, EnvRef)}
        if isinstance(url, str):
            used.add(("host", host_of(url) or url))
        elif url is None and endpoint.kind == "openai":
            used.add(("host", DEFAULT_HOST))
    return used
