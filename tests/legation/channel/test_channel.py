"""The xDS port with identities of our own authority: who is let in, who is not, and what a rotation costs."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import grpc
import pytest
from envoy.service.discovery.v3 import discovery_pb2

from legation.channel.authority import Credential, Lifetime, issue, make_root, proxy_of, server
from legation.channel.identity import proven_group
from legation.channel.rotation import bundle
from tests.legation.replicas import day
from tests.legation.running import legation_up
from tests.looking import SOON
from translator.names import Name
from xds_server.hub import Hub
from xds_server.service import SERVICE, Address, Proof, Terms, mutual_tls, serving
from xds_server.snapshot import CDS, Resource, Snapshot

XDS = "legation-xds.legation-system.svc"
EDGE, OTHER = Name("infra", "edge"), Name("infra", "other")
Roots = tuple[Credential, ...]


class Desk:
    """A server whose proof can be changed while it runs."""

    def __init__(self) -> None:
        self.root = make_root(day())
        self.roots: Roots = (self.root,)
        self.leaf = issue(self.root, server([XDS]), day())
        self.port = 0

    def proof(self) -> Proof:
        return Proof(self.leaf.certificate.encode(), self.leaf.key.encode(), bundle(self.roots).encode())

    def envoy(self, gateway: Name = EDGE) -> Credential:
        return issue(self.root, proxy_of(gateway), day())


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    hub, made = Hub(lambda _report: None), Desk()
    for gateway in (EDGE, OTHER):
        body = Resource(f"of {gateway}".encode())
        hub.publish(str(gateway), Snapshot.of({CDS: {"a": body}}))
    door = Address("127.0.0.1:0", mutual_tls(made.proof))
    async with serving(hub, [door], Terms(group_of=proven_group, drain=0.0)) as [made.port]:
        yield made


async def test_an_envoy_is_served_what_is_its_gateways(desk: Desk) -> None:
    assert await asked(desk, desk.envoy(EDGE), EDGE) == b"of infra/edge"
    assert await asked(desk, desk.envoy(OTHER), OTHER) == b"of infra/other"


async def test_a_stolen_identity_reads_nothing_of_another_gateway(desk: Desk) -> None:
    assert await asked(desk, desk.envoy(OTHER), EDGE) == grpc.StatusCode.PERMISSION_DENIED


async def test_without_a_certificate_nothing_is_served(desk: Desk) -> None:
    assert await asked(desk, None, EDGE) == grpc.StatusCode.UNAVAILABLE


async def test_the_control_planes_own_certificate_is_no_envoys(desk: Desk) -> None:
    assert await asked(desk, desk.leaf, EDGE) == grpc.StatusCode.UNAVAILABLE


async def test_an_identity_is_revoked_by_taking_its_root_away(desk: Desk) -> None:
    before, old_roots = desk.envoy(), desk.roots
    assert await asked(desk, before, EDGE) == b"of infra/edge"
    desk.root = make_root(day())
    desk.roots = (desk.root,)
    assert await asked(desk, before, EDGE, old_roots) == grpc.StatusCode.UNAVAILABLE
    desk.leaf = issue(desk.root, server([XDS]), day())
    assert await asked(desk, desk.envoy(), EDGE) == b"of infra/edge"


async def test_an_authority_is_replaced_without_a_restart_or_a_refusal(desk: Desk) -> None:
    """Each side moves on when it likes; what they believe overlaps all the while."""
    first, early = desk.roots, desk.envoy()
    desk.root = make_root(day())
    both = desk.roots = (*first, desk.root)
    late = desk.envoy()
    for believed in (first, both):
        assert await asked(desk, early, EDGE, believed) == b"of infra/edge"
    assert await asked(desk, late, EDGE, both) == b"of infra/edge"
    desk.leaf = issue(desk.root, server([XDS]), day())
    for shown in (early, late):
        assert await asked(desk, shown, EDGE, both) == b"of infra/edge"
    desk.roots = (desk.root,)
    assert await asked(desk, late, EDGE, desk.roots) == b"of infra/edge"
    assert await asked(desk, early, EDGE, both) == grpc.StatusCode.UNAVAILABLE


async def test_an_envoy_believes_no_other_server_of_the_same_authority(desk: Desk) -> None:
    desk.leaf = issue(desk.root, server(["elsewhere.legation-system.svc"]), day())
    assert await asked(desk, desk.envoy(), EDGE) == grpc.StatusCode.UNAVAILABLE


async def test_an_expired_identity_is_refused(desk: Desk) -> None:
    now = datetime.now(UTC).replace(microsecond=0)
    past = Lifetime(now - timedelta(days=2), now - timedelta(days=1))
    expired = issue(desk.root, proxy_of(EDGE), past)
    assert await asked(desk, expired, EDGE) == grpc.StatusCode.UNAVAILABLE


async def test_only_the_newest_tls_is_spoken(tmp_path: Path) -> None:
    desk = Desk()
    files = {"server.crt": desk.leaf.certificate, "server.key": desk.leaf.key, "ca.crt": bundle(desk.roots)}
    ours = desk.envoy()
    for name, pem in {**files, "envoy.crt": ours.certificate, "envoy.key": ours.key}.items():
        (tmp_path / name).write_text(pem)
    paths = zip(("--xds-cert", "--xds-key", "--xds-client-ca"), files, strict=True)
    flags = [word for flag, name in paths for word in (flag, str(tmp_path / name))]
    folder = tmp_path / "shop"
    folder.mkdir()
    async with legation_up(folder, "--no-envoy", "--xds", "127.0.0.1:0", *flags) as up:
        port = int((await up.logged("xDS port"))["address"].rpartition(":")[2])
        assert await spoken(port, tmp_path, ssl.TLSVersion.TLSv1_3) == "TLSv1.3"
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await spoken(port, tmp_path, ssl.TLSVersion.TLSv1_2)


async def asked(
    desk: Desk, shown: Credential | None, claimed: Name, believed: Roots = ()
) -> bytes | grpc.StatusCode:
    """Connect anew, claim to be a Gateway's Envoy and ask for its clusters."""
    pair = (shown.key.encode(), shown.certificate.encode()) if shown else (None, None)
    credentials = grpc.ssl_channel_credentials(bundle(believed or desk.roots).encode(), *pair)
    options = (("grpc.ssl_target_name_override", XDS), ("grpc.use_local_subchannel_pool", 1))
    request = discovery_pb2.DeltaDiscoveryRequest(type_url=CDS)
    request.node.id, request.node.cluster = "envoy-1", str(claimed)
    async with grpc.aio.secure_channel(f"127.0.0.1:{desk.port}", credentials, options) as channel:
        stream = channel.stream_stream(f"/{SERVICE}/DeltaAggregatedResources")()
        try:
            await stream.write(request.SerializeToString())
            answer = await asyncio.wait_for(stream.read(), SOON)
        except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
            return await asyncio.wait_for(stream.code(), SOON)
        if answer is grpc.aio.EOF:
            return await asyncio.wait_for(stream.code(), SOON)
        [resource] = discovery_pb2.DeltaDiscoveryResponse.FromString(answer).resources
        return bytes(resource.resource.value)


async def spoken(port: int, files: Path, version: ssl.TLSVersion) -> str | None:
    """Connect with one version of TLS, and say which is spoken."""
    context = ssl.create_default_context(cafile=files / "ca.crt")
    context.load_cert_chain(files / "envoy.crt", files / "envoy.key")
    context.minimum_version = context.maximum_version = version
    context.set_alpn_protocols(["h2"])
    opening = asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname=XDS)
    _, writer = await asyncio.wait_for(opening, SOON)
    try:
        found: ssl.SSLObject = writer.get_extra_info("ssl_object")
        return found.version()
    finally:
        writer.close()
