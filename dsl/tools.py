"""The tools of a role: what stands in its `tools`, and what of it an agent can be given."""

from .context import Context
from .fields import Got
from .program import ContextPolicy, Tool, ToolKind, Verifier
from .reading import as_word, items
from .source import Place
from .values import Noun, Policy, Unknown, Value, Word

_KINDS: dict[str, ToolKind] = {
    "submit": "submit",
    "notes": "notes",
    "attempts": "attempts",
    "shell": "shell",
    "read": "read",
    "write": "write",
    "edit": "edit",
    "python": "python",
}
_POLICIES: dict[str, ContextPolicy] = {
    "keep": "keep", "drop_oldest": "drop_oldest", "summarise": "summarise", "restart": "restart"
}  # fmt: skip
# Tools that work in an agent's folder.
SANDBOXED = frozenset({"shell", "read", "write", "edit", "python"})


def tools_of(context: Context, noun: Noun, got: Got) -> tuple[Tool, ...]:
    """The tools that the fields of a role or a task list, each name once."""
    found: dict[str, Tool] = {}
    for value in items(got.value("tools")):
        tool = _tool(context, value, got.at("tools"))
        if tool is None:
            continue
        if tool.name in found:
            context.error(
                "E212",
                f"{noun.kind} `{noun.name}` has two tools called `{tool.name}`",
                got.at("tools"),
                help="keep one: a model calls a tool by its name",
            )
        found.setdefault(tool.name, tool)
    return tuple(found.values())


def _tool(context: Context, value: Value, place: Place) -> Tool | None:
    match value:
        case Word(name=name):
            return Tool(name, _KINDS[name])
        case Policy(amount=times):
            return Tool("submit", "submit", {"times": int(times)})
        case Tool():
            return value
        case Verifier(args=args, timeout_s=timeout_s, inflight=inflight, use=use):
            if use == "final":
                context.error(
                    "E212", "`use` says how scores are used, and a tool gives none", place
                )
            ref = str(args.get("ref", ""))
            name = ref.rpartition(":")[2].rpartition(".")[2]
            once = args.get("once") is True
            return Tool(name, "function", {"ref": ref}, timeout_s, inflight, once)
        case _:
            return None


def policy_of(context: Context, noun: Noun, got: Got, tools: tuple[Tool, ...]) -> ContextPolicy:
    """What the role does once its window is full; what that needs is looked for."""
    policy = _POLICIES.get(as_word(got.value("context"), "keep"), "keep")
    if not got.known("context") or policy == "keep":
        return policy
    if got.lacks("tools"):
        context.error(
            "E212",
            f"role `{noun.name}` has no `tools`, so it has no history that `context` could shorten",
            got.at("context"),
            help="delete it, or add `tools = […]`",
        )
    elif policy == "restart" and _is_known(got) and not any(t.kind == "notes" for t in tools):
        context.error(
            "E212",
            "`context = restart` leaves an agent its notes, and it has no tool to make them",
            got.at("context"),
            help="add `notes` to its `tools`",
        )
    return policy


def _is_known(got: Got) -> bool:
    return got.known("tools") and not any(
        isinstance(value, Unknown) for value in items(got.value("tools"))
    )
