"""The xDS port of a control plane with two Gateways, and a stranger who holds the identity of one."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import grpc
from envoy.service.discovery.v3 import discovery_pb2
from msgspec import Struct

from legation.channel.identity import proven_group
from tests.pki import CLIENT, Authority, Issued, Wish
from xds_server.hub import Hub
from xds_server.report import Report
from xds_server.service import SERVICE, Address, Proof, Terms, mutual_tls, serving
from xds_server.snapshot import CDS, SDS, Resource, Snapshot

WITHIN = 120.0
OURS, THEIRS = "infra/edge", "vault/door"
OWN_KEY, THEIR_KEY = b"the key of our own Gateway", b"the key of somebody else's Gateway"
OWN_SECRET, THEIR_SECRET = "certificate/infra/edge", "certificate/vault/door"
SERVER_NAME = "legation.legation-system.svc"
WHOLE, DELTA = "StreamAggregatedResources", "DeltaAggregatedResources"
TERMS = Terms(group_of=proven_group, drain=0.0)


def uri_of(group: str) -> str:
    """Return how a certificate names a Gateway."""
    namespace, _, name = group.partition("/")
    return f"spiffe://legation/ns/{namespace}/gateway/{name}"


class Door(Struct, frozen=True):
    """A running server, whom it believes, and what it reported."""

    port: int
    authority: Authority
    hub: Hub
    reports: list[Report]

    def identity(self, group: str = OURS) -> Issued:
        """Issue what an Envoy of a Gateway has."""
        return self.authority.issue(uri=[uri_of(group)], eku=[CLIENT])

    @asynccontextmanager
    async def channel(self, shown: Issued | None) -> AsyncIterator[grpc.aio.Channel]:
        """Connect and prove that; None shows no certificate."""
        pair = (shown.key_pem.encode(), shown.chain_pem.encode()) if shown else (None, None)
        credentials = grpc.ssl_channel_credentials(self.authority.pem.encode(), *pair)
        options = (("grpc.ssl_target_name_override", SERVER_NAME), ("grpc.use_local_subchannel_pool", 1))
        async with grpc.aio.secure_channel(f"127.0.0.1:{self.port}", credentials, options) as channel:
            yield channel

    async def refusal(self, shown: Issued | None, claimed: str) -> grpc.StatusCode:
        """Say how a stream ends that asks for a Gateway's clusters; one that is answered is no refusal."""
        async with self.channel(shown) as channel:
            return await ended(channel, claimed)


class Heard(NamedTuple):
    """One answer: the names it gives, and those it takes away."""

    names: tuple[str, ...]
    removed: tuple[str, ...] = ()


class Talk:
    """The client's end of one stream, which takes all that it is sent; and every byte that came by it."""

    def __init__(self, channel: grpc.aio.Channel, method: str) -> None:
        """Open a stream of one of the two variants."""
        self.stream = channel.stream_stream(f"/{SERVICE}/{method}")()
        self.delta = method == DELTA
        self.bytes = b""
        self._names: dict[str, tuple[str, ...]] = {}

    async def say(self, type_url: str, *names: str, node: str | None = None, nonce: str = "") -> None:
        """Ask for names; with a node, claim to be an Envoy of that Gateway."""
        self._names[type_url] = names
        kind = discovery_pb2.DeltaDiscoveryRequest if self.delta else discovery_pb2.DiscoveryRequest
        request = kind(type_url=type_url, response_nonce=nonce)
        (request.resource_names_subscribe if self.delta else request.resource_names).extend(names)
        if node is not None:
            request.node.id, request.node.cluster = "stranger", node
        await self.stream.write(request.SerializeToString())

    async def hear(self) -> Heard:
        """Wait for the next answer, and take it."""
        async with asyncio.timeout(WITHIN):
            raw = await self.stream.read()
        assert raw is not grpc.aio.EOF, "the stream was ended"
        self.bytes += raw
        kind = discovery_pb2.DeltaDiscoveryResponse if self.delta else discovery_pb2.DiscoveryResponse
        response = kind.FromString(raw)
        names = () if self.delta else self._names[response.type_url]  # which says the whole list each time
        await self.say(response.type_url, *names, nonce=response.nonce)
        if self.delta:
            return Heard(tuple(each.name for each in response.resources), tuple(response.removed_resources))
        return Heard(tuple(each.value.decode() for each in response.resources))

    async def hear_until(self, holds: bytes) -> None:
        """Take answers until some bytes came."""
        while holds not in self.bytes:
            await self.hear()


async def ended(channel: grpc.aio.Channel, claimed: str) -> grpc.StatusCode:
    """Ask for the clusters of a Gateway, and say how the stream ends without an answer."""
    talk = Talk(channel, DELTA)
    async with asyncio.timeout(WITHIN):
        try:
            await talk.say(CDS, node=claimed)
            assert await talk.stream.read() is grpc.aio.EOF, "it was answered"
        except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
            pass  # it ended while it was written to, or read
        return await talk.stream.code()


@asynccontextmanager
async def door(terms: Terms = TERMS) -> AsyncIterator[Door]:
    """Serve two Gateways, each with a cluster and a secret of its own."""
    authority, reports = Authority("legation"), list[Report]()
    hub = Hub(reports.append)
    for group, name, key in ((OURS, OWN_SECRET, OWN_KEY), (THEIRS, THEIR_SECRET, THEIR_KEY)):
        offered = {CDS: {group: Resource(group.encode())}, SDS: {name: Resource(key)}}
        hub.publish(group, Snapshot.of(offered))
    leaf = authority.issue(dns=[SERVER_NAME])
    proof = Proof(leaf.chain_pem.encode(), leaf.key_pem.encode(), authority.pem.encode())
    address = Address("127.0.0.1:0", mutual_tls(lambda: proof))
    async with serving(hub, [address], terms) as [port]:
        yield Door(port, authority, hub, reports)


def lapsed(uri: str) -> Wish:
    """Describe the certificate of a client that was good until yesterday."""
    now = datetime.now(UTC)
    dates: Wish = {"not_before": now - timedelta(days=2), "not_after": now - timedelta(days=1)}
    return {**dates, "uri": [uri], "eku": [CLIENT]}
