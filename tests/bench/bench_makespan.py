"""How near a run of `parallel(10)` of `team(10)` comes to its shortest, on simulated servers in virtual time.

The bound is the larger of its work over the slots and what it takes where slots are endless; means of five draws
of replies' lengths. Beside it stand two schedules of the same calls that choose anew whenever a slot is free. One
knows how long each call will be, and has those go first behind which the longest way is. The other knows what an
engine could know at best, how long calls are in general: it tries each choice in drawn futures, and takes the one
that ends soonest in their mean. Run by hand, some minutes:

    python tests/bench/bench_makespan.py
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from heapq import heapify, heappop, heappush
from statistics import mean

import anyio
from bench_placement import Cached

from podium.dsl.program import Program
from podium.engine import Engine
from podium.engine.call import ModelCall
from podium.engine.store import Store
from podium.engine.testing import Server, Speech, in_virtual_time
from podium.engine.testing.handmade import parallel, program, reduce_by, team, then

MADE = replace(program(then(parallel(10, team(10)), reduce_by("vote"))), max_agents=200)
SHAPES = ((1, 4), (1, 16), (2, 8), (4, 8), (1, 32), (4, 32))
DRAWS, FUTURES = 5, 8

# A team's steps one after the other, each the seconds of its calls, which are sent at once.
Team = Sequence[Sequence[float]]


def teams_of(took: Mapping[str, float]) -> list[Team]:
    stages: dict[str, dict[str, list[float]]] = {}
    for address, seconds in took.items():
        at, _, place = address.rpartition("/r")
        stage = place.partition(".")[0] + place.partition("answer")[1]
        stages.setdefault(at, {}).setdefault(stage, []).append(seconds)
    return [
        [sorted(calls, reverse=True) for _, calls in sorted(team.items())]
        for team in stages.values()
    ]


@dataclass(slots=True)
class Schedule:
    """Calls in the slots, as (end, began, team), and of each team its step, the calls of it that wait, and those
    that have not ended."""

    teams: Sequence[Team]
    slots: int
    step: list[int]
    waiting: list[int]
    left: list[int]
    now: float = 0.0
    ends: list[tuple[float, float, int]] = field(default_factory=list[tuple[float, float, int]])

    @staticmethod
    def of(teams: Sequence[Team], slots: int) -> "Schedule":
        first = [len(team[0]) for team in teams]
        return Schedule(teams, slots, [0] * len(teams), list(first), list(first))

    def copy(self, teams: Sequence[Team], ends: list[tuple[float, float, int]]) -> "Schedule":
        rest = (list(self.step), list(self.waiting), list(self.left))
        return Schedule(teams, self.slots, *rest, self.now, ends)

    def next(self, team: int) -> float:
        """The seconds of the team's next call."""
        calls = self.teams[team][self.step[team]]
        return calls[len(calls) - self.waiting[team]]

    def start(self, team: int) -> None:
        heappush(self.ends, (self.now + self.next(team), self.now, team))
        self.waiting[team] -= 1

    def end(self) -> None:
        self.now, _, team = heappop(self.ends)
        self.left[team] -= 1
        if not self.left[team] and self.step[team] + 1 < len(self.teams[team]):
            self.step[team] += 1
            self.waiting[team] = self.left[team] = len(self.teams[team][self.step[team]])

    def run(self, pick: Callable[["Schedule", list[int]], int]) -> float:
        """Let it end: when it does."""
        while True:
            while len(self.ends) < self.slots:
                ready = [team for team, waiting in enumerate(self.waiting) if waiting]
                if not ready:
                    break
                self.start(pick(self, ready))
            if not self.ends:
                return self.now
            self.end()


def longest_way(at: Schedule, ready: list[int]) -> int:
    """Lengths known: the call behind which most must follow."""

    def way(team: int) -> float:
        return at.next(team) + sum(max(step) for step in at.teams[team][at.step[team] + 1 :])

    return max(ready, key=way)


def whole_steps(at: Schedule, ready: list[int]) -> int:
    """A step that was begun is ended, then the earliest one is begun."""
    return min(ready, key=lambda team: (at.waiting[team] == at.left[team], at.step[team], team))


def drawn(chance: random.Random, lengths: Sequence[float]) -> Callable[[Schedule, list[int]], int]:
    """Lengths unknown: the choice that ends soonest in futures whose lengths are drawn from lengths."""

    def remaining(age: float) -> float:
        return chance.choice([one for one in lengths if one > age] or [age]) - age

    def pick(at: Schedule, ready: list[int]) -> int:
        state = {(at.step[t], at.waiting[t], at.left[t]): t for t in reversed(ready)}
        choices = list(state.values())
        if len(choices) == 1:
            return choices[0]
        sums = dict.fromkeys(choices, 0.0)
        for _ in range(FUTURES):
            teams = [[chance.choices(lengths, k=len(step)) for step in team] for team in at.teams]
            ends = [(at.now + remaining(at.now - began), began, t) for _, began, t in at.ends]
            heapify(ends)
            for choice in choices:
                tried = at.copy(teams, list(ends))
                tried.start(choice)
                sums[choice] += tried.run(whole_steps)
        return min(choices, key=lambda choice: sums[choice])

    return pick


async def run(made: Program, servers: Cached) -> float:
    async with Engine(Store.memory(), client=servers, environ={}, inline=True) as opened:
        await (await opened.start(made)).result()
    return anyio.current_time()


def makespan(replicas: int, slots: int) -> None:
    ratios: list[tuple[float, float, float]] = []
    for seed in range(DRAWS):

        def speak(call: ModelCall, seed: int = seed) -> Speech:
            return Speech("x" * random.Random(f"{seed} {call.address}").randrange(200, 2000))

        endless = Cached(speak, {"": Server(replicas=replicas, slots=10_000)}, seed=seed)
        servers = Cached(speak, {"": Server(replicas=replicas, slots=slots)}, seed=seed)
        least = in_virtual_time(partial(run, MADE, endless))
        took = in_virtual_time(partial(run, MADE, servers))
        least = max(least, servers.work.total() / 1000 / (replicas * slots))
        at = Schedule.of(teams_of(servers.took), replicas * slots)
        known = at.run(longest_way)
        chance = random.Random(seed)
        shuffled = [[chance.sample(step, len(step)) for step in team] for team in at.teams]
        at = Schedule.of(shuffled, replicas * slots)
        unknown = at.run(drawn(chance, list(servers.took.values())))
        ratios.append((took / least, unknown / least, known / least))
    ours, unknown, known = map(mean, zip(*ratios, strict=True))
    print(f"{replicas:8} {slots:6} {ours:9.2f} {unknown:9.2f} {known:9.2f}", flush=True)


if __name__ == "__main__":
    print("parallel(10) of team(10), over its bound; beside it with lengths drawn and known")
    print("replicas  slots      ours     drawn     known")
    for count, each in SHAPES:
        makespan(count, each)
