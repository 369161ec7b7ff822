"""The tools of a team at work, beside those of its members' roles."""

from dataclasses import replace

from .program import Role, Team, Tool

NAMES: dict[str, tuple[str, ...]] = {
    "board": ("board", "post"), "leaderboard": ("leaderboard",), "claim": ("claim", "release")
}  # fmt: skip
"""What the tools of a team at work are called."""


def at_work(role: Role, made: Team) -> Role:
    """role with the tools of a member of a team at work."""
    submits = any(tool.kind == "submit" for tool in role.tools)
    own = role.tools if submits else (*role.tools, Tool("submit", "submit"))
    return replace(role, tools=(*own, *shared(made, role)))


def shared(made: Team, role: Role) -> tuple[Tool, ...]:
    """The tools of a team at work, as far as what the role sees of it allows."""
    sees = role.sees or made.sees
    board = (Tool("board", "board"),) if sees in ("board", "last") else ()
    scores = (Tool("leaderboard", "leaderboard"),) if sees != "own" else ()
    claims = (Tool("claim", "claim", {"lease": made.lease}),) if made.lease else ()
    return (*board, *scores, *claims)
