"""What the members of a team have to work with: tools of their roles and of a team at work, and their turns."""

from dataclasses import replace

from .context import Bound, Context
from .program import Member, Role, Team, Tool
from .reading import as_int
from .values import Unknown

NAMES: dict[str, tuple[str, ...]] = {
    "board": ("board", "post"), "leaderboard": ("leaderboard",), "claim": ("claim", "release"),
    "pull": ("pull",),
}  # fmt: skip
"""What the tools of a team at work are called."""


def at_work(role: Role, made: Team) -> Role:
    """role with the tools of a member of a team at work."""
    own = role.tools if _submits(role) else (*role.tools, Tool("submit", "submit"))
    return replace(role, tools=(*own, *shared(made, role)))


def _submits(role: Role) -> bool:
    return any(tool.kind == "submit" for tool in role.tools)


def shared(made: Team, role: Role) -> tuple[Tool, ...]:
    """The tools of a team at work, as far as what the role sees of it allows."""
    sees = role.sees or made.sees
    board = (Tool("board", "board"),) if sees in ("board", "last") else ()
    scores = (Tool("leaderboard", "leaderboard"),) if sees != "own" else ()
    claims = (Tool("claim", "claim", {"lease": made.lease}),) if made.lease else ()
    pull = (Tool("pull", "pull"),) if made.workspace == "branches" else ()
    return (*board, *scores, *claims, *pull)


# --- checked -------------------------------------------------------------------------------------


def equipped(context: Context, bound: Bound, made: Team) -> Team:
    """made with the tools that its members have; E212 for tools that nobody could use."""
    _idle(context, bound, made)
    turns = as_int(bound.value("turns")) if bound.known("turns") else None
    members = tuple(_equipped(context, bound, made, one, turns) for one in made.members)
    unsure = isinstance(bound.value("style"), Unknown)
    if turns is not None and not unsure and not any(one.role.tools for one in members):
        context.error(
            "E212",
            "`turns` bounds members with tools, and none of them has any",
            bound.at("turns"),
            help="delete it, or add `style = work`",
        )
    return replace(made, members=members)


def _equipped(context: Context, bound: Bound, made: Team, one: Member, turns: int | None) -> Member:
    """A member with the tools that the team's style gives it, and the team's bound of its turns."""
    role = one.role
    if made.style == "work":
        taken = shared(made, role)
        _named_twice(context, bound, role, {n for tool in taken for n in NAMES[tool.kind]})
        role = at_work(role, made)
    if turns is not None and role.tools:
        # What the role does not give has the place of the whole role.
        own = context.origin(one.role, "turns") != context.origin(one.role, "")
        role = replace(role, turns=min(role.turns, turns) if own else turns)
    return one if role is one.role else Member(one.count, role)


def _named_twice(context: Context, bound: Bound, role: Role, names: set[str]) -> None:
    for tool in role.tools:
        if tool.name in names:
            context.error(
                "E212",
                f"`{role.name}` has a tool called `{tool.name}`, and a team at work has one too",
                bound.at("members"),
                help="give it another name: a model calls a tool by its name",
            )


def _idle(context: Context, bound: Bound, made: Team) -> None:
    """E212 for tools of who is asked once, and for `submit` where a team submits as one."""
    outside = {"ceo": made.ceo.role if made.ceo else None, "recruit": made.recruit}
    for name, role in outside.items():
        if role is not None and role.tools:
            context.error(
                "E212",
                f"`{role.name}` has `tools`, and `{name}` is asked once and calls none",
                bound.at(name),
                help="use a role without tools there",
            )
    if made.evaluate is not None and _submits(made.evaluate):
        context.error(
            "E212",
            f"`{made.evaluate.name}` has the tool `submit`, and who evaluates has no answer of its own",
            bound.at("evaluate"),
            help="use a role without `submit` there",
        )
    discusses = made.style == "discuss" and not isinstance(bound.value("style"), Unknown)
    for member in made.members if discusses else ():
        if _submits(member.role):
            context.error(
                "E212",
                f"`{member.role.name}` has the tool `submit`, and a team that discusses submits as one",
                bound.at("members"),
                help="add `style = work`, or use a role without `submit`",
            )
