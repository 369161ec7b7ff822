"""What a run would touch besides its own text: hosts, files, Python, programs and so on. Pure; opens nothing."""

from collections.abc import Iterator
from typing import NamedTuple

from podium.dsl.draft import tools_of
from podium.dsl.model import EnvRef, Model
from podium.dsl.permission import mcp_ask
from podium.dsl.prices import PRICE_OF
from podium.dsl.program import Flow, Program, Task, Verifier, subflows, verifier_of
from podium.dsl.source import EXPRESSION
from podium.dsl.verifiers import VENDOR_HOST, host_of


def touched(program: Program) -> dict[str, list[str]]:
    """What a run of program would touch besides its own text, by kind; variables by name, never by value."""
    hosts, variables = set[str](), set[str]()
    for model in program.models.values():
        for host, names in map(_reached, _addresses(model)):
            hosts.add(host)
            variables |= names
    leaves = [leaf for verifier in _verifiers(program) for leaf in verifier.leaves()]
    python = {str(leaf.args.get("ref")) for leaf in leaves if leaf.kind == "python"}
    python |= {str(t.args["ref"]) for t in tools_of(program.flow) if t.kind == "function"}
    for leaf in (leaf for leaf in leaves if leaf.kind == "http"):
        hosts.add(host_of(str(leaf.args.get("url"))) or "")
        variables |= {str(leaf.args["key"])} if leaf.args.get("key") else set()
    started = [leaf.args.get("argv", ()) for leaf in leaves if leaf.kind == "command"]
    programs = {" ".join(map(str, argv)) for argv in started if isinstance(argv, tuple)}
    asks = {mcp_ask(tool) for tool in tools_of(program.flow) if tool.kind == "mcp"}
    hosts |= {host for kind, host in asks if kind == "host"}
    servers = {f"{command} (outside the sandbox)" for kind, command in asks if kind == "mcp"}
    own = ("std.", PRICE_OF, EXPRESSION)  # these texts are in no file
    files = [source.name for source in program.sources if not source.name.startswith(own)]
    return {
        "Hosts": sorted(hosts),
        "Variables": sorted(variables),
        "Files": files,
        "Python": sorted(python),
        "Programs": sorted(programs | servers),
        "Writes": [] if program.out is None else [program.out],
    }


class _Address(NamedTuple):
    kind: str
    url: str | EnvRef | None
    key: EnvRef | None


def _addresses(model: Model) -> Iterator[_Address]:
    return (_Address(one.kind, one.base_url, one.key) for one in model.endpoints)


def _reached(address: _Address) -> tuple[str, set[str]]:
    """The host that an endpoint is on, and the variables that its address and key are read from."""
    names = {ref.name for ref in (address.url, address.key) if isinstance(ref, EnvRef)}
    if address.kind == "local":
        return "this machine (embedded model)", names
    match address.url:
        case None:
            keys = set[str]() if address.key is not None else {"OPENAI_API_KEY"}
            return f"{VENDOR_HOST}, or that of OPENAI_BASE_URL", names | keys | {"OPENAI_BASE_URL"}
        case EnvRef(name=name):
            return f"that of {name}", names
        case str(url):
            host = host_of(url) or url
            keys = {"OPENAI_API_KEY"} if host == VENDOR_HOST and address.key is None else set[str]()
            return host, names | keys


def _verifiers(program: Program) -> Iterator[Verifier]:
    tasks: tuple[Task, ...] = program.tasks
    yield from (task.verify for task in tasks if task.verify is not None)
    yield from (own for flow in _flows(program.flow) if (own := verifier_of(flow)) is not None)


def _flows(flow: Flow) -> Iterator[Flow]:
    seen = set[int]()
    waiting = [flow]
    while waiting:
        one = waiting.pop()
        if id(one) not in seen:
            seen.add(id(one))
            yield one
            waiting.extend(subflows(one))
