"""`team(…)`: settings to a `Team`, who sits in it, and which settings contradict each other."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, get_args

from . import compat, equip, prefixes
from .conditions import names, only
from .context import Bound, Context
from .kinds import TEAM_CONDITION_NAMES
from .model import Model
from .names import either
from .nouns import seen
from .problem import Label
from .program import Ceo, Condition, Member, Role, Team, Verifier, Workspace
from .prompts import roots
from .reading import as_int, as_word, items
from .shapes import SOME_OUTPUT, stand_in
from .types import ROLE
from .values import BAD, Counted, Items, Policy, Unknown, Value, is_condition

_Order = Literal["together", "in_turn", "solver_first", "solver_last", "relay", "ceo"]
_WORKSPACES: dict[str, Workspace] = {name: name for name in get_args(Workspace)}
_ORDERS: dict[str, _Order] = {order: order for order in get_args(_Order)}
_BESIDE_COMPAT = frozenset(
    {"n", "compat", "model", "ceo_model", "rounds", "cycles", "budget", "on_exhausted"}
)
_SETS = frozenset({"size", "direction", "effort", "assignment", "stop"})


def team(context: Context, bound: Bound) -> Value:
    """The team that the settings describe; a stand-in where its members are not known."""
    if as_word(bound.value("compat"), "none") == "mas_tts":
        return _mas_tts(context, bound)
    members = _members(context, bound)
    if members is None:
        return stand_in("team", bound.place)
    size = sum(member.count for member in members)
    model = bound.value("model")
    sees, last = seen(bound.value("sees"))
    style = as_word(bound.value("style"), "discuss")
    made = Team(
        "team",
        bound.place,
        size,
        members,
        model.name if isinstance(model, Model) else None,
        _ceo(context, bound),
        _outside(context, bound, "recruit"),
        "work" if style == "work" else "discuss",
        _ORDERS[as_word(bound.value("order"), "together")],
        sees,
        last,
        as_int(bound.value("rounds"), 2),
        _until(context, bound),
        as_int(bound.value("cycles"), 1),
        _execute(context, bound),
        _evaluate(context, bound),
        lease=_lease(bound),
        styled=bound.given("style"),
        workspace=_WORKSPACES.get(as_word(bound.value("workspace"), ""), "private"),
    )
    _contradictions(context, bound, made)
    prefixes.in_team(context, made)
    made = equip.equipped(context, bound, made)
    return made


def _mas_tts(context: Context, bound: Bound) -> Value:
    """The published team: all but its size and its bounds is fixed."""
    alone = _beside_compat(context, bound)
    if not bound.known("n"):
        if alone and not bound.given("n"):
            help_ = "write `team(4, compat = mas_tts)`: at most four"
            context.error("E112", "`team` needs to know how many", bound.place, help=help_)
        return stand_in("team", bound.place)
    size = as_int(bound.value("n"))
    if size < compat.MAS_TTS_LEAST:
        context.error("E112", "a team of `mas_tts` has two members at least", bound.at("n"))
        return stand_in("team", bound.place)
    chief, model = bound.value("ceo_model"), bound.value("model")
    return compat.mas_tts(
        bound.place,
        size,
        model.name if isinstance(model, Model) else None,
        replace(compat.CEO, model=chief.name) if isinstance(chief, Model) else compat.CEO,
        rounds=as_int(bound.value("rounds"), compat.MAS_TTS_ROUNDS),
        cycles=as_int(bound.value("cycles"), compat.MAS_TTS_CYCLES),
    )


def _beside_compat(context: Context, bound: Bound) -> bool:
    """Whether nothing is set against it; E212 for each setting that is."""
    given = [name for name, arg in bound.args.items() if arg.value is not BAD]
    against = [name for name in given if name not in _BESIDE_COMPAT]
    for name in against:
        message = f"`compat` sets `{name}` itself"
        context.error("E212", message, bound.at(name), help="delete one of them")
    return not against


# --- who sits in it ------------------------------------------------------------------------------


def _members(context: Context, bound: Bound) -> tuple[Member, ...] | None:
    """The seats by role; None where a parameter or a mistake hides them."""
    if not bound.given("members"):
        return _agents(context, bound)
    listed = bound.value("members")
    if not isinstance(listed, Items):
        return None
    counts: list[int] = []
    roles: list[Role] = []
    for item in listed.items:
        role = item.value if isinstance(item, Counted) else item
        if not isinstance(role, Role) or (isinstance(item, Counted) and item.count is None):
            return None
        counts.append(item.count or 0 if isinstance(item, Counted) else 1)
        roles.append(_member(context, bound, role))
    if sum(counts) < 1:
        context.error("E112", "a team has at least one member", bound.at("members"))
        return None
    if bound.given("n") and not bound.known("n"):
        return None
    size = as_int(bound.value("n")) if bound.given("n") else sum(counts)
    shares = apportion(counts, size)
    members = tuple(Member(c, r) for c, r in zip(shares, roles, strict=True) if c)
    if size != sum(counts) and any(isinstance(item, Counted) for item in listed.items):
        _disagree(context, bound, members, sum(counts))
    return members


def _disagree(context: Context, bound: Bound, members: Sequence[Member], counted: int) -> None:
    """W609 where both sizes are written here; a parameter may change n, and the counts are then proportions."""
    at = bound.at("n")
    if not at.source.text[at.span.start : at.span.end].isdecimal():
        return
    size = sum(member.count for member in members)
    shared = either([f"{member.count} of {member.role.name}" for member in members], "and")
    context.error(
        "W609",
        f"`members` counts {counted:,}, and the team has {size:,}: it will be {shared}",
        bound.at("members"),
        severity="warning",
        secondary=(Label(at, "the size of the team"),),
        help="let the counts add up to the size, or leave the size out",
    )


def _agents(context: Context, bound: Bound) -> tuple[Member, ...] | None:
    if bound.lacks("n"):
        if "members" in bound.unsure:
            return None
        context.error(
            "E112",
            "`team` needs to know how many",
            bound.place,
            help="write `team(5)`, or name its members: `team(members = [1 of a, 4 of b])`",
        )
        return None
    found = context.find("agent", bound.scope)
    role = context.fit(found.value, ROLE, bound.place) if found is not None else None
    if not isinstance(role, Role) or not bound.known("n"):
        return None
    return (Member(as_int(bound.value("n")), _member(context, bound, role)),)


def _member(context: Context, bound: Bound, role: Role) -> Role:
    """role, after E206 where its prompt wants what a member never has."""
    for name in sorted(role.takes & {"attempt", "attempts"}):
        context.error(
            "E206",
            f"`{role.name}` {_wants(role, name)}, which a member of a team does not have",
            bound.at("members"),
            help="a member sees the board of itself; its prompt may mention task, self, team, round",
            secondary=_prompt(context, role),
        )
    return role


def _wants(role: Role, name: str) -> str:
    """How role comes to want what its prompts or its tools name so."""
    mentioned = roots(role.prompt) | roots(role.system)
    return f"mentions `{name}`" if name in mentioned else f"has the tool `{name}`"


def _prompt(context: Context, role: Role) -> tuple[Label, ...]:
    place = context.origin(role, "prompt")
    return () if place is None else (Label(place, f"the prompt of `{role.name}`"),)


def apportion(counts: Sequence[int], size: int) -> tuple[int, ...]:
    """size seats over kinds of members in the proportion of counts: largest remainder.

    Each kind keeps at least one seat while size allows; ties go to the kind named first.
    """
    total = sum(counts)
    kinds = [i for i, count in enumerate(counts) if count]
    if total == size:
        return tuple(counts)
    if size <= len(kinds):
        first = sorted(kinds, key=lambda i: (-counts[i], i))[:size]
        return tuple(1 if i in first else 0 for i in range(len(counts)))
    seats = [max(1, count * size // total) if count else 0 for count in counts]
    while sum(seats) != size:
        # What each kind is owed beyond its seats, in units of 1/total: exact, no rounding.
        owed = [counts[i] * size - seats[i] * total for i in range(len(counts))]
        if sum(seats) < size:
            seats[max(kinds, key=lambda i: (owed[i], -i))] += 1
        else:
            seats[min((i for i in kinds if seats[i] > 1), key=lambda i: (owed[i], -i))] -= 1
    return tuple(seats)


def _ceo(context: Context, bound: Bound) -> Ceo | None:
    value = bound.value("ceo")
    mode = as_word(value, "none")
    if mode == "none" and not isinstance(value, Role):
        return None
    if isinstance(value, Role):
        role = _outside(context, bound, "ceo")
    else:
        found = context.find("ceo", None)
        given = context.fit(found.value, ROLE, bound.at("ceo")) if found is not None else None
        role = given if isinstance(given, Role) else None
    if role is None:
        return None
    model = bound.value("ceo_model")
    if isinstance(model, Model):
        role = replace(role, model=model.name)
    sets = frozenset(as_word(item, "") for item in items(bound.value("ceo_sets")))
    return Ceo(
        "fixed" if mode == "fixed" else "adaptive", role, sets if bound.known("ceo_sets") else _SETS
    )


def _outside(context: Context, bound: Bound, name: str) -> Role | None:
    """A role beside the members: it too has no attempt of its own; one that evaluates is shown the team's."""
    value = bound.value(name)
    if not isinstance(value, Role):
        return None
    absent = {"attempts"} if name == "evaluate" else {"attempt", "attempts"}
    for word in sorted(value.takes & absent):
        context.error(
            "E206",
            f"`{value.name}` {_wants(value, word)}, which `{name}` does not have",
            bound.at(name),
            help="it may mention task, team and round",
            secondary=_prompt(context, value),
        )
    return value


def _execute(context: Context, bound: Bound) -> Verifier | None:
    """The verifier at the end of a cycle, whose verdict the team reads."""
    value = bound.value("execute")
    if not isinstance(value, Verifier):
        return None
    if value.use == "final":
        context.error(
            "E212",
            f"`execute` shows its verdict to the team, and those of `{value.kind}` here are final",
            bound.at("execute"),
            help=f"write `use = always` in `{value.kind}(…)` if the team may know it",
        )
    return value


def _evaluate(context: Context, bound: Bound) -> Role | None:
    role = _outside(context, bound, "evaluate")
    if role is None or role.output is None or role.output == SOME_OUTPUT:
        return role
    if not any(f.name == "accepted" and f.type == "bool" and not f.is_list for f in role.output):
        context.error(
            "E205",
            f"`{role.name}` cannot say whether it accepts a solution",
            bound.at("evaluate"),
            help="give it `output = { accepted: bool, advice: text }`, or no `output` at all",
        )
    return role


# --- settings ------------------------------------------------------------------------------------


def _until(context: Context, bound: Bound) -> Condition | None:
    rule = bound.value("until")
    if not is_condition(rule):
        return None
    allowed = (*TEAM_CONDITION_NAMES, "plateau")
    only(context, rule, allowed, "`until` of `team`", bound.at("until"))
    return rule


def _contradictions(context: Context, bound: Bound, made: Team) -> None:
    """E212 for each pair of settings that cannot both hold."""

    def conflict(name: str, message: str, help_: str) -> None:
        context.error("E212", message, bound.at(name), help=help_)

    unknown_ceo = isinstance(bound.value("ceo"), Unknown)
    without_ceo = made.ceo is None and not unknown_ceo
    if made.order == "ceo" and without_ceo:
        conflict("order", "`order = ceo` needs a CEO", "add `ceo = adaptive`")
    for name in ("ceo_model", "ceo_sets"):
        if bound.given(name) and without_ceo:
            conflict(name, f"`{name}` needs a CEO", "add `ceo = adaptive`, or delete it")
    if bound.given("recruit") and bound.given("members"):
        conflict("recruit", "`recruit` writes the members that `members` names", "keep one of them")
    if made.style == "discuss" and not isinstance(bound.value("style"), Unknown):
        for name, off in (("claims", "none"), ("workspace", "private")):
            if bound.known(name) and as_word(bound.value(name), "") != off:
                conflict(name, f"`{name}` has no use under `style = discuss`", "add `style = work`")
    asked = set[str]() if made.until is None else set(names(made.until))
    if made.style == "work" and "consensus" in asked:
        conflict(
            "until", "there is no consensus under `style = work`", "use `accepted` or `passed`"
        )
    if made.style == "work" and made.order != "together":
        conflict("order", "under `style = work` all members are at work at once", "delete `order`")


def _lease(bound: Bound) -> float:
    value = bound.value("claims")
    return float(value.amount) if isinstance(value, Policy) else 0.0
