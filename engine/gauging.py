"""Asking servers for their gauges, while calls of ours are there."""

from collections.abc import Collection
from typing import Protocol, runtime_checkable

import anyio

from .admit import Admission
from .call import CallError, Client, Replica
from .clients.gauges import Load
from .width import EVERY_S


@runtime_checkable
class Gauged(Protocol):
    """A client whose servers may tell their load. has_gauges: whether this one's kind does; load: None where
    it does not after all."""

    def has_gauges(self, replica: Replica) -> bool: ...

    async def load(self, replica: Replica) -> Load | None: ...


async def listen(
    client: Client, admission: Admission, pools: Collection[str], scope: anyio.CancelScope
) -> None:
    """Until scope is cancelled, or no server of pools has gauges: let admission know what they say.

    A server that is not there, or takes longer than the time until the next question, is asked again then.
    """
    if not isinstance(client, Gauged):
        return
    fleet = admission.fleet
    for replica in fleet.replicas(pools):
        if not client.has_gauges(replica):
            fleet.told(replica, None, 0.0)
    with scope:
        while fleet.tell_load(pools):
            await anyio.sleep(EVERY_S)
            due = fleet.due(pools, anyio.current_time())
            if due:
                await _ask(client, admission, due)


async def _ask(client: Gauged, admission: Admission, due: list[Replica]) -> None:
    async def one(replica: Replica) -> None:
        try:
            load = await client.load(replica)
        except CallError:
            return
        admission.fleet.told(replica, load, anyio.current_time())

    with anyio.move_on_after(EVERY_S):
        async with anyio.create_task_group() as tasks:
            for replica in due:
                tasks.start_soon(one, replica)
    admission.turn()
