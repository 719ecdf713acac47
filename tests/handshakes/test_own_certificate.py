"""The certificate that a Gateway shows to backends which let nobody in without one."""

import ssl
from collections.abc import AsyncIterator
from http import HTTPStatus

import pytest
import pytest_asyncio
from msgspec import Struct

from tests.handshakes.backends import Backend, Speech, http_backend, speaks
from tests.handshakes.cases import RIGHT
from tests.handshakes.clients import send
from tests.handshakes.manifests import (
    Json,
    edge,
    endpoints,
    http_listener,
    route,
    service,
    tls_listener,
    tls_secret,
)
from tests.handshakes.rig import Rig, rigged
from tests.handshakes.shop import HTTP, OPEN, PUBLIC, SHUT, TLS, encrypted, gateway, routed, visit
from tests.pki import CLIENT, Authority
from xds_server.report import Accepted
from xds_server.snapshot import SDS

pytestmark = [pytest.mark.envoy, pytest.mark.asyncio(loop_scope="module")]

GATEWAYS, STRANGERS = Authority("gateways"), Authority("strangers")
OWN = GATEWAYS.issue(eku=[CLIENT])
PLAIN = 80


class Stage(Struct, frozen=True):
    """A backend that asks for certificates, and one in cleartext."""

    rig: Rig
    backend: Backend

    async def told(self) -> int:
        """Return what a request is answered, having made sure that a greeting stands for every connection."""
        answer = await visit(self.rig, "pay")
        assert not self.backend.tap.cleartext
        assert answer is not None
        return answer


def showing(secret: str) -> Json:
    """Return the Gateway that shows a Secret's certificate to backends."""
    listeners = (http_listener(HTTP), tls_listener("tls", TLS, "edge"))
    return edge(*listeners, tls={"backend": {"clientCertificateRef": {"name": secret}}})


def asking() -> Speech:
    """Return how a backend speaks that lets in only whom the Gateways' authority vouches for."""
    speech = speaks(RIGHT)
    assert speech.tls is not None
    speech.tls.verify_mode = ssl.CERT_REQUIRED
    speech.tls.load_verify_locations(cadata=GATEWAYS.pem)
    return speech


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage() -> AsyncIterator[Stage]:
    async with http_backend(asking()) as backend, http_backend(Speech()) as plain, rigged() as rig:
        rig.apply(
            *gateway(),
            showing("own"),
            tls_secret("own", OWN),
            *encrypted("pay", backend.port),
            routed("pay", "pay"),
            routed("pay", "pay", kind="TLSRoute"),
            service("web", {PLAIN: None}),
            *endpoints("web", PLAIN, plain.port),
            route("HTTPRoute", "web", [("web", PLAIN)], hostnames=["web.test"]),
        )
        await rig.settled()
        yield Stage(rig, backend)


async def test_a_backend_is_shown_the_certificate_of_the_gateway(stage: Stage) -> None:
    assert await stage.told() == OPEN


async def test_where_a_tls_route_ends_tls_the_new_one_shows_the_gateways_certificate(stage: Stage) -> None:
    roots = ssl.create_default_context(cadata=PUBLIC.pem)
    assert await send("TLSRoute", stage.rig.place(TLS), "pay.test", roots) == OPEN


async def test_a_gateway_that_shows_nothing_is_not_let_in(stage: Stage) -> None:
    stage.rig.apply(gateway()[0])
    await stage.rig.settled()
    assert await stage.told() == SHUT
    stage.rig.apply(showing("own"))
    await stage.rig.settled()
    assert await stage.told() == OPEN


async def test_a_backend_is_left_alone_while_there_is_nothing_to_show(stage: Stage) -> None:
    stage.rig.delete(tls_secret("own", OWN))
    await stage.rig.settled()
    opened = stage.backend.tap.opened
    assert await stage.told() == SHUT
    assert stage.backend.tap.opened == opened
    assert await visit(stage.rig, "web") == HTTPStatus.OK
    stage.rig.apply(tls_secret("own", OWN))
    await stage.rig.settled()
    assert await stage.told() == OPEN


async def test_a_renewed_certificate_is_one_push_of_one_secret(stage: Stage) -> None:
    earlier = len(stage.rig.reports)
    stage.rig.apply(tls_secret("own", STRANGERS.issue(eku=[CLIENT])))
    await stage.rig.settled()
    pushed = [each for each in stage.rig.reports[earlier:] if isinstance(each, Accepted)]
    assert [(each.type_url, set(each.versions)) for each in pushed] == [(SDS, {"certificate/shop/own"})]
    assert await stage.told() == SHUT
    stage.rig.apply(tls_secret("own", GATEWAYS.issue(eku=[CLIENT])))
    await stage.rig.settled()
    assert await stage.told() == OPEN
