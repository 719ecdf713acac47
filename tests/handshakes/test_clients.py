"""Client certificates: who is served where one is asked for, and that nobody is if nobody can be proved."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import timedelta
from http import HTTPStatus
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import pytest_asyncio
from msgspec import Struct

from tests.handshakes.backends import Speech, http_backend
from tests.handshakes.cases import LAST_YEAR
from tests.handshakes.clients import Place, Security, get
from tests.handshakes.manifests import (
    Json,
    config_map,
    edge,
    endpoints,
    route,
    service,
    tls_listener,
    tls_secret,
    trust_bundle,
)
from tests.handshakes.rig import Rig, rigged
from tests.handshakes.shop import PUBLIC
from tests.pki import CLIENT, SERVER, Authority, Issued
from tests.real_envoy import until
from xds_server.report import Accepted
from xds_server.snapshot import SDS

pytestmark = [pytest.mark.envoy, pytest.mark.asyncio(loop_scope="module")]

STRICT, LENIENT, BUNDLED = 18443, 18444, 18445
HOST = "pay.test"
PLAIN = 80
SOON = 120.0
STAFF, STRANGERS = Authority("staff"), Authority("strangers")
TEAM = Authority("team", parent=STAFF)
CLIENTS = {
    "known": STAFF.issue(eku=[CLIENT]),
    "by a chain": TEAM.issue(eku=[CLIENT]),
    "nobody": None,
    "stranger": STRANGERS.issue(eku=[CLIENT]),
    "expired": STAFF.issue(eku=[CLIENT], not_before=LAST_YEAR, not_after=LAST_YEAR + timedelta(days=1)),
    "server": STAFF.issue(eku=[SERVER]),
}
PROVED = {"known", "by a chain"}


class Stage(Struct, frozen=True):
    """One host behind ports that ask for different things."""

    rig: Rig

    async def visit(self, port: int, client: Issued | None) -> int | None:
        """Return what a client is answered; None when it is turned away."""
        with suppress(ssl.SSLError):
            return await get(self.rig.place(port), HOST, Security(knowing(client), HOST))
        return None

    async def told(self, port: int, client: str, answer: int | None) -> None:
        """Wait until a client is answered so: Envoy's workers do soon after it says so what it was told."""

        async def answered() -> bool:
            return await self.visit(port, CLIENTS[client]) == answer

        await until(answered, SOON)


def knowing(client: Issued | None) -> ssl.SSLContext:
    """Return how a client connects that shows this certificate."""
    context = ssl.create_default_context(cadata=PUBLIC.pem)
    if client is not None:
        with TemporaryDirectory() as folder:
            shown = Path(folder) / "client.pem"
            shown.write_text(client.chain_pem + client.key_pem)
            context.load_cert_chain(shown)
    return context


def https(port: int) -> Json:
    """Return an HTTPS listener."""
    return tls_listener(f"https-{port}", port, "edge", protocol="HTTPS")


def believing(name: str, **fields: object) -> Json:
    """Return a setting that names roots in a ConfigMap."""
    return {"validation": {"caCertificateRefs": [{"group": "", "kind": "ConfigMap", "name": name}], **fields}}


def gateway() -> Json:
    """Return a Gateway whose ports ask for different things."""
    bundle = {"group": "certificates.k8s.io", "kind": "ClusterTrustBundle", "name": "staff"}
    per_port = [
        {"port": LENIENT, "tls": believing("staff", mode="AllowInsecureFallback")},
        {"port": BUNDLED, "tls": {"validation": {"caCertificateRefs": [bundle]}}},
    ]
    frontend = {"default": believing("staff"), "perPort": per_port}
    return edge(https(STRICT), https(LENIENT), https(BUNDLED), tls={"frontend": frontend})


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage() -> AsyncIterator[Stage]:
    async with http_backend(Speech()) as backend, rigged() as rig:
        rig.apply(
            gateway(),
            tls_secret("edge", PUBLIC.issue(dns=[HOST])),
            config_map("staff", STAFF.pem),
            trust_bundle("staff", STAFF.pem),
            service("pay", {PLAIN: None}),
            *endpoints("pay", PLAIN, backend.port),
            route("HTTPRoute", "pay", [("pay", PLAIN)]),
        )
        await rig.settled()
        yield Stage(rig)


@pytest.mark.parametrize("client", CLIENTS)
async def test_a_client_is_served_only_after_its_proof(stage: Stage, client: str) -> None:
    served = HTTPStatus.OK if client in PROVED else None
    assert await stage.visit(STRICT, CLIENTS[client]) == served


@pytest.mark.parametrize("client", CLIENTS)
async def test_a_trust_bundle_proves_clients_as_a_config_map_does(stage: Stage, client: str) -> None:
    served = HTTPStatus.OK if client in PROVED else None
    assert await stage.visit(BUNDLED, CLIENTS[client]) == served


@pytest.mark.parametrize("client", CLIENTS)
async def test_an_insecure_fallback_serves_whoever_comes(stage: Stage, client: str) -> None:
    assert await stage.visit(LENIENT, CLIENTS[client]) == HTTPStatus.OK


async def test_a_session_is_not_resumed_so_that_each_connection_is_proved_anew(stage: Stage) -> None:
    context = knowing(CLIENTS["known"])
    context.maximum_version = ssl.TLSVersion.TLSv1_2  # whose sessions are there when the handshake ends
    first = await asyncio.to_thread(shaken, stage.rig.place(STRICT), context, None)
    second = await asyncio.to_thread(shaken, stage.rig.place(STRICT), context, first.session)
    assert not second.reused


async def test_new_roots_are_one_push_of_one_secret_and_hold_for_every_later_connection(
    stage: Stage,
) -> None:
    earlier = len(stage.rig.reports)
    stage.rig.apply(config_map("staff", STRANGERS.pem))
    await stage.rig.settled()
    pushed = [each for each in stage.rig.reports[earlier:] if isinstance(each, Accepted)]
    named = {(each.type_url, name) for each in pushed for name in each.versions}
    assert named == {(SDS, "clients/shop/edge"), (SDS, f"clients/shop/edge:{LENIENT}")}
    await stage.told(STRICT, "known", None)
    await stage.told(STRICT, "stranger", HTTPStatus.OK)
    stage.rig.apply(config_map("staff", STAFF.pem))
    await stage.rig.settled()
    await stage.told(STRICT, "stranger", None)
    await stage.told(STRICT, "known", HTTPStatus.OK)


@pytest.mark.parametrize("port", [STRICT, LENIENT])
async def test_nobody_is_served_while_no_reference_is_good(stage: Stage, port: int) -> None:
    stage.rig.delete(config_map("staff", STAFF.pem))
    await stage.rig.settled()
    await stage.told(port, "known", None)
    assert await stage.visit(BUNDLED, CLIENTS["known"]) == HTTPStatus.OK
    stage.rig.apply(config_map("staff", STAFF.pem))
    await stage.rig.settled()
    await stage.told(port, "known", HTTPStatus.OK)


async def test_a_deleted_trust_bundle_proves_nobody_until_it_is_back(stage: Stage) -> None:
    stage.rig.delete(trust_bundle("staff", STAFF.pem))
    await stage.rig.settled()
    await stage.told(BUNDLED, "known", None)
    stage.rig.apply(trust_bundle("staff", STRANGERS.pem))
    await stage.rig.settled()
    await stage.told(BUNDLED, "stranger", HTTPStatus.OK)
    assert await stage.visit(BUNDLED, CLIENTS["known"]) is None
    stage.rig.apply(trust_bundle("staff", STAFF.pem))
    await stage.rig.settled()
    await stage.told(BUNDLED, "known", HTTPStatus.OK)


class Shaken(Struct, frozen=True):
    """A handshake that succeeded."""

    session: ssl.SSLSession | None
    reused: bool | None


def shaken(place: Place, context: ssl.SSLContext, session: ssl.SSLSession | None) -> Shaken:
    """Shake hands, with the session of an earlier time if the server likes."""
    with (
        socket.create_connection((place.address, place.port)) as bare,
        context.wrap_socket(bare, server_hostname=HOST, session=session) as wrapped,
    ):
        return Shaken(wrapped.session, wrapped.session_reused)
