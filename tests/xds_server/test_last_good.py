"""Of what a real Envoy refuses, whatever kind it is of, it keeps the last good version and takes all else."""

from pathlib import Path
from typing import NamedTuple

import pytest
from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.endpoint.v3 import endpoint_pb2
from envoy.config.listener.v3 import listener_pb2
from envoy.extensions.transport_sockets.tls.v3 import secret_pb2, tls_pb2

from tests.pki import Authority
from tests.xds_server import test_with_envoy as real
from tests.xds_server.traffic import backend
from xds_server.report import Rejected
from xds_server.service import Address, serving
from xds_server.snapshot import CDS, EDS, LDS, RDS, SDS, Resource, Snapshot

pytestmark = pytest.mark.envoy
MORE_THAN_A_PORT = 70_000


class Versions(NamedTuple):
    """One resource as it is at first, as Envoy refuses it, and mended."""

    type_url: str
    name: str
    good: Resource
    bad: Resource
    mended: Resource


def listener(*, known: bool = True, backlog: int = 100) -> Resource:
    message = listener_pb2.Listener.FromString(real.listener().body)
    message.name, message.tcp_backlog_size.value = "other", backlog
    if not known:
        message.filter_chains.add().filters.add(name="no such filter")
    return Resource(message.SerializeToString(deterministic=True))


def assigned(port: int) -> Resource:
    message = endpoint_pb2.ClusterLoadAssignment.FromString(real.endpoints("e2", 1).body)
    message.endpoints[0].lb_endpoints[0].endpoint.address.socket_address.port_value = port
    return Resource(message.SerializeToString(deterministic=True))


def roots(pem: str) -> Resource:
    message = secret_pb2.Secret(name="roots")
    message.validation_context.trusted_ca.inline_string = pem
    return Resource(message.SerializeToString(deterministic=True))


def secured(seconds: int = 5) -> Resource:
    """Build a cluster that proves its endpoints by a secret."""
    message = cluster_pb2.Cluster.FromString(real.cluster("secured", "e1", seconds=seconds).body)
    tls = tls_pb2.UpstreamTlsContext()
    secret = tls.common_tls_context.validation_context_sds_secret_config
    secret.name = "roots"
    secret.sds_config.ads.SetInParent()
    secret.sds_config.resource_api_version = 2
    message.transport_socket.name = "tls"
    message.transport_socket.typed_config.Pack(tls)
    return Resource(message.SerializeToString(deterministic=True), endpoints="e1", secrets=("roots",))


def versions(kind: str) -> Versions:
    match kind:
        case "cluster":
            good, mended = (real.cluster("bad", "e1", seconds=seconds) for seconds in (5, 7))
            return Versions(CDS, "bad", good, real.without_meaning(), mended)
        case "endpoints":
            return Versions(EDS, "e2", assigned(1), assigned(MORE_THAN_A_PORT), assigned(2))
        case "secret":
            first, second = (roots(Authority(name).pem) for name in ("first", "second"))
            return Versions(SDS, "roots", first, roots("no certificate"), second)
        case _:
            return Versions(LDS, "other", listener(), listener(known=False), listener(backlog=200))


@pytest.mark.rule(66)
@real.BOTH
@pytest.mark.parametrize("kind", ["cluster", "endpoints", "secret", "listener"])
async def test_what_is_refused_stays_as_it_was_until_it_is_mended_and_others_go_on(
    tmp_path: Path, api: str, kind: str
) -> None:
    plane, socket, of = real.Plane(), tmp_path / "xds", versions(kind)

    def offer(target: str, one: Resource) -> dict[str, dict[str, Resource]]:
        """Offer the one resource among others; the route table and a cluster change with the target."""
        offered = {
            CDS: {
                **{name: real.cluster(name, "e1") for name in ("c1", target)},
                "c2": real.cluster("c2", "e2"),
                "secured": secured(),
            },
            EDS: {"e1": real.endpoints("e1", port), "e2": assigned(1)},
            SDS: {"roots": roots(known)},
            LDS: {real.LISTENER: real.listener()},
            RDS: {real.LISTENER: real.routes(target)},
        }
        offered[of.type_url][of.name] = one
        return offered

    known = Authority("known").pem
    async with backend("a") as port, serving(plane.hub, [Address(f"unix:{socket}")], real.TERMS):
        plane.publish(offer("c1", of.good))
        async with real.envoy_and_traffic(socket, api) as (_, traffic):
            await real.all_say(traffic, "200 a")
            await plane.taken(Snapshot.of(offer("c1", of.good)))
            plane.publish(offer("c3", of.bad))
            await plane.taken(Snapshot.of(offer("c3", of.good)))
            await plane.taken(plane.publish(offer("c4", of.mended)))
        refused = [each for each in plane.reports if isinstance(each, Rejected) and each.isolated]
        assert [(each.type_url, set(each.versions)) for each in refused] == [(of.type_url, {of.name})]
        assert [each.failed for each in traffic] == [{}, {}]


@pytest.mark.rule(66)
@real.BOTH
async def test_what_refers_to_a_refused_secret_goes_on_changing(tmp_path: Path, api: str) -> None:
    plane, socket, of = real.Plane(), tmp_path / "xds", versions("secret")

    def offer(seconds: int, secret: Resource) -> real.Offer:
        clusters = {"c1": real.cluster("c1", "e1"), "secured": secured(seconds)}
        offered = real.offer("c1", clusters, {"e1": real.endpoints("e1", port)})
        return {**offered, SDS: {"roots": secret}}

    async with backend("a") as port, serving(plane.hub, [Address(f"unix:{socket}")], real.TERMS):
        plane.publish(offer(5, of.good))
        async with real.envoy_and_traffic(socket, api):
            await plane.taken(Snapshot.of(offer(5, of.good)))
            plane.publish(offer(5, of.bad))
            await plane.refused(SDS)
            plane.publish(offer(7, of.bad))
            await plane.taken(Snapshot.of(offer(7, of.good)))
            await plane.taken(plane.publish(offer(8, of.mended)))
