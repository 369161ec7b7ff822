"""Asking servers for their gauges while calls of ours are there, and those that are down whether they are well."""

from collections.abc import Callable, Collection, Coroutine
from typing import Protocol, runtime_checkable

import anyio

from .admit import Admission
from .call import CallError, Client, Replica
from .clients.gauges import Load
from .width import EVERY_S


@runtime_checkable
class Gauged(Protocol):
    """A client whose servers may tell their load. has_gauges: whether this one's kind does; load: None where it
    does not after all."""

    def has_gauges(self, replica: Replica) -> bool: ...

    async def load(self, replica: Replica) -> Load | None: ...


@runtime_checkable
class Watched(Protocol):
    """A client whose servers may tell their health. has_health: whether this one's kind does; is_well: whether it
    is ready for calls."""

    def has_health(self, replica: Replica) -> bool: ...

    async def is_well(self, replica: Replica) -> bool: ...


async def listen(
    client: Client, admission: Admission, pools: Collection[str], scope: anyio.CancelScope
) -> None:
    """Until scope is cancelled, or no server of pools has anything to tell: let admission know what they say.

    A server that is not there, or takes longer than the time until the next question, is asked again then.
    """
    fleet, all_ = admission.fleet, admission.fleet.replicas(pools)
    with scope:
        async with anyio.create_task_group() as tasks:
            if isinstance(client, Watched) and any(map(client.has_health, all_)):
                for replica in filter(client.has_health, all_):
                    fleet.tells_health(replica)
                tasks.start_soon(_health, client, admission, pools)
            if isinstance(client, Gauged):
                for replica in fleet.gauged(pools):
                    if not client.has_gauges(replica):
                        fleet.told(replica, None, 0.0)
                tasks.start_soon(_loads, client, admission, pools)


async def _loads(client: Gauged, admission: Admission, pools: Collection[str]) -> None:
    fleet = admission.fleet

    async def one(replica: Replica) -> None:
        try:
            load = await client.load(replica)
        except CallError:
            return
        fleet.told(replica, load, anyio.current_time())

    while fleet.gauged(pools):
        await anyio.sleep(EVERY_S)
        await _each(one, fleet.due(pools, anyio.current_time()), admission)


async def _health(client: Watched, admission: Admission, pools: Collection[str]) -> None:
    async def one(replica: Replica) -> None:
        if await client.is_well(replica):
            admission.fleet.well(replica)

    while True:
        await anyio.sleep(EVERY_S)
        await _each(one, admission.fleet.sick(pools, anyio.current_time()), admission)


async def _each(
    ask: Callable[[Replica], Coroutine[None, None, None]],
    replicas: list[Replica],
    admission: Admission,
) -> None:
    if not replicas:
        return
    with anyio.move_on_after(EVERY_S):
        async with anyio.create_task_group() as tasks:
            for replica in replicas:
                tasks.start_soon(ask, replica)
    admission.turn()
