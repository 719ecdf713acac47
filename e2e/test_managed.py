"""A Gateway's managed proxies run as they are written: ready, unprivileged, and drained when they end."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from e2e.kubectl import apply, kubectl, read, wait_for
from legation.addresses import HostPort
from legation.authority import proxy_of, server
from legation.identity import proven_group
from legation.identity_secrets import proxy_secret
from legation.proxies.managed import Environment, Wanted, manifests
from legation.proxies.wishes import settle
from legation.rotation import bundle, renewed_leaf, renewed_roots
from translator.objects.gateway import Gateway
from translator.objects.gateway_parameters import GatewayParametersSpec
from translator.objects.kinds import name_of
from translator.rules.ports import Bound
from xds_server.hub import Hub
from xds_server.service import Address, Proof, Terms, mutual_tls, serving
from xds_server.snapshot import CDS, LDS, Snapshot

NODE = "198.18.0.1"  # where pods reach what runs beside them
SERVER = "legation-xds.test"
IMAGE = "envoyproxy/envoy:v1.40.0"
GATEWAY = """
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge}
spec:
  gatewayClassName: nobodys
  listeners: [{name: http, port: 80, protocol: HTTP}]
"""


def gateway(namespace: str) -> Gateway:
    """Make a Gateway, which everything is to belong to."""
    apply(namespace, GATEWAY)
    return msgspec.json.decode(
        kubectl("get", "--output=json", "--namespace", namespace, "gateway/edge"), type=Gateway
    )


@asynccontextmanager
async def control_plane(of: Gateway) -> AsyncIterator[HostPort]:
    """Serve an empty configuration, with the identity of an authority that signs the Gateway's too."""
    now = datetime.now(UTC) - timedelta(minutes=1)
    roots = renewed_roots((), now)
    own, its = (renewed_leaf(None, who, roots, now) for who in (server([SERVER]), proxy_of(name_of(of))))
    apply(of.metadata.namespace, json.dumps(proxy_secret(of, its, roots)))
    proof = Proof(own.certificate.encode(), own.key.encode(), bundle(roots).encode())
    hub = Hub(lambda _report: None)
    hub.publish(str(name_of(of)), Snapshot.of({CDS: {}, LDS: {}}))
    door = Address(f"{NODE}:0", mutual_tls(lambda: proof))
    async with serving(hub, [door], Terms(group_of=proven_group, drain=0.0)) as [port]:
        yield HostPort(NODE, port)


@pytest.mark.usefixtures("inside")
async def test_managed_proxies_become_ready_and_go_with_their_gateway(namespace: str) -> None:
    its = gateway(namespace)
    said = msgspec.convert(
        {"envoy": {"replicas": 2}, "service": {"type": "ClusterIP"}}, GatewayParametersSpec
    )
    wanted = Wanted(its, (Bound(name_of(its), 80),), settle(IMAGE, said))
    async with control_plane(its) as xds:
        made = manifests(wanted, Environment(xds, SERVER, IMAGE, drain=3))
        kubectl("apply", "--server-side", "--filename=-", given="\n---\n".join(map(json.dumps, made)))
        rollout = ("rollout", "status", "--namespace", namespace, "deployment/legation-edge", "--timeout=60s")
        await asyncio.to_thread(kubectl, *rollout)
        pods = read("pods", "--namespace", namespace)["items"]
        assert [pod["status"]["containerStatuses"][0]["restartCount"] for pod in pods] == [0, 0]
        kubectl("delete", "gateway", "edge", "--namespace", namespace)
        for thing in (
            "deployment",
            "service",
            "serviceaccount",
            "configmap",
            "secret",
            "poddisruptionbudget",
        ):
            await asyncio.to_thread(wait_for, namespace, "delete", f"{thing}/legation-edge")
