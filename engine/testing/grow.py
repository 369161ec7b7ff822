"""Flows that are well typed by the way they grow: each function makes one that takes and gives what its name says.

Subcritical: a flow is a leaf or holds flows of less fuel, and of fuel 0 mostly leaves.

One file of some length: the forms hold each other, so that none of them can grow without all the others.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Literal

from hypothesis import strategies as st

from podium.dsl import syntax as s

from . import trees as t
from .nouns import Nouns
from .rooms import FLOOR, MIXES, Room, budget

# What a flow takes and gives: Task -> Attempt, Task -> Many, Attempt -> Attempt, Many -> Attempt, Many -> Many.
Shape = Literal["solve", "several", "improve", "join", "select"]
FORMS = frozenset(
    {"team", "parallel", "fallback", "route", "for_each", "repeat", "if", "declared", "standard"}
)
Make = Callable[[], s.Expr]
_NESTED = st.sampled_from((False, True, True))


@st.composite
def grown(draw: st.DrawFn, flows: "Flows", shape: Shape, fuel: int, room: Room) -> s.Expr:
    """A flow of that shape, as an example of its own: so a shrinker may put a part in place of the whole."""
    nested = fuel > 0 and draw(_NESTED)
    return flows.make(shape, fuel - 1, room, nested=nested)


@dataclass
class Flows:
    """forms: those that may be used. leaves: flows to solve a task with, besides roles and teams."""

    nouns: Nouns
    forms: Collection[str] = FORMS
    leaves: tuple[str, ...] = ()

    def flow(self, shape: Shape, fuel: int, room: Room) -> s.Expr:
        made: s.Expr = self.nouns.draw(grown(self, shape, fuel, room))
        return made

    def make(self, shape: Shape, fuel: int, room: Room, *, nested: bool) -> s.Expr:
        leaves, others = self._table(shape, fuel, room)
        return self.nouns.one(others if nested else leaves)

    def _table(self, shape: Shape, fuel: int, room: Room) -> tuple[list[Make], list[Make]]:
        match shape:
            case "solve":
                return self._solve(fuel, room)
            case "several":
                return self._several(fuel, room)
            case "improve":
                return self._improve(fuel, room)
            case "join":
                return self._join(fuel, room)
            case "select":
                return self._select(fuel, room)

    # --- by shape --------------------------------------------------------------------------------

    def _solve(self, fuel: int, room: Room) -> tuple[list[Make], list[Make]]:
        n = self.nouns
        leaves: list[Make] = [n.author, *(lambda leaf=leaf: t.name(leaf) for leaf in self.leaves)]
        leaves += self._if("team", lambda: self.team(room))
        leaves += self._if("declared", lambda: self.declared("solve", fuel))
        if room.open and n.budgets:
            leaves.append(lambda: self._under(room, lambda more, _: t.call("agent", **more)))
        chains: list[Make] = [
            lambda: t.then(self.flow("several", fuel, room), self.flow("join", fuel, room)),
            lambda: t.then(self.flow("solve", fuel, room), self.flow("improve", fuel, room)),
        ]
        others: list[Make] = [
            *chains * 3,
            *self._if("fallback", lambda: self.fallback(fuel, room)),
            *self._if("route", lambda: self.route(fuel, room)),
            *self._if("if", lambda: self.either("solve", fuel, room)),
            *self._if("declared", lambda: self.wrapped(fuel, room)),
            *self._if("standard", lambda: self.standard(fuel, room)),
        ]
        return leaves, others

    def _several(self, fuel: int, room: Room) -> tuple[list[Make], list[Make]]:
        n = self.nouns
        leaves: list[Make] = [
            lambda: self.copies("solve", fuel, room),
            lambda: self.mix(("solve", "solve"), fuel, room),
        ]
        others: list[Make] = [
            lambda: t.then(self.flow("several", fuel, room), self.flow("select", fuel, room)),
            lambda: t.then(self.flow("several", fuel, room), n.reviser()),
            *self._if("for_each", lambda: self.for_each(fuel, room)),
        ]
        return leaves, others

    def _improve(self, fuel: int, room: Room) -> tuple[list[Make], list[Make]]:
        n = self.nouns
        leaves: list[Make] = [n.reviser, *self._if("team", lambda: self.team(room))]
        leaves += self._if("repeat", lambda: self.repeat("improve", fuel, room))
        if n.verified:
            leaves.append(lambda: t.name("score"))
        others: list[Make] = [
            lambda: t.then(self.flow("improve", fuel, room), self.flow("improve", fuel, room)),
            lambda: t.then(
                self.mix(("same", "improve"), fuel, room), self.flow("join", fuel, room)
            ),
            *self._if("if", lambda: self.either("improve", fuel, room)),
            *self._if("standard", lambda: self._named("refine", n.count())),
        ]
        return leaves, others

    def _join(self, fuel: int, room: Room) -> tuple[list[Make], list[Make]]:
        n = self.nouns
        leaves: list[Make] = [lambda: self.best("best"), lambda: t.name("vote"), n.merger]
        leaves += self._if("team", lambda: self.team(room))
        if n.verifiers:
            leaves.append(lambda: t.call("vote", by=n.verifier()))
        others: list[Make] = [
            lambda: t.then(self.flow("select", fuel, room), self.flow("join", fuel, room)),
            lambda: t.then(self.flow("join", fuel, room), self.flow("improve", fuel, room)),
        ]
        return leaves, others

    def _select(self, fuel: int, room: Room) -> tuple[list[Make], list[Make]]:
        n = self.nouns
        leaves: list[Make] = [
            lambda: self.best("top", t.number(n.pick(1, 2))),
            lambda: t.call("sample", t.number(n.pick(1, 2))),
            lambda: self.best("score"),
            n.debater,
            *self._if("repeat", lambda: self.repeat("select", fuel, room)),
            # Each of several is revised; at the start of a chain a reviser would want a single attempt.
            lambda: t.then(self.best("top", t.number(2)), n.reviser()),
        ]
        others: list[Make] = [
            lambda: t.then(self.flow("select", fuel, room), self.flow("select", fuel, room)),
            lambda: self.copies("join", fuel, room),
            lambda: self.evolve(fuel, room),
            *self._if("standard", lambda: self._named("debate", n.count())),
        ]
        return leaves, others

    def _if(self, form: str, make: Make) -> list[Make]:
        return [make] if form in self.forms else []

    # --- budgets ---------------------------------------------------------------------------------

    def _under(
        self, room: Room, make: Callable[[dict[str, s.Expr], Room], s.Expr], chance: int = 1
    ) -> s.Expr:
        """What make makes of arguments for a budget that fits into room, and of the room in it."""
        n = self.nouns
        if not (room.open and n.budgets and (chance == 1 or n.maybe(chance))):
            return make({}, room)
        mix = n.pick(*MIXES)
        chosen = {name: n.pick(*fits) for name in mix if (fits := room.fitting(name))}
        if not chosen:
            return make({}, room)
        more: dict[str, s.Expr] = {"budget": budget(chosen)}
        if n.maybe(3):
            more["on_exhausted"] = n.exhausted()
        return make(more, room.within(chosen))

    # --- forms -----------------------------------------------------------------------------------

    def team(self, room: Room) -> s.Expr:
        return self._under(room, self._team, 4)

    def _team(self, more: dict[str, s.Expr], room: Room) -> s.Expr:
        n = self.nouns
        if n.maybe(3):
            settings = self._team_settings()
            who = [n.member(works="style" in settings) for _ in range(n.pick(1, 2))]
            kinds = [t.of(t.number(n.pick(1, 2)), one) for one in who]
            return t.call("team", members=t.listed(*kinds), **settings, **more)
        if n.maybe(8):
            bounds = {"rounds": t.number(n.pick(1, 2)), "cycles": t.number(n.pick(1, 2))}
            return t.call(
                "team", t.number(n.pick(2, 3)), compat=t.name("mas_tts"), **bounds, **more
            )
        if n.maybe(6):
            more = {"recruit": t.name("recruiter"), **more}
        return t.call("team", n.count(), **self._team_settings(), **more)

    def _team_settings(self) -> dict[str, s.Expr]:
        n = self.nouns
        settings: dict[str, s.Expr] = {}
        if n.maybe(3):
            settings["ceo"] = t.name(n.pick("adaptive", "fixed", "agent"))
            if n.maybe(3):
                sets = [t.name(word) for word in ("size", "direction", "stop")]
                settings["ceo_sets"] = t.listed(*sets[: n.pick(1, 2, 3)])
        if "fast" in n.declared and n.maybe(5):
            settings["ceo_model" if "ceo" in settings else "model"] = n.model()
        if n.maybe(5):
            settings |= self._at_work()
        elif n.maybe(3):
            led = ("ceo",) if "ceo" in settings else ()
            orders = ("in_turn", "solver_first", "solver_last", "relay", *led)
            settings["order"] = t.name(n.pick(*orders))
        if n.maybe(4):
            settings["sees"] = n.pick(
                t.name("leaderboard"), t.name("own"), t.call("last", t.number(2))
            )
        if n.maybe(2):
            settings["rounds"] = t.number(n.pick(1, 3))
        if n.maybe(4):
            settings["until"] = self._team_until(work="style" in settings)
        return settings | self._cycles()

    def _at_work(self) -> dict[str, s.Expr]:
        n = self.nouns
        settings: dict[str, s.Expr] = {"style": t.name("work")}
        if n.maybe(2):
            settings["claims"] = t.call("lease", t.time(n.pick(5, 60)))
        if n.maybe(2):
            settings["turns"] = t.number(n.pick(2, 5))
        if n.maybe(2):
            settings["workspace"] = t.name(n.pick("private", "shared", "branches"))
        return settings

    def _cycles(self) -> dict[str, s.Expr]:
        """More than one cycle, and what stands at the end of each."""
        n = self.nouns
        if not n.maybe(6):
            return {}
        settings: dict[str, s.Expr] = {"cycles": t.number(n.pick(1, 2))}
        if n.maybe(2):
            settings["evaluate"] = n.assessor()
        if n.maybe(3):
            settings["execute"] = t.call("contains", t.string("yes"), use=t.name("always"))
        return settings

    def copies(self, shape: Shape, fuel: int, room: Room) -> s.Expr:
        return self._under(room, lambda more, inside: self._copies(shape, fuel, more, inside), 4)

    def _copies(self, shape: Shape, fuel: int, more: dict[str, s.Expr], room: Room) -> s.Expr:
        n = self.nouns
        count = n.count()
        most = count.value if isinstance(count, s.Number) else 3
        settings = self._settings(int(most), room)
        inside = room.divided(int(most)) if "split" in settings else room
        if shape == "solve" and "team" in self.forms and n.maybe(6):
            settings["migrate"] = t.call("every", t.number(n.pick(1, 2)))
            inner = self._team({}, inside)
        else:
            inner = self.flow(shape, fuel, inside)
        return t.of(t.call("parallel", count, **settings, **more), inner)

    def _settings(self, most: int, room: Room) -> dict[str, s.Expr]:
        n = self.nouns
        settings: dict[str, s.Expr] = {}
        if n.passes and n.maybe(3):
            some = t.call("pass", t.number(1))
            settings["stop"] = n.pick(t.name("first_pass"), t.none(), some)
        if n.maybe(6):
            settings["need"] = t.number(1)
        if n.maybe(4):
            settings["inflight"] = t.number(n.pick(1, 2))
        if room.least() >= most and n.maybe(4):
            settings["split"] = t.name("even")
        return settings

    def mix(self, shapes: tuple[Shape | Literal["same"], ...], fuel: int, room: Room) -> s.Expr:
        return self._under(room, lambda more, inside: self._mix(shapes, fuel, more, inside), 4)

    def _mix(
        self,
        shapes: tuple[Shape | Literal["same"], ...],
        fuel: int,
        more: dict[str, s.Expr],
        room: Room,
    ) -> s.Expr:
        n = self.nouns
        counts = [n.pick(1, 2) for _ in shapes]
        settings = self._settings(sum(counts), room)
        inside = room.divided(sum(counts)) if "split" in settings else room
        flows = [t.name("same") if h == "same" else self.flow(h, fuel, inside) for h in shapes]
        items = [f if c == 1 else t.of(t.number(c), f) for c, f in zip(counts, flows, strict=True)]
        wrapper = t.call("parallel", **settings, **more) if settings or more else t.name("parallel")
        return t.of(wrapper, t.listed(*items))

    def evolve(self, fuel: int, room: Room) -> s.Expr:
        """Parents are kept, children are made of two of them, and the best of all go on."""
        child = t.then(t.call("sample", t.number(2)), self.flow("join", fuel, room))
        children = t.of(t.call("parallel", t.number(2)), child)
        every = t.of(t.name("parallel"), t.listed(t.name("same"), children))
        return t.then(every, self.best("top", t.number(2)))

    def fallback(self, fuel: int, room: Room) -> s.Expr:
        def make(more: dict[str, s.Expr], inside: Room) -> s.Expr:
            options = t.listed(self.flow("solve", fuel, inside), self.flow("solve", fuel, inside))
            if not self.nouns.passes or self.nouns.maybe(3):
                more = {"accept": self._outer(), **more}
            return t.of(t.call("fallback", **more) if more else t.name("fallback"), options)

        return self._under(room, make, 4)

    def route(self, fuel: int, room: Room) -> s.Expr:
        def make(more: dict[str, s.Expr], inside: Room) -> s.Expr:
            by = self.nouns.triage()
            easy, hard = self.flow("solve", fuel, inside), self.flow("solve", fuel, inside)
            return t.of(t.call("route", by=by, **more), t.record(easy=easy, hard=hard))

        return self._under(room, make, 4)

    def for_each(self, fuel: int, room: Room) -> s.Expr:
        def make(more: dict[str, s.Expr], inside: Room) -> s.Expr:
            n = self.nouns
            wrapper = t.call("for_each", by=n.splitter(), max=t.number(n.pick(1, 3)), **more)
            return t.of(wrapper, self._part(fuel, inside))

        return self._under(room, make, 4)

    def _part(self, fuel: int, room: Room) -> s.Expr:
        """A flow for a part of the task, which has no verifier; flows of the file may need one."""
        n = self.nouns
        before = self.forms, n.verified, n.passes
        self.forms, n.verified, n.passes = frozenset(self.forms) - {"declared"}, False, False
        made = self.flow("solve", fuel, room)
        self.forms, n.verified, n.passes = before
        return made

    def repeat(self, shape: Shape, fuel: int, room: Room) -> s.Expr:
        def make(more: dict[str, s.Expr], inside: Room) -> s.Expr:
            if self.nouns.maybe(2):
                more = {"until": self._outer(), **more}
            return t.of(
                t.call("repeat", self.nouns.count(), **more), self.flow(shape, fuel, inside)
            )

        return self._under(room, make, 4)

    def either(self, shape: Shape, fuel: int, room: Room) -> s.Expr:
        yes, no = self.flow(shape, fuel, room), self.flow(shape, fuel, room)
        return t.either(self.nouns.effort(), yes, no)

    def best(self, how: str, *k: s.Expr) -> s.Expr:
        """A reducer by score, by a verifier of its own where the task has none."""
        n = self.nouns
        if not n.verified and not n.verifiers:
            return t.call("sample", *k) if k else t.name("vote" if how == "best" else "same")
        if not n.verified or n.maybe(5):
            return t.call(how, *k, by=n.verifier())
        return t.call(how, *k) if k else t.name(how)

    # --- conditions ------------------------------------------------------------------------------

    def _outer(self) -> s.Expr:
        """A condition of `until` and `accept`."""
        n = self.nouns
        simple: list[s.Expr] = [t.compare(t.name("spent"), ">=", t.tokens(2_000))]
        if n.passes:
            simple.insert(0, t.name("passed"))
        if n.verified:
            simple.append(t.compare(t.name("score"), ">=", t.number(n.pick(1, 0.5))))
        return self._joined(simple, t.compare(t.name("round"), "<", t.number(3)))

    def _team_until(self, *, work: bool) -> s.Expr:
        n = self.nouns
        simple: list[s.Expr] = [t.name("accepted")]
        simple += [] if work else [t.name("consensus")]
        if n.passes and not n.hidden:
            simple.append(t.name("passed"))
        if n.verified and not n.hidden:
            simple += [
                t.compare(t.name("score"), ">=", t.number(0.5)),
                t.call("plateau", t.number(1)),
            ]
        return self._joined(simple, t.compare(t.name("round"), ">=", t.number(2)))

    def _joined(self, simple: list[s.Expr], other: s.Expr) -> s.Expr:
        n = self.nouns
        one = n.pick(*simple)
        match n.pick("", "", "", "and", "or", "not"):
            case "":
                return one
            case "not":
                flag = isinstance(one, s.Name)
                return t.compare(other, "and", t.negated(one)) if flag else one
            case word:
                return t.compare(one, word, other)

    # --- declared flows --------------------------------------------------------------------------

    def declared(self, shape: Shape, fuel: int) -> s.Expr:
        """A call of a flow of the file: a team whose size and budget are its parameters, or any other."""
        n = self.nouns
        if "team" in self.forms and n.maybe(2):
            return self._squad()
        if "pair" not in n.declared:
            body = self.flow(shape, min(fuel, 1), Room(open=False))
            if "pair" in n.declared:  # made inside the body, which calls it
                return body
            return n.declare("flow", "pair", body)
        return t.name("pair")

    def _squad(self) -> s.Expr:
        n = self.nouns
        if "squad" not in n.declared:
            seats = t.param("seats", t.kind("int", 1, 4), t.number(2))
            cap = t.param("cap", t.kind("Budget"), budget({"tokens": FLOOR["tokens"]}))
            params = (seats, cap) if n.budgets and n.maybe(2) else (seats,)
            limits = {"budget": t.name("cap")} if len(params) == 2 else {}
            team = t.call("team", t.name("seats"), **self._team_settings(), **limits)
            n.declare("flow", "squad", team, params=params)
        return t.call("squad", t.number(n.pick(1, 3))) if n.maybe(2) else t.name("squad")

    def wrapped(self, fuel: int, room: Room) -> s.Expr:
        """A flow with `of`, around another."""
        n = self.nouns
        if "around" not in n.declared:
            inner = t.name("inner")
            copies = t.of(t.call("parallel", t.name("k")), inner)
            k = t.param("k", t.kind("int", 1, 3), t.number(2))
            body, params = n.one(
                [
                    lambda: (t.then(copies, self.best("best")), (k,)),
                    lambda: (t.then(copies, t.name("vote")), (k,)),
                    lambda: (t.then(inner, n.reviser()), None),
                ]
            )
            n.declare("flow", "around", body, params=params, of_param="inner")
        takes = n.declared["around"].params is not None
        wrapper = (
            t.call("around", t.number(n.pick(1, 3))) if takes and n.maybe(2) else t.name("around")
        )
        return t.of(wrapper, self.flow("solve", fuel, room))

    def standard(self, fuel: int, room: Room) -> s.Expr:
        """A flow of the standard library that solves a task."""
        n = self.nouns
        wrappers = ["self_consistency", "map_reduce", *(["best_of"] if n.verified else [])]
        wrappers += ["race"] if n.passes and n.verified else []
        match n.pick(*wrappers, "mixture_of_agents"):
            case "mixture_of_agents":
                return self._named("mixture_of_agents", t.number(2))
            case "map_reduce":
                return t.of(self._named("map_reduce", n.count()), self._part(fuel, room))
            case word:
                return t.of(self._named(word, n.count()), self.flow("solve", fuel, room))

    def _named(self, word: str, *args: s.Expr) -> s.Call:
        given = tuple(s.Arg(None, None, value, value.span) for value in args)
        function = self.nouns.standard("flows", word)
        return s.Call(function, given, function.span)
