"""Envoys and replicas behind one Service: a replica that is added gets its share, and nobody notices."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from operator import gt

import grpc
import pytest
from envoy.service.discovery.v3 import discovery_pb2

from tests.looking import eventually
from tests.real_envoy import running_envoy
from tests.xds_server.balancer import Balancer, balancing
from tests.xds_server.honest_envoy import GROUP, plain
from tests.xds_server.test_with_envoy import (
    BOTH,
    LISTENER,
    Offer,
    all_say,
    bootstrap,
    cluster,
    endpoints,
    is_empty,
    offer,
)
from tests.xds_server.traffic import backend, flowing
from xds_server.hub import Hub
from xds_server.order import Patience
from xds_server.report import Report, Sent
from xds_server.service import SERVICE, Address, Terms, serving
from xds_server.snapshot import CDS, SDS, Snapshot

LONGEST = 4.0
WITHIN = 60.0
STREAMS = 120
SECRETS = {"s1": plain("v1"), "s2": plain("v1")}
TERMS = Terms(drain=0.0, longest_connection=LONGEST)


class Replica:
    """A server, what it said, and who came to it."""

    def __init__(self) -> None:
        self.reports: list[Report] = []
        self.hub = Hub(self.reports.append, patience=Patience(hold=10.0, grace=0.3))
        self.port = 0

    def publish(self, offered: Offer) -> None:
        self.hub.publish(GROUP, Snapshot.of(offered, self.hub.snapshot(GROUP)))

    @property
    def envoys(self) -> set[str]:
        return {each.envoy.node for each in self.hub.connected()}

    @property
    def sent(self) -> int:
        """How many resources went out."""
        return sum(report.resources for report in self.reports if isinstance(report, Sent))


@asynccontextmanager
async def replica(offered: Offer) -> AsyncIterator[Replica]:
    one = Replica()
    one.publish(offered)
    async with serving(one.hub, [Address("127.0.0.1:0")], TERMS) as [one.port]:
        yield one


class Streams:
    """Envoys that hold one stream each, and say what they have when they come again."""

    def __init__(self, port: int) -> None:
        self.target = f"127.0.0.1:{port}"
        self.ends: list[grpc.StatusCode] = []
        self.comings = [0] * STREAMS

    async def live(self, number: int) -> None:
        """Be one Envoy for ever, by one channel, as whoever has no bootstrap of ours."""
        held: dict[str, dict[str, str]] = {CDS: {}, SDS: {}}
        own = (("grpc.use_local_subchannel_pool", 1),)
        async with grpc.aio.insecure_channel(self.target, options=own) as channel:
            while True:
                stream = channel.stream_stream(f"/{SERVICE}/DeltaAggregatedResources")()
                self.comings[number] += 1
                await self._converse(stream, number, held)
                self.ends.append(await stream.code())

    async def _converse(
        self, stream: grpc.aio.StreamStreamCall, number: int, held: dict[str, dict[str, str]]
    ) -> None:
        for type_url, names in ((CDS, ()), (SDS, SECRETS)):
            ask = discovery_pb2.DeltaDiscoveryRequest(
                type_url=type_url, initial_resource_versions=held[type_url]
            )
            ask.node.id, ask.node.cluster = f"envoy-{number}", GROUP
            ask.resource_names_subscribe.extend(names)
            await stream.write(ask.SerializeToString())
        while (raw := await stream.read()) is not grpc.aio.EOF:
            answer = discovery_pb2.DeltaDiscoveryResponse.FromString(raw)
            held[answer.type_url].update((each.name, each.version) for each in answer.resources)
            ack = discovery_pb2.DeltaDiscoveryRequest(type_url=answer.type_url, response_nonce=answer.nonce)
            await stream.write(ack.SerializeToString())


@asynccontextmanager
async def streaming(balancer: Balancer) -> AsyncIterator[Streams]:
    streams = Streams(balancer.port)
    tasks = [asyncio.create_task(streams.live(number)) for number in range(STREAMS)]
    try:
        yield streams
    finally:
        for task in tasks:
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
    assert {type(each) for each in ended} == {asyncio.CancelledError}


@asynccontextmanager
async def replicas(offered: Offer) -> AsyncIterator[tuple[list[Replica], Balancer]]:
    """Three of them, and a Service that has the first two."""
    async with (
        replica(offered) as first,
        replica(offered) as second,
        replica(offered) as added,
        balancing(first.port, second.port) as balancer,
    ):
        yield [first, second, added], balancer


@pytest.mark.rule(48)
@pytest.mark.rule(28)
async def test_an_added_replica_has_its_share_once_all_have_come_again_and_nothing_is_sent_twice() -> None:
    offered = {CDS: {"c1": cluster("c1", "e1"), "c2": cluster("c2", "e2")}, SDS: SECRETS}
    async with replicas(offered) as (all_of_them, balancer), streaming(balancer) as streams:
        await eventually(lambda: sum(each.sent for each in all_of_them) == STREAMS * 4, WITHIN)
        balancer.add(all_of_them[-1].port)
        before = list(streams.comings)
        await eventually(lambda: all(map(gt, streams.comings, before)), WITHIN)
        await eventually(lambda: sum(len(each.envoys) for each in all_of_them) == STREAMS, WITHIN)
        fair = STREAMS / len(all_of_them)
        assert all(fair / 2 <= len(each.envoys) <= fair * 1.5 for each in all_of_them)
        assert sum(each.sent for each in all_of_them) == STREAMS * 4
        assert set(streams.ends) == {grpc.StatusCode.OK}


@pytest.mark.rule(48)
@BOTH
async def test_real_envoys_spread_over_an_added_replica_and_no_request_fails(api: str) -> None:
    clusters = {"c1": cluster("c1", "e1")}
    async with AsyncExitStack() as running:
        a, b = [await running.enter_async_context(backend(says)) for says in "ab"]
        offered = offer("c1", clusters, {"e1": endpoints("e1", a)})
        all_of_them, balancer = await running.enter_async_context(replicas(offered))
        envoys = [bootstrap(balancer.port, api, f"envoy-{number}") for number in range(3)]
        started = [await running.enter_async_context(running_envoy(each)) for each in envoys]
        ports = [await envoy.listener_port(LISTENER) for envoy in started]
        traffic = [each for port in ports for each in await running.enter_async_context(flowing(port))]
        await all_say(traffic, "200 a")

        balancer.add(all_of_them[-1].port)
        added = all_of_them[-1]
        await eventually(lambda: added.envoys, WITHIN)
        came = min(added.envoys)
        await eventually(lambda: came not in added.envoys, WITHIN)
        if api == "DELTA_GRPC":
            assert [each for each in added.reports if not is_empty(each)] == []

        for each in all_of_them:
            each.publish(offer("c1", clusters, {"e1": endpoints("e1", b)}))
        await all_say(traffic, "200 b")
        assert [each.failed for each in traffic] == [{}] * len(traffic)
