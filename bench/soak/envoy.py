"""Envoys that subscribe to all that their configuration names, take it or refuse it, and do no work."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.core.v3 import base_pb2
from envoy.config.listener.v3 import listener_pb2
from envoy.service.discovery.v3 import discovery_pb2
from google.protobuf import json_format

from xds_server.snapshot import CDS, EDS, LDS, RDS, SDS

METHOD = "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources"
OWN_CONNECTION = (("grpc.use_local_subchannel_pool", 1),)
WHOLE = {CDS: cluster_pb2.Cluster, LDS: listener_pb2.Listener}
WITHIN = 120.0  # seconds for anything

Named = frozenset[tuple[str, str]]


class Envoy:
    """One stream, and what it was given."""

    def __init__(self, gateway: str, node: str, target: str, *, refuses: bool = False) -> None:
        """Say whose it is, and whether it refuses listeners; nothing is asked yet."""
        self._node = base_pb2.Node(id=node, cluster=gateway)
        self._target = target
        self._refuses = refuses
        self._held: dict[str, dict[str, bytes]] = {}
        self._asked: Named = frozenset()
        self._news = asyncio.Event()

    async def run(self) -> None:
        """Hold a stream open until cancelled, or until it is ended from the other side."""
        async with grpc.aio.insecure_channel(self._target, options=OWN_CONNECTION) as channel:
            stream = channel.stream_stream(METHOD)()
            for type_url in WHOLE:
                await stream.write(self._asking(type_url).SerializeToString())
            while (told := await stream.read()) is not grpc.aio.EOF:
                answer = discovery_pb2.DeltaDiscoveryResponse.FromString(told)
                self._take(answer)
                for request in (self._answer(answer), *self._subscribe()):
                    await stream.write(request.SerializeToString())
                self._news.set()

    async def has(self, word: bytes) -> None:
        """Wait until a cluster says this."""
        async with asyncio.timeout(WITHIN):
            while not any(word in body for body in self._held.get(CDS, {}).values()):
                self._news.clear()
                await self._news.wait()

    def _asking(self, type_url: str, **fields: Any) -> discovery_pb2.DeltaDiscoveryRequest:  # noqa: ANN401  of protobuf
        return discovery_pb2.DeltaDiscoveryRequest(node=self._node, type_url=type_url, **fields)

    def _take(self, answer: discovery_pb2.DeltaDiscoveryResponse) -> None:
        held = self._held.setdefault(answer.type_url, {})
        held.update({each.name: each.resource.value for each in answer.resources})
        for name in answer.removed_resources:
            held.pop(name, None)

    def _answer(self, answer: discovery_pb2.DeltaDiscoveryResponse) -> discovery_pb2.DeltaDiscoveryRequest:
        request = self._asking(answer.type_url, response_nonce=answer.nonce)
        if self._refuses and answer.type_url == LDS:
            names = ", ".join(each.name for each in answer.resources)
            request.error_detail.message = f"Error adding listener(s) {names}: Address already in use"
        return request

    def _subscribe(self) -> Iterator[discovery_pb2.DeltaDiscoveryRequest]:
        wanted = frozenset(self._wanted())
        for type_url in (EDS, SDS, RDS):
            more = [name for each, name in wanted - self._asked if each == type_url]
            less = [name for each, name in self._asked - wanted if each == type_url]
            if more or less:
                fields = {"resource_names_subscribe": more, "resource_names_unsubscribe": less}
                yield self._asking(type_url, **fields)
        self._asked = wanted

    def _wanted(self) -> Iterator[tuple[str, str]]:
        for type_url, message in WHOLE.items():
            for body in self._held.get(type_url, {}).values():
                yield from _named(json_format.MessageToDict(message.FromString(body)))


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


@asynccontextmanager
async def connected(*envoys: Envoy) -> AsyncIterator[None]:
    """Have Envoys hold their streams until the block ends."""
    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(each.run()) for each in envoys]
        yield
        for task in running:
            task.cancel()
