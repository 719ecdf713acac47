"""A real Envoy under constant traffic: whatever changes, no request fails."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import pytest
from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.endpoint.v3 import endpoint_pb2
from envoy.config.listener.v3 import listener_pb2
from envoy.config.route.v3 import route_pb2
from envoy.extensions.filters.http.router.v3 import router_pb2
from envoy.extensions.filters.network.http_connection_manager.v3 import http_connection_manager_pb2 as hcm_pb2
from google.protobuf.duration_pb2 import Duration

from tests.real_envoy import LOOK_AGAIN_AFTER, RunningEnvoy, running_envoy, until
from tests.xds_server.honest_envoy import GROUP
from tests.xds_server.traffic import Traffic, backend, flowing
from xds_server.hub import Hub
from xds_server.order import Patience
from xds_server.report import Accepted, Rejected, Report, Sent
from xds_server.service import Address, Terms, serving
from xds_server.snapshot import CDS, EDS, LDS, RDS, Resource, Snapshot

BOTH = pytest.mark.parametrize("api", ["GRPC", "DELTA_GRPC"], ids=["whole", "delta"])
LISTENER = "web"
WITHIN = 120.0
TERMS = Terms(drain=0.0)

Offer = Mapping[str, Mapping[str, Resource]]


def bootstrap(place: Path | int, api: str, node: str = "envoy-1") -> dict[str, object]:
    """An Envoy that gets everything over ADS from a socket file, or from a port of this machine."""
    http = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"
    http2: dict[str, object] = {"http2_protocol_options": {}}
    options = {http: {"@type": f"type.googleapis.com/{http}", "explicit_http_config": http2}}
    port = {"socket_address": {"address": "127.0.0.1", "port_value": place}}
    address = port if isinstance(place, int) else {"pipe": {"path": str(place)}}
    endpoint = {"endpoint": {"address": address}}
    control_plane = {
        "name": "control-plane",
        "connect_timeout": "1s",
        "typed_extension_protocol_options": options,
        "load_assignment": {"cluster_name": "control-plane", "endpoints": [{"lb_endpoints": [endpoint]}]},
    }
    ads = {"resource_api_version": "V3", "ads": {}}
    service = {
        "envoy_grpc": {"cluster_name": "control-plane"},
        "retry_policy": {"retry_back_off": {"base_interval": "0.1s", "max_interval": "0.5s"}},
    }
    return {
        "node": {"id": node, "cluster": GROUP},
        "dynamic_resources": {
            "ads_config": {"api_type": api, "transport_api_version": "V3", "grpc_services": [service]},
            "cds_config": ads,
            "lds_config": ads,
        },
        "static_resources": {"clusters": [control_plane]},
    }


def cluster(name: str, endpoints: str, *, seconds: int = 5) -> Resource:
    message = cluster_pb2.Cluster(name=name, type=cluster_pb2.Cluster.EDS)
    message.connect_timeout.CopyFrom(Duration(seconds=seconds))
    message.eds_cluster_config.service_name = endpoints
    message.eds_cluster_config.eds_config.ads.SetInParent()
    message.eds_cluster_config.eds_config.resource_api_version = 2
    return Resource(message.SerializeToString(deterministic=True), endpoints=endpoints)


def endpoints(name: str, *ports: int) -> Resource:
    message = endpoint_pb2.ClusterLoadAssignment(cluster_name=name)
    locality = message.endpoints.add()
    for port in ports:
        address = locality.lb_endpoints.add().endpoint.address.socket_address
        address.address, address.port_value = "127.0.0.1", port
    return Resource(message.SerializeToString(deterministic=True))


def routes(target: str) -> Resource:
    message = route_pb2.RouteConfiguration(name=LISTENER)
    host = message.virtual_hosts.add(name="all", domains=["*"])
    route = host.routes.add()
    route.match.prefix = "/"
    route.route.cluster = target
    return Resource(message.SerializeToString(deterministic=True), targets=(target,))


def listener() -> Resource:
    manager = hcm_pb2.HttpConnectionManager(stat_prefix="web")
    manager.rds.route_config_name = LISTENER
    manager.rds.config_source.ads.SetInParent()
    manager.rds.config_source.resource_api_version = 2
    manager.http_filters.add(name="router").typed_config.Pack(router_pb2.Router())
    message = listener_pb2.Listener(name=LISTENER)
    message.address.socket_address.address = "127.0.0.1"
    message.address.socket_address.port_value = 0
    message.filter_chains.add().filters.add(name="http").typed_config.Pack(manager)
    return Resource(message.SerializeToString(deterministic=True))


def offer(target: str, clusters: dict[str, Resource], assignments: dict[str, Resource]) -> Offer:
    return {
        CDS: clusters,
        EDS: assignments,
        LDS: {LISTENER: listener()},
        RDS: {LISTENER: routes(target)},
    }


class StreamLostError(Exception):
    """Ends a stream when a test says so."""


class Plane:
    """A control plane, and what its Envoy said."""

    def __init__(self) -> None:
        self.reports: list[Report] = []
        self.hub = Hub(self._told, patience=Patience(hold=10.0, grace=0.3))
        self.loses: str | None = None  # the type of which the next response is lost, and the stream with it
        self._news = asyncio.Event()

    def _told(self, report: Report) -> None:
        self.reports.append(report)
        self._news.set()
        if isinstance(report, Sent) and report.type_url == self.loses:
            self.loses = None
            raise StreamLostError

    def publish(self, offered: Offer) -> Snapshot:
        """Offer something new."""
        snapshot = Snapshot.of(offered, self.hub.snapshot(GROUP))
        self.hub.publish(GROUP, snapshot)
        return snapshot

    async def taken(self, snapshot: Snapshot) -> None:
        """Wait until the Envoy holds exactly this."""
        entries = snapshot.entries.items()
        wanted = {kind: {name: e.version for name, e in named.items()} for kind, named in entries if named}
        async with asyncio.timeout(WITHIN):
            while self._held() != [wanted]:
                self._news.clear()
                with suppress(TimeoutError):  # an Envoy that has all already makes no news
                    await asyncio.wait_for(self._news.wait(), LOOK_AGAIN_AFTER)

    async def refused(self, type_url: str) -> None:
        """Wait until the Envoy has refused something of a type."""
        async with asyncio.timeout(WITHIN):
            while not any(isinstance(each, Rejected) and each.type_url == type_url for each in self.reports):
                self._news.clear()
                await self._news.wait()

    def _held(self) -> list[dict[str, Mapping[str, str]]]:
        return [{kind: held for kind, held in one.versions.items() if held} for one in self.hub.connected()]


@asynccontextmanager
async def envoy_and_traffic(socket: Path, api: str) -> AsyncIterator[tuple[RunningEnvoy, list[Traffic]]]:
    async with (
        running_envoy(bootstrap(socket, api)) as envoy,
        flowing(await envoy.listener_port(LISTENER)) as traffic,
    ):
        yield envoy, traffic


async def all_say(traffic: list[Traffic], answer: str) -> None:
    async def they_do() -> bool:
        return all(each.last == answer for each in traffic)

    await until(they_do)


@pytest.mark.rule(32)
@pytest.mark.rule(36)
@pytest.mark.rule(40)
@BOTH
async def test_no_request_fails_while_routes_clusters_and_endpoints_change(tmp_path: Path, api: str) -> None:
    plane, socket = Plane(), tmp_path / "xds"
    async with backend("a") as a, backend("b") as b, serving(plane.hub, [Address(f"unix:{socket}")], TERMS):
        plane.publish(offer("c1", {"c1": cluster("c1", "e1")}, {"e1": endpoints("e1", a)}))
        async with envoy_and_traffic(socket, api) as (envoy, traffic):
            await all_say(traffic, "200 a")

            clusters, assigned = {"c2": cluster("c2", "e2")}, {"e2": endpoints("e2", b)}
            await plane.taken(plane.publish(offer("c2", clusters, assigned)))
            await all_say(traffic, "200 b")

            clusters = {"c2": cluster("c2", "e2", seconds=4)}
            await plane.taken(plane.publish(offer("c2", clusters, assigned)))

            async def warm() -> bool:
                return (await envoy.stats("cluster_manager."))["cluster_manager.warming_clusters"] == 0

            await until(warm)
            stats = await envoy.stats("cluster.c2.")
            assert stats["cluster.c2.init_fetch_timeout"] == 0  # else Envoy had helped itself after 15 s

            clusters["c3"] = cluster("c3", "e2")  # shares its endpoints with c2
            await plane.taken(plane.publish(offer("c3", clusters, assigned)))
            for ports in [(a,), (b,), (a, b), (b, a)] * 50:
                await plane.taken(plane.publish(offer("c3", clusters, {"e2": endpoints("e2", *ports)})))
        assert [each.failed for each in traffic] == [{}, {}]
        assert not [report for report in plane.reports if not isinstance(report, Accepted | Sent)]


def out_of_range() -> Resource:
    """Refused by a constraint of the field: Envoy takes nothing of the response."""
    return cluster("bad", "e1", seconds=-1)


def without_meaning() -> Resource:
    """Refused when the cluster is made: Envoy takes the others of the response."""
    message = cluster_pb2.Cluster.FromString(cluster("bad", "e1").body)
    message.transport_socket.name = "no such socket"
    return Resource(message.SerializeToString(deterministic=True), endpoints="e1")


@pytest.mark.rule(24)
@pytest.mark.rule(66)
@BOTH
@pytest.mark.parametrize("bad", [out_of_range(), without_meaning()], ids=["constraint", "meaning"])
async def test_one_bad_cluster_is_found_and_the_others_go_live(
    tmp_path: Path, api: str, bad: Resource
) -> None:
    plane, socket = Plane(), tmp_path / "xds"
    good = {name: cluster(name, "e1") for name in ("c1", "c2", "c3", "c4")}
    async with backend("a") as a, serving(plane.hub, [Address(f"unix:{socket}")], TERMS):
        assigned = {"e1": endpoints("e1", a)}
        plane.publish(offer("c1", {"c1": good["c1"]}, assigned))
        async with envoy_and_traffic(socket, api) as (_, traffic):
            await all_say(traffic, "200 a")
            wanted = Snapshot.of(offer("c4", good, assigned))
            plane.publish(offer("c4", {**good, "bad": bad}, assigned))
            await plane.taken(wanted)
        refused = [report for report in plane.reports if isinstance(report, Rejected) and report.isolated]
        assert [set(report.versions) for report in refused] == [{"bad"}]
        assert [each.failed for each in traffic] == [{}, {}]


@pytest.mark.rule(40)
async def test_a_cluster_whose_endpoints_were_lost_with_the_stream_is_warm_when_envoy_is_back(
    tmp_path: Path,
) -> None:
    plane, socket = Plane(), tmp_path / "xds"
    async with backend("a") as a, serving(plane.hub, [Address(f"unix:{socket}")], TERMS):
        assigned = {"e1": endpoints("e1", a)}
        plane.publish(offer("c1", {"c1": cluster("c1", "e1")}, assigned))
        async with envoy_and_traffic(socket, "DELTA_GRPC") as (envoy, traffic):
            await all_say(traffic, "200 a")
            plane.loses = EDS
            await plane.taken(plane.publish(offer("c1", {"c1": cluster("c1", "e1", seconds=4)}, assigned)))
            stats = await envoy.stats("cluster.c1.")
        assert stats["cluster.c1.init_fetch_timeout"] == 0  # else Envoy had helped itself after 15 s
        sent = [each for each in plane.reports if isinstance(each, Sent) and each.resources]
        assert [each.type_url for each in sent if each.type_url in (CDS, EDS)] == [CDS, EDS, CDS, EDS, EDS]
        assert [each.failed for each in traffic] == [{}, {}]


def is_empty(report: Report) -> bool:
    """Say whether a report is of a response that brought nothing."""
    if isinstance(report, Sent):
        return not report.resources
    return isinstance(report, Accepted) and not report.versions


@pytest.mark.rule(25)
@pytest.mark.rule(28)
@BOTH
async def test_a_restarted_server_disturbs_nobody(tmp_path: Path, api: str) -> None:
    first, second, socket = Plane(), Plane(), tmp_path / "xds"
    async with backend("a") as a, backend("b") as b, AsyncExitStack() as stays:
        assigned = {"e1": endpoints("e1", a), "e2": endpoints("e2", b)}
        clusters = {"c1": cluster("c1", "e1"), "c2": cluster("c2", "e2")}
        async with serving(first.hub, [Address(f"unix:{socket}")], TERMS):
            first.publish(offer("c1", clusters, assigned))
            _, traffic = await stays.enter_async_context(envoy_and_traffic(socket, api))
            await all_say(traffic, "200 a")
        async with serving(second.hub, [Address(f"unix:{socket}")], TERMS):
            await second.taken(second.publish(offer("c1", clusters, assigned)))
            sent_again = [report for report in second.reports if not is_empty(report)]
            assert (api, sent_again) == ("DELTA_GRPC", []) or api == "GRPC"
            second.publish(offer("c2", clusters, assigned))
            await all_say(traffic, "200 b")
        assert [each.failed for each in traffic] == [{}, {}]
