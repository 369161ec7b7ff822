"""What the members of a team at work share: its board, its best submissions, the parts that are claimed.

The rule this file keeps: each post, look, score and claim is an entry of one list, and each entry is a decision of
the run, in order. What a member is told follows from the entries before its own. A later life has the whole list
before anybody asks, so it tells each member the same, whoever comes first.

A claim is a lease: it ends by itself, in the time that the run is live. A life that was killed counts up to the
last thing that it recorded, whatever that was of: a lease may last longer by what passed from there to the kill.
"""

import heapq
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import cast

import anyio

from podium.dsl.program import Condition, Role

from .agent.prompt import clip
from .call import Offer, offer
from .condition import Facts, holds
from .event import Said
from .lives import AT_WORK, idle_of
from .reduce import Better, rank
from .value import Attempt, Json, Verdict
from .walk import Here

# What the board keeps of a post, and the leaderboard of a submission, in tokens.
POST_TOKENS, SHORT_TOKENS = 400, 40
# Lines of a leaderboard.
BEST = 10
# How much of a post an event shows, and how long the name of a part may be, in characters.
_LINE, _PART = 200, 120

Entry = Mapping[str, Json]


def _offer(name: str, says: str, **fields: str) -> Offer:
    properties: dict[str, Json] = {
        key: {"type": "string", "minLength": 1, "description": told} for key, told in fields.items()
    }
    return offer(name, says, tuple(fields), **properties)


OFFERS: Mapping[str, tuple[Offer, ...]] = {
    "board": (
        _offer("post", "Tells all members something, in a few sentences.", text="what they read"),
        _offer("board", "Shows what the others have posted since you last looked."),
    ),
    "leaderboard": (_offer("leaderboard", "Shows the team's best submissions so far."),),
    "claim": (
        _offer(
            "claim",
            "Claims a part of the work, so that no other member does it too; or keeps your claim for longer."
            " A claim ends by itself.",
            part="a short name that others would use too, such as a file or a lemma",
        ),
        _offer("release", "Gives a part of the work back.", part="the name you claimed it by"),
    ),
}


@dataclass(slots=True, eq=False)
class Commons:
    """Of one team. lease: how long a claim lasts, in seconds. ended: the last round that is over. began: when it
    would have begun by the loop's clock, had it been at work ever since."""

    here: Here
    lease: float
    roles: Mapping[int, Role]
    entries: list[Entry] = field(default_factory=list[Entry])
    ended: int = 0
    began: float = 0.0
    _by_call: dict[str, int] = field(default_factory=dict[str, int])
    _scores: list[int] = field(default_factory=list[int])

    def note(self, call: str, seat: int, round_: int, what: str, **fields: Json) -> int:
        """The place of the entry that call makes, or made in an earlier life."""
        if call not in self._by_call:
            made: dict[str, Json] = {
                "call": call,
                "seat": seat,
                "round": round_,
                "what": what,
                **fields,
            }
            made["at"] = round(anyio.current_time() - self.began, 3)
            number = len(self.entries)
            recorder = self.here.recorder
            self.add(cast(Entry, recorder.decide(self.here.address, _name(number), lambda: made)))
        return self._by_call[call]

    def known(self, call: str) -> Entry | None:
        """The entry that call made, in whatever life."""
        number = self._by_call.get(call)
        return None if number is None else self.entries[number]

    def add(self, entry: Entry) -> None:
        """Add an entry that is decided."""
        number = self._by_call[str(entry["call"])] = len(self.entries)
        if entry["what"] == "score":
            self._scores.append(number)
        self.entries.append(entry)

    def tell(self, post: Entry) -> None:
        """The event of a post."""
        seat, line = _int(post, "seat"), " ".join(str(post["text"]).split())[:_LINE]
        said = Said(self.here.address, _int(post, "round"), seat, self.roles[seat].name, line)
        self.here.recorder.emit(said)

    def who(self, seat: int) -> str:
        return f"#{seat} {self.roles[seat].name}"

    def of_round(self, what: str, round_: int) -> list[Entry]:
        return [one for one in self.entries if one["what"] == what and one["round"] == round_]

    def standings(self) -> str:
        """The best submissions of the rounds that are over, "" where there are none."""
        scores = map(self.entries.__getitem__, self._scores)
        return self._best(one for one in scores if _int(one, "round") <= self.ended)

    def best_before(self, number: int) -> str:
        """The best submissions among the first so many entries, the best first, a line each."""
        scores = self._scores[: bisect_left(self._scores, number)]
        return self._best(map(self.entries.__getitem__, scores))

    def _best(self, scores: Iterable[Entry]) -> str:
        better = self.here.task.better
        found = heapq.nlargest(BEST, scores, key=lambda one: _rank(one, better))
        lines = [
            f"{n}. {self.who(_int(one, 'seat'))}, {_score(one)}: {one['text']}"
            for n, one in enumerate(found, 1)
        ]
        return "\n".join(lines)


def commons_of(here: Here, roles: Mapping[int, Role], lease: float) -> Commons:
    """Those of the team at here, with all that earlier lives of the run have noted."""
    commons = Commons(here, lease, roles)
    while (told := here.recorder.recall(here.address, _name(len(commons.entries)))) is not None:
        commons.add(cast(Entry, told))  # as `note` wrote it
    past = max((cast(float, one["at"]) for one in commons.entries), default=0.0)
    commons.began = anyio.current_time() - past - here.world.lived.get(idle_of(here.address), 0.0)
    return commons


def _name(number: int) -> str:
    return f"{AT_WORK}{number}"


# --- one member ----------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class Desk:
    """A member's place at the commons, for one round. last: how many posts it sees at once, where that is bounded.

    rule: what a score must be to end the team's work, beside a pass, which does. won: it was.
    """

    commons: Commons
    seat: int
    round: int
    last: int | None = None
    rule: Condition | None = None
    won: bool = False

    def use(self, name: str, arguments: Mapping[str, Json], address: str) -> str:
        """What a call of one of OFFERS comes to."""
        match name:
            case "post":
                return self._post(str(arguments["text"]), address)
            case "board":
                return self._board(address)
            case "leaderboard":
                number = self._note(address, "scores")
                return self.commons.best_before(number) or "no submissions yet"
            case "claim":
                return self._claim(_part(arguments), address)
            case _:
                return self._release(_part(arguments), address)

    def submitted(self, attempt: Attempt) -> None:
        """Note a submission that was scored."""
        verdict = attempt.verdict
        if verdict is None:
            return
        facts = Facts(verdict.score, attempt.passed)
        self.won = attempt.passed or (self.rule is not None and holds(self.rule, facts))
        text = clip(" ".join(attempt.text.split()), SHORT_TOKENS)
        self._note(attempt.address, "score", score=verdict.score, passed=verdict.passed, text=text)

    def leave(self, address: str) -> None:
        """Give back what it has claimed."""
        number = len(self.commons.entries)
        if any(seat == self.seat for seat, _ in holders(self.commons, number).values()):
            self._note(f"{address}/leave", "leave")

    def _note(self, call: str, what: str, **fields: Json) -> int:
        return self.commons.note(call, self.seat, self.round, what, **fields)

    def _post(self, text: str, address: str) -> str:
        kept = clip(text.strip(), POST_TOKENS)
        self.commons.tell(self.commons.entries[self._note(address, "post", text=kept)])
        return "posted" if kept == text.strip() else "posted, cut to its beginning and its end"

    def _board(self, address: str) -> str:
        number = self._note(address, "look")
        before = self.commons.entries[:number]
        looks = (n for n, one in enumerate(before) if self._is_mine(one, "look"))
        since = max(looks, default=-1) + 1
        new = [one for one in before[since:] if one["what"] == "post"]
        new = [one for one in new if one["round"] == self.round and one["seat"] != self.seat]
        shown = new if self.last is None else new[-self.last :]
        parts = [f"[{self.commons.who(_int(one, 'seat'))}]\n{one['text']}" for one in shown]
        parts += [_claims(self.commons, number)] if self.commons.lease else []
        return "\n\n".join(part for part in parts if part) or "nothing new"

    def _is_mine(self, one: Entry, what: str) -> bool:
        return one["what"] == what and one["seat"] == self.seat and one["round"] == self.round

    def _claim(self, part: str, address: str) -> str:
        number = self._note(address, "claim", part=part)
        held = holders(self.commons, number + 1).get(part.casefold())
        at, lease = _at(self.commons, number), self.commons.lease
        if held is not None and held[0] != self.seat:
            who = self.commons.who(held[0])
            return f"{part} is claimed by {who} for another {_span(held[1] - at)}"
        return (
            f"{part} is yours for {_span(lease)}; claim it again to keep it, release it when done"
        )

    def _release(self, part: str, address: str) -> str:
        number = self._note(address, "release", part=part)
        held = holders(self.commons, number).get(part.casefold())
        mine = held is not None and held[0] == self.seat
        return f"{part} is free" if mine else f"you have no claim on {part}"


def holders(commons: Commons, number: int) -> dict[str, tuple[int, float]]:
    """Who has claimed what, and until when, after the first so many entries, at the time of the last of them."""
    held: dict[str, tuple[int, float]] = {}
    for one in commons.entries[:number]:
        seat, at = _int(one, "seat"), cast(float, one["at"])
        part = str(one.get("part", "")).casefold()
        match one["what"]:
            case "claim":
                had = held.get(part)
                if had is None or had[0] == seat or had[1] <= at:
                    held[part] = (seat, at + commons.lease)
            case "release":
                if part in held and held[part][0] == seat:
                    del held[part]
            case "leave":
                held = {name: had for name, had in held.items() if had[0] != seat}
            case _:
                pass
    now = _at(commons, number - 1) if number else 0.0
    return {name: had for name, had in held.items() if had[1] > now}


def _claims(commons: Commons, number: int) -> str:
    """What is claimed when entry number is made, a line each."""
    at = _at(commons, number)
    held = [(name, had) for name, had in holders(commons, number + 1).items() if had[1] > at]
    lines = [
        f"- {name}: {commons.who(who)}, for another {_span(end - at)}" for name, (who, end) in held
    ]
    return "\n".join(("Claimed:", *lines)) if lines else ""


def _at(commons: Commons, number: int) -> float:
    return cast(float, commons.entries[number]["at"])


def _part(arguments: Mapping[str, Json]) -> str:
    return " ".join(str(arguments["part"]).split())[:_PART]


def _int(one: Entry, name: str) -> int:
    return cast(int, one[name])


def _rank(one: Entry, better: Better) -> tuple[object, ...]:
    return tuple(rank(_verdict(one), better))


def _verdict(one: Entry) -> Verdict:
    return Verdict(cast(float | None, one["score"]), cast(bool | None, one["passed"]))


def _score(one: Entry) -> str:
    verdict = _verdict(one)
    words = [] if verdict.score is None else [f"{verdict.score:g}"]
    if verdict.passed is not None:
        words.append("passed" if verdict.passed else "not passed")
    return " ".join(words) or "no score"


def _span(seconds: float) -> str:
    whole = max(1, round(seconds))
    if whole < 120:
        return f"{whole}s"
    return f"{whole // 60}m" if whole % 60 == 0 or whole >= 600 else f"{whole // 60}m{whole % 60}s"
