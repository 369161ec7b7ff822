"""The replicas and what is known of their load, limits and health. Pure state; time and chance come in.

An endpoint is a server and the key used there: what it says (busy, no money, down) counts for all
models and replicas behind it. An endpoint that is down is tried by one call at a time. Slots and rates are
the server's, whoever's key is used: what is in flight there counts for all.
"""

import random
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import inf
from typing import Literal

from podium.dsl.program import Limits

from .call import CallError, Outage, Replica
from .clients.gauges import Load
from .placing import bound, choose, mark
from .rates import Window
from .retry import backoff, pause
from .width import EVERY_S, Width

GROUPS = 50_000
# After a pause the slots of an endpoint are filled again one by one, not in one instant: over a quarter
# of the pause within these bounds, and never slower than two a second.
RAMP_S, RAMP_SHARE, RAMP_GAP_S = (0.5, 5.0), 0.25, 0.5
# A refused key or an empty account is asked for again after this time, by runs that come later.
CLOSED_S = 60.0


@dataclass(slots=True)
class Site:
    """An endpoint's state. Times are the caller's clock; down_since None: it is up, as far as known.

    mark: as Replica's key_mark. reached: its list of models was read. closed: why nothing is sent there until
    closed_until. failures: errors since the last answer. refusals, outages: bursts of refusals and of lost
    connections since then. told_until: what ends before it was sent before the last burst was known.
    """

    name: str
    mark: str = ""
    paused_until: float = -inf
    ramp: int = 0
    ramp_gap: float = 0.0
    refusals: int = 0
    outages: int = 0
    told_until: float = -inf
    answered: bool = False
    reached: bool = False
    down_since: float | None = None
    failures: int = 0
    probing: bool = False
    closed: CallError | None = None
    closed_until: float = -inf

    @property
    def is_well(self) -> bool:
        """Neither closed nor down, as far as known."""
        return self.closed is None and self.down_since is None

    def opens_at(self, now: float) -> float:
        """When a call may go there; infinite while a probe is under way."""
        closed = self.closed_until if self.closed is not None else -inf
        probed = inf if self.down_since is not None and self.probing else now
        return max(now, self.paused_until, closed, probed)


@dataclass(slots=True)
class Seats:
    """What is in flight at one place of a server, whatever the model is called and whoever's key is used."""

    taken: int = 0


@dataclass(slots=True)
class Spot:
    """A replica's state. width: how many calls it bears. asked_at: when it was last asked for its gauges;
    silent: it has none. mark: of its name, the same in every process."""

    replica: Replica
    site: Site
    width: Width
    seats: Seats
    asked_at: float = -inf
    silent: bool = False
    mark: int = field(init=False)

    def __post_init__(self) -> None:
        self.mark = mark(self.replica.name)

    @property
    def limit(self) -> float:
        return self.width.limit

    @property
    def inflight(self) -> int:
        return self.seats.taken

    @property
    def free(self) -> bool:
        return self.inflight < int(self.limit)


@dataclass(slots=True)
class Pool:
    """The replicas of one model, and the rates it bears. most: calls in flight over all of them."""

    spots: list[Spot]
    calls: Window | None
    tokens: Window | None
    most: int | None = None

    @property
    def full(self) -> bool:
        """Whether as many calls are in flight as the model may have."""
        return self.most is not None and sum(spot.inflight for spot in self.spots) >= self.most


Place = tuple[str, str, str]


def _site_name(replica: Replica) -> str:
    key = replica.endpoint.key
    return replica.url if key is None else f"{replica.url} with {key.name}"


def _place(replica: Replica) -> Place:
    """Where the replica's calls go: its name without the model's, which may differ between programs."""
    return replica.url, replica.served, replica.name.partition("@")[2] or replica.name


class Fleet:
    """All replicas by model. outage_s: for how long an endpoint that answered before is waited for."""

    def __init__(self, chance: random.Random, *, outage_s: float = 1800.0) -> None:
        self._chance = chance
        self._outage_s = outage_s
        self._pools: dict[str, Pool] = {}
        self._sites: dict[tuple[str, str], Site] = {}
        self._seats: dict[Place, Seats] = {}
        self._windows: dict[tuple[str, frozenset[Place], int, float], Window] = {}
        self._spots: dict[Replica, Spot] = {}
        self._groups: OrderedDict[tuple[str, str], Spot] = OrderedDict()

    def add(self, model: str, replicas: Iterable[Replica], limits: Limits = Limits()) -> None:
        """Have model served by replicas, instead of those it had. Each bears its own `inflight` calls;
        limits count for all replicas together. What was sent before still counts, and so does what is
        sent to the same places under the same rates as another model."""
        spots = [self._spot(replica) for replica in replicas]
        places = frozenset(_place(spot.replica) for spot in spots)
        self._pools[model] = Pool(
            spots,
            self._window("calls", places, limits.calls),
            self._window("tokens", places, limits.tokens),
            limits.inflight,
        )

    def _window(
        self, unit: str, places: frozenset[Place], rate: tuple[int, float] | None
    ) -> Window | None:
        if rate is None:
            return None
        return self._windows.setdefault((unit, places, *rate), Window(*rate))

    def reached(self, replica: Replica) -> None:
        """The replica's endpoint was there when it was looked at: should it go, it is waited for."""
        self._spots[replica].site.reached = True

    def _spot(self, replica: Replica) -> Spot:
        name = _site_name(replica)
        site = self._sites.setdefault((name, replica.key_mark), Site(name, replica.key_mark))
        seats = self._seats.setdefault(_place(replica), Seats())
        width = Width(replica.inflight, float(replica.inflight))
        return self._spots.setdefault(replica, Spot(replica, site, width, seats))

    # --- placement ---

    def shares(self, model: str) -> bool:
        """Whether it matters which replica a call to model goes to."""
        pool = self._pools.get(model)
        return pool is not None and len(pool.spots) > 1

    def place(
        self, model: str, group: str, tokens: int, now: float, prefix: int = 0
    ) -> Replica | None:
        """A replica for a call of at most tokens, its slot taken; None where none is free now.

        The replica that group used last, unless that would make the load uneven; else the one that
        `placing.choose` takes for the prefix, which is 0 where it is shared with nobody.
        """
        pool = self._pools[model]
        open_spots = [spot for spot in pool.spots if spot.free and spot.site.opens_at(now) <= now]
        if not open_spots or pool.full or self._rates_open(pool, tokens, now) > now:
            return None
        spot = self._choose(pool, (model, group), open_spots, prefix)
        spot.seats.taken += 1
        self._enter(spot.site, now)
        for window, amount in ((pool.calls, 1), (pool.tokens, tokens)):
            if window is not None:
                window.take(amount, now)
        return spot.replica

    def has_place(self, model: str, tokens: int, now: float) -> bool:
        """Whether `place` would find one."""
        pool = self._pools[model]
        return (
            any(spot.free and spot.site.opens_at(now) <= now for spot in pool.spots)
            and not pool.full
            and self._rates_open(pool, tokens, now) <= now
        )

    def _rates_open(self, pool: Pool, tokens: int, now: float) -> float:
        calls = now if pool.calls is None else pool.calls.opens_at(1, now)
        return max(calls, now if pool.tokens is None else pool.tokens.opens_at(tokens, now))

    def _choose(self, pool: Pool, key: tuple[str, str], spots: list[Spot], prefix: int) -> Spot:
        if len(pool.spots) == 1:
            return spots[0]
        last = self._groups.get(key) if key[1] else None
        share = bound(pool.spots)
        if last is None or last not in spots or last.inflight + 1 > share * last.limit + 1:
            last = choose(spots, prefix, share)
        if key[1]:
            self._groups[key] = last
            self._groups.move_to_end(key)
            if len(self._groups) > GROUPS:
                self._groups.popitem(last=False)
        return last

    def _enter(self, site: Site, now: float) -> None:
        site.probing = site.down_since is not None
        if site.ramp:
            site.ramp -= 1
            site.paused_until = now + site.ramp_gap * (0.5 + self._chance.random())

    def give_back(self, replica: Replica) -> None:
        """The slot is free again."""
        spot = self._spots[replica]
        spot.seats.taken -= 1
        spot.site.probing = False

    # --- questions ---

    def opens_at(self, model: str, tokens: int, now: float) -> float:
        """When a call may next be placed by the mere passing of time; infinite where only a call that
        ends can make room."""
        pool = self._pools[model]
        sites = [spot.site.opens_at(now) for spot in pool.spots if spot.free and not pool.full]
        opens = max(min(sites, default=inf), self._rates_open(pool, tokens, now))
        ends = [self._outage_ends(spot.site) for spot in pool.spots]
        return min(opens, max(ends, default=inf))

    def why(self, model: str, now: float) -> Literal["slot", "busy", "outage"]:
        """Why a call to model waits."""
        pool = self._pools[model]
        if all(spot.site.down_since is not None for spot in pool.spots):
            return "outage"
        sites = [spot.site for spot in pool.spots if spot.free and not pool.full]
        return "busy" if sites and all(site.opens_at(now) > now for site in sites) else "slot"

    def refusal(self, model: str, now: float) -> CallError | Outage | None:
        """Why no call to model can be sent at all; None where waiting may help."""
        pool = self._pools.get(model)
        if pool is None or not pool.spots:
            return CallError("unreachable", f"no replica serves the model {model}")
        if any(spot.site.is_well for spot in pool.spots):
            return None
        sites = [spot.site for spot in pool.spots]
        closed = [s.closed for s in sites if s.closed is not None and s.closed_until > now]
        if len(closed) == len(sites):
            return closed[0]
        if all(now >= self._outage_ends(site) for site in sites):
            site = sites[0]
            return Outage(
                site.name, now - (site.down_since or now), "no connection, or only errors"
            )
        return None

    def _outage_ends(self, site: Site) -> float:
        return inf if site.down_since is None else site.down_since + self._outage_s

    def waits_for_endpoint(self, model: str, replica: Replica, now: float) -> bool:
        """After a failure there: it is down after it had answered, or another endpoint serves the model."""
        site = self._spots[replica].site
        others = [spot.site for spot in self._pools[model].spots if spot.site is not site]
        open_ = any(other.closed_until <= now for other in others)
        return site.down_since is not None or open_

    def endpoints(self, model: str) -> int:
        """How many endpoints serve model, however many replicas each has."""
        return len({id(spot.site) for spot in self._pools[model].spots})

    # --- what servers tell ---

    def replicas(self, models: Iterable[str]) -> list[Replica]:
        """Those that may have gauges worth asking for: of one call at a time nothing is to be learnt."""
        spots = [spot for model in models for spot in self._pools[model].spots]
        return [spot.replica for spot in spots if spot.replica.inflight > 1 and not spot.silent]

    def tell_load(self, models: Iterable[str]) -> bool:
        """Whether any of them may still tell its load."""
        return bool(self.replicas(models))

    def due(self, models: Iterable[str], now: float) -> list[Replica]:
        """Those where calls are in flight whose gauges are to be read now; each is handed out once a period,
        whoever asks."""
        due: list[Replica] = []
        for replica in self.replicas(models):
            spot = self._spots[replica]
            if spot.inflight and spot.site.is_well and now >= spot.asked_at + EVERY_S:
                spot.asked_at = now
                due.append(replica)
        return due

    def told(self, replica: Replica, load: Load | None, now: float) -> None:
        """What replica's gauges say; None: it has none."""
        spot = self._spots[replica]
        spot.silent = load is None
        if load is not None:
            spot.width.told(load, spot.inflight, now)

    # --- what calls tell ---

    def answered(self, replica: Replica, now: float) -> None:
        """A call ended well there: the endpoint is up. Before its slot is given back."""
        spot = self._spots[replica]
        self._up(spot.site)
        spot.site.answered, spot.site.refusals = True, 0
        spot.width.answered(spot.inflight, now)

    def _up(self, site: Site) -> None:
        site.down_since, site.failures, site.outages = None, 0, 0
        if site.closed is not None and site.closed.kind in ("unreachable", "mute"):
            site.closed, site.closed_until = None, -inf

    def failed(self, replica: Replica, error: CallError, now: float) -> None:
        """A call failed there: pause, close or watch the endpoint, as the error says. Before its slot is
        given back, so that nobody takes it too soon."""
        spot = self._spots[replica]
        site = spot.site
        match error.kind:
            case "busy":
                self._up(site)
                self._busy(spot, error, now)
            case "unreachable":
                self._down(site, error, now)
            case "mute":
                self._mute(site, error, now)
            case "server" | "cut" | "silent" | "empty" | "protocol":
                site.failures += 1
                # One failing call may be its own fault; as many as a call is allowed are the server's.
                fails = error.kind == "server" and site.failures >= 5
                if site.answered and (fails or site.down_since is not None):
                    self._down(site, error, now)
            case "credentials" | "quota":
                self.close(replica, error, now + CLOSED_S)
            case "request" | "model" | "overflow" | "reply" | "verifier":
                self._up(site)

    def _busy(self, spot: Spot, error: CallError, now: float) -> None:
        site = spot.site
        # Refusals of one burst say the same thing: the longest pause counts, not their sum or number.
        site.refusals += now >= site.told_until
        wait = pause(error, max(1, site.refusals), self._chance)
        if now >= site.told_until or now + (error.retry_after_s or 0.0) > site.told_until:
            site.told_until = site.paused_until = max(site.paused_until, now + wait)
        site.ramp = sum(int(s.limit) for s in self._spots.values() if s.site is site)
        over = min(RAMP_S[1], max(RAMP_S[0], RAMP_SHARE * wait))
        site.ramp_gap = min(RAMP_GAP_S, over / max(1, site.ramp))
        spot.width.refused(now, wait)

    def _down(self, site: Site, error: CallError, now: float) -> None:
        if not (site.answered or site.reached):
            site.closed, site.closed_until = error, now + CLOSED_S
            return
        # So do the calls that were in flight when it went.
        if site.down_since is None or now >= site.told_until:
            site.outages += 1
            wait = backoff(site.outages, self._chance)
            site.told_until = site.paused_until = max(site.paused_until, now + wait)
        site.down_since = now if site.down_since is None else site.down_since

    def _mute(self, site: Site, error: CallError, now: float) -> None:
        site.failures += 1
        if not site.answered:  # else it is one of its models that hangs
            site.closed, site.closed_until = error, now + CLOSED_S
            # When it opens again, for later runs or beside other endpoints, one call at a time finds out.
            site.down_since = now if site.down_since is None else site.down_since

    def close(self, replica: Replica, error: CallError, until: float = inf) -> None:
        """Send nothing more to the replica's endpoint until then: error is what all calls there get."""
        site = self._spots[replica].site
        site.closed, site.closed_until = error, max(site.closed_until, until)
