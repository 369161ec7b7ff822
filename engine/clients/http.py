"""The way to real servers: what they serve, and one try of a call. See `Client` in `..call`.

Everything that decides is elsewhere and pure (address, profile, chat, classify); here it is put in order. Of some
length, as what probing finds out of a server is what sending to it needs.
"""

import os
import time
import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from types import MappingProxyType, TracebackType
from typing import Any, Self

import anyio
import orjson

from podium.dsl.model import Endpoint, Model

from ..call import CallError, ModelCall, ModelReply, Replica
from ..plain import excerpt
from ..value import Json
from .address import Address, address
from .body import droppable, request, without
from .body import headers as affinity
from .chat import Collector
from .classify import UNKNOWN, refusal, refused_field, refuses_priority, scrubbed
from .collect import collect
from .dialects import PROFILES, Profile
from .discover import choose, context_of, knows_tools, listed, slots_of
from .first import Trial
from .gauges import Load, load_of, tokens_of
from .local import LocalServer, local_server
from .loose import mapping, parsed
from .profile import adjusted, recognise
from .textual import calls_in, left_in
from .wire import Answer, Stream, Wire

NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class _Way:
    """The way to a replica. trial: of its model there."""

    replica: Replica
    profile: Profile
    place: Address
    trial: Trial


def _quiet(_: str) -> None:
    pass


class HttpClient:
    """An async context manager: it owns the connections and the embedded servers it started.

    environ and secrets (which come first) are where keys and addresses are looked up by name; values
    of neither are kept elsewhere or shown. tell: told, in a sentence, of what takes long. wire: other
    time-outs than the usual.
    """

    tells_begun = True

    def __init__(
        self,
        environ: Mapping[str, str],
        secrets: Mapping[str, str] = NOTHING,
        *,
        tell: Callable[[str], None] = _quiet,
        wire: Wire | None = None,
    ) -> None:
        self._environ = environ
        self._secrets = secrets
        self._tell = tell
        self._wire = wire or Wire()
        self._stack = AsyncExitStack()
        self._local: dict[str, LocalServer] = {}
        self._local_lock = anyio.Lock()  # two calls must not start the same server twice
        self._profiles: dict[str, Profile] = {}
        self._changes: dict[str, tuple[str, ...]] = {}
        self._trials: dict[str, Trial] = {}
        self._doubted: set[str] = set()
        self._left_out: set[tuple[Endpoint, ...]] = set()
        self._marking = os.urandom(32)

    def with_secrets(self, secrets: Mapping[str, str]) -> "HttpClient":
        """This client with secrets that come first: the same connections, servers and knowledge of them.
        It lasts as long as this one, and is not entered."""
        other = copy(self)
        other._secrets = {**self._secrets, **secrets}
        return other

    async def __aenter__(self) -> Self:
        await self._stack.enter_async_context(self._wire)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._stack.aclose()

    # --- what is served --------------------------------------------------------------------------

    async def probe(self, model: Model) -> tuple[Replica, ...]:
        """The replicas of model's endpoints, in their order. One that cannot be reached is left out where another
        can, and told of. Raises CallError: the first endpoint's that fails otherwise."""
        found: list[tuple[Replica, ...] | CallError] = [()] * len(model.endpoints)

        async def one(i: int, endpoint: Endpoint) -> None:
            try:
                found[i] = await self._probe(model, endpoint)
            except CallError as problem:
                found[i] = problem

        async with anyio.create_task_group() as tasks:
            for i, endpoint in enumerate(model.endpoints):
                tasks.start_soon(one, i, endpoint)
        replicas: list[Replica] = []
        reached = any(not isinstance(result, CallError) for result in found)
        for result in found:
            if not isinstance(result, CallError):
                replicas += result
            elif not (reached and result.kind == "unreachable"):
                raise result
            elif model.endpoints not in self._left_out:
                self._tell(f"{result.message}; {model.name} goes on without it until it is there")
        self._left_out.discard(model.endpoints)
        if any(isinstance(result, CallError) for result in found):
            self._left_out.add(model.endpoints)
        return _uniquely_named(replicas)

    def leaves_out(self, model: Model) -> bool:
        """Whether an endpoint of model was not there when it was last probed, and others were."""
        return model.endpoints in self._left_out

    async def _probe(self, model: Model, endpoint: Endpoint) -> tuple[Replica, ...]:
        place = await self._address(endpoint)
        where = _where(endpoint, place)
        base, answer = await self._models(place, endpoint.name, where)
        wanted = "" if endpoint.kind == "local" else endpoint.name
        served = choose(listed(answer.body), wanted, where)
        name = recognise(place.host, served.owned_by, answer.headers.get("server", ""))
        try:
            profile = adjusted(PROFILES[name], model.profile)
        except ValueError as problem:
            raise CallError("request", f"model {model.name}: {problem}") from None
        props = await self._props(place, profile, where)
        slots = slots_of(props) if profile.slots else None
        if not knows_tools(props) and "tools" not in model.profile:
            profile = replace(profile, tools="text")
        replicas = _replicas(
            Replica(
                name=f"{model.name}@{where}",
                model=model.name,
                endpoint=endpoint,
                url=base,
                served=served.id,
                inflight=model.limits.inflight or profile.inflight,
                context=context_of(served, props),
                profile=profile.name,
                key_mark="" if endpoint.kind == "local" else self._mark(place),
                works_on_s=profile.works_on_s,
            ),
            slots,
            model.limits.inflight,
        )
        self._profiles[_profile_key(replicas[0])] = profile
        return replicas

    def _mark(self, place: Address) -> str:
        """The same for the same key, in this process; nothing can be learnt from it."""
        if not place.headers:
            return ""
        keys = orjson.dumps(sorted(place.headers.items()))
        return blake2b(keys, key=self._marking, digest_size=8).hexdigest()

    async def _address(self, endpoint: Endpoint) -> Address:
        if endpoint.kind == "openai":
            return address(endpoint, self._environ, self._secrets)
        server = self._local.get(endpoint.name)
        if server is None or not server.runs:
            server = await self._started(endpoint.name)
        return server.address

    async def _started(self, name: str) -> LocalServer:
        async with self._local_lock:
            server = self._local.get(name)
            if server is None or not server.runs:  # another task may have been here first
                server = await self._stack.enter_async_context(
                    local_server(name, self._environ, self._tell)
                )
                self._local[name] = server
        return server

    async def _models(self, place: Address, wanted: str, where: str) -> tuple[str, Answer]:
        """The base under which routes lie, and its list of models: with /v1 added, or as it was written."""
        bases = (place.base,) if place.versioned else (f"{place.base}/v1", place.base)
        failures: list[CallError] = []
        for base in bases:
            answer = await self._wire.fetch(f"{base}/models", place.headers, where=where)
            if answer.status == 200 and listed(answer.body) is not None:
                return base, answer
            failures.append(self._no_list(answer, place, where))
            absent = answer.status in (404, 405)
            if absent and place.versioned and wanted and failures[0].kind != "protocol":
                # A server without this route: the name is taken on trust.
                return base, replace(answer, body=orjson.dumps({"data": [{"id": wanted}]}))
            if not absent and answer.status != 200:
                break
        raise failures[0]

    def _no_list(self, answer: Answer, place: Address, where: str) -> CallError:
        if answer.status == 200:
            said = scrubbed(answer.body[:500].decode(errors="replace"), self._hidden(place))
            start = repr(excerpt(said, 80)) if said else "nothing"
            return CallError(
                "protocol", f"{where} is no server of the OpenAI protocol: /models gave {start}"
            )
        return self._refusal(answer, place, f"{where}/models")

    async def _props(self, place: Address, profile: Profile, where: str) -> dict[str, Any]:
        """What the server says of itself outside the protocol; nothing where it does not."""
        if not profile.about:
            return {}
        try:
            answer = await self._wire.fetch(place.root + profile.about, place.headers, where=where)
        except CallError:
            return {}
        return mapping(parsed(answer.body)) if answer.status == 200 else {}

    def has_health(self, replica: Replica) -> bool:
        """Whether servers of the replica's kind say whether they are ready."""
        return bool(self._profile(replica).health)

    async def is_well(self, replica: Replica) -> bool:
        """Whether the server says that it is ready; one that is not there is not. A proxy may hide the route."""
        try:
            place = await self._address(replica.endpoint)
            url = place.root + self._profile(replica).health
            return (await self._wire.fetch(url, place.headers, where=replica.name)).status < 500
        except CallError:
            return False

    def has_gauges(self, replica: Replica) -> bool:
        """Whether servers of the replica's kind tell their load."""
        return bool(self._profile(replica).metrics)

    async def load(self, replica: Replica) -> Load | None:
        """What the server tells of its load now; None where its dialect has no gauges, or they are off.

        Raises CallError where the server is not there.
        """
        place, profile = await self._address(replica.endpoint), self._profile(replica)
        if not profile.metrics:
            return None
        url = place.root + profile.metrics
        answer = await self._wire.fetch(url, place.headers, where=replica.name)
        return load_of(answer.body, profile.gauges) if answer.status == 200 else None

    async def count(self, call: ModelCall, replica: Replica) -> int | None:
        """The tokens of call's prompt by the server's own tokenizer, template included; None where it does not
        count. Raises CallError where the server is not there.
        """
        place, profile = await self._address(replica.endpoint), self._profile(replica)
        if not profile.count:
            return None
        body = request(call, replica, profile)
        asked = {name: body[name] for name in ("model", "messages", "tools") if name in body}
        async with self._wire.post(
            place.root + profile.count,
            {**place.headers, "Content-Type": "application/json"},
            orjson.dumps(asked),
            where=replica.name,
            reuse=profile.reuses_connections,
            idle_s=profile.idle_s,
        ) as stream:
            return tokens_of(await stream.body()) if stream.status == 200 else None

    def _profile(self, replica: Replica) -> Profile:
        return self._profiles.get(_profile_key(replica), PROFILES[replica.profile])

    # --- one try ---------------------------------------------------------------------------------

    async def send(self, call: ModelCall, replica: Replica, request_id: str) -> ModelReply:
        """One try. A field that this server refuses, and that the program did not ask for, is left out
        or renamed at once: such a refusal cost nothing. What then worked is remembered."""
        place = await self._address(replica.endpoint)
        profile = self._profile(replica)
        body = request(call, replica, profile)
        changes = self._changes.get(_profile_key(replica), ())
        for name in changes:
            body = without(body, name, call) or body
        trial = self._trial(replica, profile)
        while True:
            post = partial(self._post, call, _Way(replica, profile, place, trial), body, request_id)
            if trial.proven:
                outcome = await post()
            else:
                alive = partial(self._alive, replica, place)
                outcome = await trial.watched(post, alive)
            if isinstance(outcome, ModelReply):
                self._changes[_profile_key(replica)] = changes
                return outcome
            failure, field = outcome
            changed = None if field is None else without(body, field, call)
            if field is None or changed is None or field in changes:
                raise failure
            body, changes = changed, (*changes, field)

    def _trial(self, replica: Replica, profile: Profile) -> Trial:
        """What is known of the model at its endpoint: each model there may have to be loaded."""
        key = _profile_key(replica)
        if key not in self._trials:
            where = replica.name.partition("@")[2] or replica.name
            self._trials[key] = Trial(where, replica.served, profile, self._tell)
        return self._trials[key]

    async def _alive(self, replica: Replica, place: Address) -> None:
        """Raises CallError where the endpoint answers nothing; any answer will do."""
        url = f"{_base(replica, place)}/models"
        await self._wire.fetch(url, place.headers, where=replica.name)

    async def _post(
        self,
        call: ModelCall,
        way: _Way,
        body: Mapping[str, Json],
        request_id: str,
    ) -> ModelReply | tuple[CallError, str | None]:
        """The reply; or what failed, and the field of body that the server refuses, where it is one."""
        replica, profile, place, trial = way.replica, way.profile, way.place, way.trial
        headers = {
            **place.headers,
            "Content-Type": "application/json",
            "Accept": "text/event-stream",
            "X-Request-Id": as_uuid(request_id),
            **affinity(call, profile),
        }
        first = not trial.proven
        async with self._wire.post(
            f"{_base(replica, place)}/chat/completions",
            headers,
            orjson.dumps(body),
            where=replica.name,
            reuse=profile.reuses_connections,
            idle_s=profile.first_s if first else profile.idle_s,
        ) as stream:
            if stream.status != 200:
                answer = Answer(stream.status, stream.headers, await stream.body())
                failure = self._refusal(answer, place, replica.name, profile)
                if failure.kind != "request":
                    return failure, None
                return failure, refused_field(answer.status, answer.body, droppable(call, body))
            if first:
                stream.begun = partial(_begun, trial, stream, profile.idle_s)
            return await self._read(stream, call, way, body)

    async def _read(
        self, stream: Stream, call: ModelCall, way: _Way, body: Mapping[str, Json]
    ) -> ModelReply | tuple[CallError, str]:
        replica = way.replica
        collector = Collector(call, way.profile, replica.name, self._hidden(way.place))
        try:
            await collect(stream, collector, way.profile)
        except CallError as failure:  # SGLang refuses a priority inside of a 200
            asked = failure.kind == "request" and "priority" in body
            if asked and refuses_priority(failure.message):
                return failure, "priority"
            raise
        reply = collector.reply(replica)
        if call.tools:
            reply = left_in(reply, call.tools) if "tools" in body else calls_in(reply)
        if reply.usage.doubtful:
            self._doubt(replica)
        return reply

    def _doubt(self, replica: Replica) -> None:
        """Say, once for each model at its endpoint, that its figures do not add up."""
        key = _profile_key(replica)
        if key not in self._doubted:
            self._doubted.add(key)
            self._tell(
                f"{replica.name} tells of more cached input than it had input; it is counted up to that,"
                " and what the vendor charges may differ"
            )

    def _refusal(
        self, answer: Answer, place: Address, where: str, profile: Profile = UNKNOWN
    ) -> CallError:
        if 300 <= answer.status < 400:
            to = scrubbed(answer.headers.get("location", "nowhere"), self._hidden(place))
            return CallError("protocol", f"{where} redirects to {to}; redirects are not followed")
        return refusal(
            answer.status,
            answer.headers,
            answer.body,
            where=where,
            profile=profile,
            now=time.time(),
            secrets=self._hidden(place),
        )

    def _hidden(self, place: Address) -> tuple[str, ...]:
        keys = (value.removeprefix("Bearer ") for value in place.headers.values())
        return (*keys, *self._secrets.values())


def _begun(trial: Trial, stream: Stream, idle_s: float) -> None:
    trial.proven = True
    stream.limit(idle_s)


def _base(replica: Replica, place: Address) -> str:
    """What the routes lie under. An embedded server that crashed has been started again, on another port."""
    return place.base if replica.endpoint.kind == "local" else replica.url


def as_uuid(request_id: str) -> str:
    """request_id in the form of a UUID, the only one that every server takes (one answers others with 400)."""
    try:
        return str(uuid.UUID(request_id))
    except ValueError:
        return str(uuid.uuid5(uuid.NAMESPACE_OID, request_id))


def _where(endpoint: Endpoint, place: Address) -> str:
    """`127.0.0.1:8000`, or `local:8123` for an embedded server: how people know it."""
    netloc = place.root.partition("://")[2]
    return f"local:{netloc.rpartition(':')[2]}" if endpoint.kind == "local" else netloc


def _profile_key(replica: Replica) -> str:
    return f"{replica.model} {replica.url} {replica.served}"


def _replicas(whole: Replica, slots: int | None, most: int | None) -> tuple[Replica, ...]:
    """One replica for each slot, which has a cache of its own; as many as may be in flight."""
    if slots is None:
        return (whole,)
    return tuple(
        replace(whole, name=f"{whole.name}/{slot}", slot=slot, inflight=1)
        for slot in range(min(slots, most or slots))
    )


def _uniquely_named(replicas: list[Replica]) -> tuple[Replica, ...]:
    """The same address written twice is two replicas, and their names say so."""
    seen = Counter[str]()
    named: list[Replica] = []
    for replica in replicas:
        seen[replica.name] += 1
        count = seen[replica.name]
        named.append(replica if count == 1 else replace(replica, name=f"{replica.name}#{count}"))
    return tuple(named)
