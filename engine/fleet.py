"""The replicas and what is known of their load and limits. Pure state; time and chance come in.

What an endpoint says (busy, no money, down) counts for all models and replicas behind it, as `site` has it. Slots
and rates are the server's, whoever's key is used: what is in flight there counts for all.

Of some length, as what is asked of a fleet and what it is told are about the same few tables.
"""

import random
from collections import OrderedDict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from math import inf
from typing import Literal

from podium.dsl.model import Limits

from .call import CallError, Outage, Replica
from .clients.gauges import Load
from .fair import Places
from .placing import Homes, choose, mark, may_keep, share_of
from .quick import quick
from .rates import Window
from .site import CLOSED_S, Site
from .width import EVERY_S, Width

GROUPS = 50_000


@quick(frozen=True, slots=True)
class Wish:
    """What a call to model wants of a replica. tokens: at most so many. group: its team, or its agent, whose calls
    belong on one replica; "" where it is alone. prefix: of its prompt, 0 where that is shared with nobody. avoid:
    where it failed last."""

    model: str
    group: str
    tokens: int
    prefix: int = 0
    avoid: Replica | None = None


@dataclass(slots=True)
class Seats:
    """What is in flight at one place of a server, whatever the model is called and whoever's key is used."""

    taken: int = 0


@dataclass(slots=True)
class Spot:
    """A replica's state. width: how many calls it bears. asked_at: when it was last asked for its gauges;
    silent: it has none. drained: it gets no new calls. mark: of its name, the same in every process."""

    replica: Replica
    site: Site
    width: Width
    seats: Seats
    asked_at: float = -inf
    silent: bool = False
    drained: bool = False
    mark: int = field(init=False)

    def __post_init__(self) -> None:
        self.mark = mark(self.replica.name)

    @property
    def cache(self) -> int:
        """A number for what it has in its cache: another one after it was down."""
        return self.mark << 16 | self.site.falls

    @property
    def limit(self) -> float:
        return self.width.limit

    @property
    def inflight(self) -> int:
        return self.seats.taken

    @property
    def free(self) -> bool:
        return not self.drained and self.seats.taken + 1 <= self.width.limit


@dataclass(slots=True)
class Pool:
    """The replicas of one model, and the rates it bears. most: calls in flight over all of them. leads: whether
    one of its calls reads a long prompt first."""

    spots: list[Spot]
    calls: Window | None
    tokens: Window | None
    most: int | None = None
    leads: bool = False

    @property
    def there(self) -> list[Spot]:
        """Those that are not drained; all of them where all are."""
        return [spot for spot in self.spots if not spot.drained] or self.spots

    @property
    def full(self) -> bool:
        """Whether as many calls are in flight as the model may have."""
        return self.most is not None and sum([s.seats.taken for s in self.spots]) >= self.most


def _free(pool: Pool, now: float) -> list[Spot]:
    """Those that may have one call more now."""
    return [spot for spot in pool.spots if spot.free and spot.site.opens_at(now) <= now]


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
        self._homes = Homes()
        self._working_on: list[tuple[float, int, Seats]] = []
        self._drained: dict[str, None] = {}

    def add(
        self,
        model: str,
        replicas: Iterable[Replica],
        limits: Limits = Limits(),
        *,
        tells_begun: bool = False,
    ) -> None:
        """Have model served by replicas, instead of those it had. Each bears its own `inflight` calls;
        limits count for all replicas together. What was sent before still counts, and so does what is
        sent to the same places under the same rates as another model. tells_begun: as `leading.Beginning`."""
        spots = [self._spot(replica) for replica in replicas]
        wide = any(spot.replica.inflight > 1 for spot in spots)
        places = frozenset(_place(spot.replica) for spot in spots)
        self._pools[model] = Pool(
            spots,
            self._window("calls", places, limits.calls),
            self._window("tokens", places, limits.tokens),
            limits.inflight,
            tells_begun and wide,
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
        spot = self._spots.setdefault(replica, Spot(replica, site, width, seats))
        spot.drained = any(is_named(replica, name) for name in self._drained)
        return spot

    # --- placement ---

    def shares(self, model: str) -> bool:
        """Whether it matters which replica a call to model goes to."""
        pool = self._pools.get(model)
        return pool is not None and len(pool.spots) > 1

    def leads(self, model: str) -> bool:
        """Whether a call to model may have to follow one that reads the same: where it is told when that was read,
        and a replica bears more than one call."""
        pool = self._pools.get(model)
        return pool is not None and pool.leads

    def homes(self, wish: Wish) -> tuple[int, ...]:
        """The caches that a call had better go to: its group's last replica's, else all that have its prefix, and
        after a failure those of other endpoints."""
        if wish.avoid is not None:
            site = self._spots[wish.avoid].site
            return tuple(s.cache for s in self._pools[wish.model].spots if s.site is not site)
        last = self._groups.get((wish.model, wish.group))
        if last is not None:
            return (last.cache,)
        caches = [spot.cache for spot in self._pools[wish.model].spots]
        return tuple(cache for cache in caches if (cache, wish.prefix) in self._homes.used)

    def places(self, model: str, now: float) -> Places | None:
        """The caches of model's replicas, where it matters which call is next: only some of them have room."""
        pool = self._pools.get(model)
        if pool is None or len(pool.spots) == 1:
            return None
        free = _free(pool, now)
        if not free or len(free) == len(pool.spots):
            return None
        opened = [s for s in pool.spots if not s.drained and s.site.opens_at(now) <= now]
        if len(free) == len(opened):
            return None
        return Places({spot.cache for spot in free}, {spot.cache for spot in opened})

    def where(self, wish: Wish, now: float) -> Spot | None:
        """Where a call goes; None where it can go nowhere now.

        To the replica that its group used last, unless that would make the load uneven; else to the one that
        `placing.choose` takes for its prefix. To the endpoint of what it avoids only where no other has room.
        """
        pool = self._pools[wish.model]
        open_spots = _free(pool, now)
        if not open_spots or pool.full or self._rates_open(pool, wish.tokens, now) > now:
            return None
        if wish.avoid is not None:
            site = self._spots[wish.avoid].site
            open_spots = [spot for spot in open_spots if spot.site is not site] or open_spots
        return self._choose(pool, wish, open_spots, now)

    def place(self, wish: Wish, now: float, found: Spot | None = None) -> Replica | None:
        """The replica that `where` finds, or found just before, its slot taken; None where none is free now."""
        pool, spot = self._pools[wish.model], found or self.where(wish, now)
        if spot is None:
            return None
        spot.seats.taken += 1
        spot.site.enter(now, self._chance)
        if wish.group and len(pool.spots) > 1:
            key = (wish.model, wish.group)
            self._groups[key] = spot
            self._groups.move_to_end(key)
            if len(self._groups) > GROUPS:
                self._groups.popitem(last=False)
        if wish.prefix:
            self._homes.use(spot.cache, wish.prefix, now)
        for window, amount in ((pool.calls, 1), (pool.tokens, wish.tokens)):
            if window is not None:
                window.take(amount, now)
        return spot.replica

    def cache_of(self, replica: Replica) -> int:
        """As `Spot.cache`."""
        return self._spots[replica].cache

    def has_place(self, model: str, tokens: int, now: float) -> bool:
        """Whether `place` would find one."""
        pool = self._pools[model]
        for spot in pool.spots:
            if spot.free and spot.site.opens_at(now) <= now:
                return not pool.full and self._rates_open(pool, tokens, now) <= now
        return False

    def _rates_open(self, pool: Pool, tokens: int, now: float) -> float:
        if pool.calls is None and pool.tokens is None:
            return now
        calls = now if pool.calls is None else pool.calls.opens_at(1, now)
        return max(calls, now if pool.tokens is None else pool.tokens.opens_at(tokens, now))

    def _choose(self, pool: Pool, wish: Wish, spots: list[Spot], now: float) -> Spot:
        if len(pool.spots) == 1:
            return spots[0]
        last = self._groups.get((wish.model, wish.group)) if wish.group else None
        share, prefix = share_of(pool.there), wish.prefix
        if last is not None and last in spots and may_keep(last, share):
            return last
        warm = [s for s in spots if self._homes.has(s.cache, prefix, now)] if prefix else []
        return choose(spots, warm, prefix, share)

    def give_back(self, replica: Replica, now: float = -inf) -> None:
        """The slot is free again; where the call was broken off now, once the server notices that."""
        spot = self._spots[replica]
        spot.site.probing = False
        if replica.works_on_s and now > -inf:
            until = now + replica.works_on_s
            heappush(self._working_on, (until, id(spot.seats), spot.seats))
        else:
            spot.seats.taken -= 1

    def pass_time(self, now: float) -> None:
        """Have the slots back whose calls were broken off long enough ago."""
        while self._working_on and self._working_on[0][0] <= now:
            heappop(self._working_on)[2].taken -= 1

    # --- what a person orders ---

    def drain(self, name: str) -> bool:
        """Send nothing more to the replicas of that name, until `undrain`; what is there ends. False where
        there are none now: should they come, they are drained."""
        self._drained[name] = None
        return self._mark_drained(name, drained=True)

    def undrain(self, name: str) -> bool:
        self._drained.pop(name, None)
        return self._mark_drained(name, drained=False)

    def _mark_drained(self, name: str, *, drained: bool) -> bool:
        named = [spot for spot in self._spots.values() if is_named(spot.replica, name)]
        for spot in named:
            spot.drained = drained
        return bool(named)

    # --- questions ---

    def opens_at(self, model: str, tokens: int, now: float) -> float:
        """When a call may next be placed by the mere passing of time; infinite where only a call that
        ends can make room."""
        pool = self._pools[model]
        sites = [spot.site.opens_at(now) for spot in pool.spots if spot.free and not pool.full]
        opens = max(min(sites), self._rates_open(pool, tokens, now)) if sites else inf
        freed = self._working_on[0][0] if self._working_on else inf
        return min(opens, freed, self._all_out(pool))

    def why(self, model: str, now: float) -> Literal["slot", "busy", "outage", "drained"]:
        """Why a call to model waits."""
        pool = self._pools[model]
        if all(spot.drained for spot in pool.spots):
            return "drained"
        if all(spot.site.down_since is not None for spot in pool.there):
            return "outage"
        sites = [spot.site for spot in pool.spots if spot.free and not pool.full]
        return "busy" if sites and all(site.opens_at(now) > now for site in sites) else "slot"

    def refusal(self, model: str, now: float) -> CallError | Outage | None:
        """Why no call to model can be sent at all; None where waiting may help."""
        pool = self._pools.get(model)
        if pool is None or not pool.spots:
            return CallError("unreachable", f"no replica serves the model {model}")
        for spot in pool.spots:
            if spot.site.is_well and not spot.drained:
                return None
        sites = [spot.site for spot in pool.there]
        if any(site.is_well for site in sites):
            return None
        closed = [s.closed for s in sites if s.closed is not None and s.closed_until > now]
        if len(closed) == len(sites):
            return closed[0]
        if all(now >= self._outage_ends(site) for site in sites):
            site = sites[0]
            return Outage(
                site.name, now - (site.down_since or now), "no connection, or only errors"
            )
        return None

    def _all_out(self, pool: Pool) -> float:
        """When the last of the pool's outages was waited for; infinite while one of its sites is up."""
        for spot in pool.spots:
            if spot.site.down_since is None and not spot.drained:
                return inf
        return max([self._outage_ends(spot.site) for spot in pool.there], default=inf)

    def _outage_ends(self, site: Site) -> float:
        return inf if site.down_since is None else site.down_since + self._outage_s

    def is_down(self, replica: Replica) -> bool:
        """Whether its endpoint is held to be down, after it had answered."""
        return self._spots[replica].site.down_since is not None

    def is_elsewhere(self, model: str, replica: Replica, now: float) -> bool:
        """Whether another endpoint than the replica's serves the model."""
        site = self._spots[replica].site
        others = [spot.site for spot in self._pools[model].there if spot.site is not site]
        return any(other.closed_until <= now for other in others)

    def endpoints(self, model: str) -> int:
        """How many endpoints serve model, however many replicas each has."""
        return len({id(spot.site) for spot in self._pools[model].spots})

    # --- what servers tell ---

    def replicas(self, models: Iterable[str]) -> list[Replica]:
        return [spot.replica for model in models for spot in self._pools[model].spots]

    def gauged(self, models: Iterable[str]) -> list[Replica]:
        """Those that may have gauges worth asking for: of one call at a time nothing is to be learnt."""
        spots = [spot for model in models for spot in self._pools[model].spots]
        return [spot.replica for spot in spots if spot.replica.inflight > 1 and not spot.silent]

    def due(self, models: Iterable[str], now: float) -> list[Replica]:
        """Those where calls are in flight whose gauges are to be read now; each is handed out once a period,
        whoever asks."""
        due: list[Replica] = []
        for replica in self.gauged(models):
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

    def sick(self, models: Collection[str], now: float) -> list[Replica]:
        """One replica of each endpoint that is down and whose server is to be asked for its health now."""
        spots = {id(s.site): s for model in models for s in self._pools[model].spots if s.site.sick}
        return [spot.replica for spot in spots.values() if spot.site.asks(now)]

    def tells_health(self, replica: Replica) -> None:
        """The replica's server is to be asked for its health before a call goes there again."""
        self._spots[replica].site.tells = True

    def well(self, replica: Replica) -> None:
        """The replica's server says that it is well."""
        self._spots[replica].site.well()

    # --- what calls tell ---

    def answered(self, replica: Replica, now: float) -> None:
        """A call ended well there: the endpoint is up. Before its slot is given back."""
        spot = self._spots[replica]
        spot.site.up()
        spot.site.answered, spot.site.refusals = True, 0
        spot.width.answered(spot.inflight, now)

    def failed(self, replica: Replica, error: CallError, now: float) -> None:
        """A call failed there: pause, close or watch the endpoint, as the error says. Before its slot is
        given back, so that nobody takes it too soon."""
        spot = self._spots[replica]
        site = spot.site
        match error.kind:
            case "busy":
                slots = sum(int(s.limit) for s in self._spots.values() if s.site is site)
                spot.width.refused(now, site.busy(error, slots, now, self._chance))
            case "unreachable":
                site.down(error, now, self._chance)
            case "mute":
                site.mute(error, now)
            case "server" | "cut" | "silent" | "empty" | "protocol":
                site.failed(error, now, self._chance, alone=self._is_alone(site))
            case "credentials" | "quota":
                site.close(error, now + CLOSED_S)
            case _:  # it answered
                site.up()

    def _is_alone(self, site: Site) -> bool:
        """Whether no other endpoint that is well serves one of its models."""
        pools = [pool for pool in self._pools.values() if any(s.site is site for s in pool.spots)]
        return not any(s.site.is_well and s.site is not site for p in pools for s in p.there)

    def close(self, replica: Replica, error: CallError) -> None:
        """Send nothing more to the replica's endpoint: error is what all calls there get."""
        self._spots[replica].site.close(error)


def is_named(replica: Replica, name: str) -> bool:
    """Whether name is the replica's, with or without its model, or its server's, without a slot."""
    return is_called(replica.name, name)


def is_called(replica: str, name: str) -> bool:
    """The same of a replica by its full name."""
    place = replica.partition("@")[2] or replica
    return name in (replica, place, place.partition("/")[0])
