"""Teams of other sizes than a program's own, and the sizes of what recorded runs ran. Pure."""

from dataclasses import replace

from podium.dsl.program import Agent, Flow, Limited, Member, Parallel, Team, Then, subflows


def first_team(flow: Flow) -> Team | Agent | None:
    """The outermost team of flow, from the left; an agent where there is no team."""
    waiting, lone = [flow], None
    while waiting:
        node = waiting.pop(0)
        match node:
            case Team():
                return node
            case Agent():
                lone = lone or node
            case _:
                waiting += subflows(node)
    return lone


def sized(flow: Flow, size: int, model: str | None = None) -> Flow:
    """The first team of flow, alone, with size seats; one agent of its first kind where size is 1.

    model: what that one agent is asked from, in place of the team's.
    Kinds of members keep their shares: by largest remainder, one of each while there are seats.
    Raises ValueError where flow has no team, or the team cannot have another size.
    """
    team = first_team(flow)
    if not isinstance(team, Team):
        raise ValueError("there is no team in it, whose size could be chosen")
    if team.compat or team.size < 1:
        raise ValueError(f"a team with `compat = {team.compat}` keeps its size")
    if size == 1:
        return Agent(
            "agent", team.place, replace(team.members[0].role, model=model or _model(team))
        )
    return replace(team, size=size, members=_shared(team, size))


def _model(team: Team) -> str | None:
    return team.members[0].role.model or team.model


def _shared(team: Team, size: int) -> tuple[Member, ...]:
    whole = [member.count * size / team.size for member in team.members]
    counts = [max(1, int(part)) for part in whole]
    order = sorted(range(len(whole)), key=lambda i: int(whole[i]) - whole[i])
    while sum(counts) < size:
        counts[order[sum(counts) % len(order)]] += 1
    while sum(counts) > size:
        largest = max(range(len(counts)), key=lambda i: (counts[i], i))
        counts[largest] -= 1
    pairs = zip(team.members, counts, strict=True)
    return tuple(replace(member, count=count) for member, count in pairs if count)


def replicated(flow: Flow) -> int | None:
    """The size of what `recorded.replicates` takes for replicates of a run of flow; None where sizes are mixed."""
    sizes = set(_sizes(flow))
    return sizes.pop() if len(sizes) == 1 else None


def _sizes(flow: Flow) -> list[int | None]:
    match flow:
        case Team(size=size):
            return [size]
        case Agent():
            return [1]
        case Limited(flow=inner):
            return _sizes(inner)
        case Then(steps=(first, *_)):
            return _sizes(first)
        case Parallel(branches=branches):
            return [size for branch in branches for size in _sizes(branch.flow)]
        case _:
            return [None]
