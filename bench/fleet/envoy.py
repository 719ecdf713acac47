"""Envoys that subscribe to all that their configuration names, in Envoy's order, and do no work with it.

First come clusters, then what they name, then listeners and what those name. Who comes again asks for
everything at once, and says which versions it has.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, suppress
from functools import lru_cache
from random import random
from time import monotonic
from typing import Any, NamedTuple, Protocol

import grpc
from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.core.v3 import base_pb2
from envoy.config.listener.v3 import listener_pb2
from envoy.service.discovery.v3 import discovery_pb2
from google.protobuf import json_format

from xds_server.snapshot import CDS, EDS, LDS, RDS, SDS

METHOD = "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources"
WHOLE = {CDS: cluster_pb2.Cluster, LDS: listener_pb2.Listener}
ORDER = (CDS, EDS, SDS, LDS, RDS)
WITHIN = 300.0  # seconds for anything
SHORTEST_PAUSE, LONGEST_PAUSE = 0.5, 30.0  # seconds, as Envoy waits before it calls again

Names = frozenset[tuple[str, str]]


class Way(Protocol):
    """How an Envoy reaches a control plane."""

    def channel(self, gateway: str) -> grpc.aio.Channel:
        """Make a connection that nobody else has."""


class Content(NamedTuple):
    """A resource in one version, and what it names of other types; one for all Envoys that have it."""

    version: str
    body: bytes
    names: Names


class Envoy:
    """One Envoy: what it holds outlives its streams."""

    def __init__(self, gateway: str, node: str, door: Way, *, refuses: bool = False) -> None:
        """Say whose it is, and whether it refuses listeners; nothing is asked yet."""
        self._gateway = gateway
        self._node = base_pb2.Node(id=node, cluster=gateway)
        self._door = door
        self._refuses = refuses
        self._held: dict[str, dict[str, Content]] = defaultdict(dict)
        self._wanted: Names = frozenset()  # what is held names these
        self._asked: dict[str, frozenset[str]] = {}  # on any stream so far
        self._answered: set[str] = set()  # on this stream
        self._news = asyncio.Event()
        self._failures = 0
        self.opened = 0  # streams
        self.lost = 0  # of these, ended otherwise than as the control plane ends what was there long enough
        self.taken = 0  # resources, again and again
        self.at = 0.0  # when the last cluster came

    async def run(self) -> None:
        """Hold a stream open until cancelled; one that ends is opened again, later each time."""
        while True:
            try:
                with suppress(asyncio.InvalidStateError):  # it was ended while we said something
                    await self.hold()
            except grpc.aio.AioRpcError:
                self.lost += 1
            self._failures += 1
            await asyncio.sleep(random() * min(LONGEST_PAUSE, SHORTEST_PAUSE * 2**self._failures))  # noqa: S311  no secret

    async def hold(self) -> None:
        """Hold one stream open until cancelled, or until it is ended from the other side."""
        self.opened += 1
        try:
            async with self._door.channel(self._gateway) as channel:
                await self._converse(channel.stream_stream(METHOD)())
        finally:
            self._answered.clear()

    async def _converse(self, stream: grpc.aio.StreamStreamCall) -> None:
        for request in self._opening():
            await stream.write(request.SerializeToString())
        while (told := await stream.read()) is not grpc.aio.EOF:
            answer = discovery_pb2.DeltaDiscoveryResponse.FromString(told)
            self._take(answer)
            for request in (self._answer(answer), *self._subscribe()):
                await stream.write(request.SerializeToString())
            self._news.set()

    async def has(self, word: bytes) -> None:
        """Wait until a cluster says this."""
        await self._until(lambda: self.size(word) > 0)

    def size(self, word: bytes) -> int:
        """Add up the bytes of the clusters that say this."""
        return sum(len(each.body) for each in self._held[CDS].values() if word in each.body)

    async def is_complete(self) -> None:
        """Wait until this stream has answered, and nothing is lacking."""
        await self._until(lambda: self._answered.issuperset(WHOLE) and self._has(self._wanted))

    async def _until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(WITHIN):
            while not holds():
                self._news.clear()
                await self._news.wait()

    def _opening(self) -> Iterator[discovery_pb2.DeltaDiscoveryRequest]:
        self._asked.setdefault(CDS, frozenset())
        known = [type_url for type_url in ORDER if type_url in self._asked]
        for type_url in known:
            request = discovery_pb2.DeltaDiscoveryRequest(
                type_url=type_url,
                resource_names_subscribe=self._asked[type_url],
                initial_resource_versions={n: each.version for n, each in self._held[type_url].items()},
            )
            if type_url == known[0]:
                request.node.CopyFrom(self._node)
            yield request

    def _take(self, answer: discovery_pb2.DeltaDiscoveryResponse) -> None:
        self._failures = 0
        held = self._held[answer.type_url]
        self.taken += len(answer.resources)
        for each in answer.resources:
            held[each.name] = content(answer.type_url, each.version, each.resource.value)
        for name in answer.removed_resources:
            held.pop(name, None)
        self._answered.add(answer.type_url)
        if answer.type_url in WHOLE:
            holding = (each.names for whole in WHOLE for each in self._held[whole].values())
            self._wanted = frozenset[tuple[str, str]]().union(*holding)
        if answer.type_url == CDS:
            self.at = monotonic()

    def _answer(self, answer: discovery_pb2.DeltaDiscoveryResponse) -> discovery_pb2.DeltaDiscoveryRequest:
        request = discovery_pb2.DeltaDiscoveryRequest(type_url=answer.type_url, response_nonce=answer.nonce)
        if self._refuses and answer.type_url == LDS:
            names = ", ".join(each.name for each in answer.resources)
            request.error_detail.message = f"Error adding listener(s) {names}: Address already in use"
        return request

    def _subscribe(self) -> Iterator[discovery_pb2.DeltaDiscoveryRequest]:
        """Follow what is named; listeners are asked for once all clusters are warm."""
        for type_url in (EDS, SDS, RDS):
            wanted = frozenset(name for each, name in self._wanted if each == type_url)
            asked = self._asked.get(type_url, frozenset())
            if wanted != asked:
                self._asked[type_url] = wanted
                for name in asked - wanted:
                    self._held[type_url].pop(name, None)
                yield discovery_pb2.DeltaDiscoveryRequest(
                    type_url=type_url,
                    resource_names_subscribe=wanted - asked,
                    resource_names_unsubscribe=asked - wanted,
                )
        if LDS not in self._asked and self._has(self._wanted):
            self._asked[LDS] = frozenset()
            yield discovery_pb2.DeltaDiscoveryRequest(type_url=LDS)

    def _has(self, names: Names) -> bool:
        return all(name in self._held[type_url] for type_url, name in names)


@asynccontextmanager
async def connected(*envoys: Envoy) -> AsyncIterator[None]:
    """Have Envoys hold a stream each until the block ends."""
    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(each.hold()) for each in envoys]
        yield
        for task in running:
            task.cancel()


@asynccontextmanager
async def complete(envoys: Iterable[Envoy], at_once: int) -> AsyncIterator[None]:
    """Have so many at a time connect, until each has all it asks for, and hold them until the block ends."""
    places = asyncio.Semaphore(at_once)

    async def join(envoy: Envoy) -> None:
        async with places:
            running.append(tasks.create_task(envoy.run()))
            await envoy.is_complete()

    running: list[asyncio.Task[None]] = []
    async with asyncio.TaskGroup() as tasks:
        async with asyncio.TaskGroup() as joining:
            for envoy in envoys:
                joining.create_task(join(envoy))
        yield
        for task in running:
            task.cancel()


@lru_cache(maxsize=4096)
def content(type_url: str, version: str, body: bytes) -> Content:
    """Read a resource once, for however many Envoys."""
    whole = WHOLE.get(type_url)
    told = json_format.MessageToDict(whole.FromString(body)) if whole else None
    return Content(version, body, frozenset(_named(told)))


def _named(told: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401  any JSON
    """Find what a resource refers to."""
    if isinstance(told, dict):
        if "edsClusterConfig" in told:
            yield EDS, told["edsClusterConfig"].get("serviceName", told["name"])
        if "routeConfigName" in told:
            yield RDS, told["routeConfigName"]
        if "sdsConfig" in told:
            yield SDS, told["name"]
    if isinstance(told, dict | list):
        for each in told.values() if isinstance(told, dict) else told:
            yield from _named(each)
