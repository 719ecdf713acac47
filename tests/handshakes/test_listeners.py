"""TLS from clients: which certificate is shown, whose routes answer, and what is passed through."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from http import HTTPStatus

import pytest
import pytest_asyncio
from msgspec import Struct

from tests.handshakes.backends import Backend, http_backend, speaks
from tests.handshakes.cases import AUTHORITIES, ROOT
from tests.handshakes.clients import Security, get
from tests.handshakes.manifests import Json, edge, manifest, route, tls_listener, tls_secret
from tests.handshakes.rig import Rig, rigged
from tests.handshakes.shop import HTTPS, PUBLIC, TLS, encrypted
from tests.pki import Issued
from xds_server.report import Accepted
from xds_server.snapshot import SDS

pytestmark = [pytest.mark.envoy, pytest.mark.asyncio(loop_scope="module")]

PASSED_ON = "through.shop.test"
PARAMETERS = {"group": "legation.dev", "kind": "GatewayParameters", "name": "brief"}
BRIEF = {"sectionName": "pay", "clients": {"requestHeaders": {"maxKilobytes": 1}}}
CERTIFICATES = {name: PUBLIC.issue(dns=["*.shop.test", "pay.shop.test"]) for name in ("pay", "any", "bare")}


class Stage(Struct, frozen=True):
    """Listeners of one port, and the one backend that some lead to."""

    rig: Rig
    backend: Backend

    async def ask(self, server_name: str, host: str, root: str = PUBLIC.pem, path: str = "/") -> int | None:
        """Return what a request is answered on a connection for a server name."""
        tls = Security(ssl.create_default_context(cadata=root), server_name)
        return await get(self.rig.place(TLS), host, tls, path)

    async def shown(self, server_name: str) -> bytes | None:
        """Return the certificate that a client is shown; None when the connection is closed instead."""
        context = ssl.create_default_context(cadata=PUBLIC.pem)
        context.check_hostname = bool(server_name)
        place = self.rig.place(TLS)
        opening = asyncio.open_connection(place.address, place.port, ssl=context, server_hostname=server_name)
        try:
            _, writer = await opening
        except ConnectionError:
            return None
        certificate: bytes = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        writer.transport.abort()
        return certificate


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage() -> AsyncIterator[Stage]:
    shown = ROOT.issue(dns=[PASSED_ON, "pay.shop.test"])
    async with http_backend(speaks(shown)) as backend, rigged() as rig:
        rig.apply(
            edge(
                https("pay", "pay.shop.test"),
                https("any", "*.shop.test"),
                https("bare", "bare.shop.test"),
                https("missing", "missing.shop.test"),
                passing("through", PASSED_ON),
                infrastructure={"parametersRef": PARAMETERS},
            ),
            manifest("GatewayParameters", "brief", "legation.dev/v1alpha1", spec={"listeners": [BRIEF]}),
            *(tls_secret(name, issued) for name, issued in CERTIFICATES.items()),
            *AUTHORITIES,
            *encrypted("pay", backend.port),
            *(
                route("HTTPRoute", name, [("pay", HTTPS)], parentRefs=[section(name)])
                for name in ("pay", "any")
            ),
            route("TLSRoute", "through", [("pay", HTTPS)], hostnames=[PASSED_ON]),
        )
        await rig.settled()
        yield Stage(rig, backend)


def https(name: str, hostname: str) -> Json:
    """Return an HTTPS listener that shows the certificate of its name."""
    return tls_listener(name, TLS, name, hostname=hostname, protocol="HTTPS")


def passing(name: str, hostname: str) -> Json:
    """Return a listener that leaves TLS to client and backend."""
    return tls_listener(name, TLS, name, hostname=hostname, tls={"mode": "Passthrough"})


def section(name: str) -> Json:
    """Return a parentRef to one listener."""
    return {"name": "edge", "sectionName": name}


def der(issued: Issued) -> bytes:
    """Return a certificate as a connection gives it."""
    return ssl.PEM_cert_to_DER_cert(issued.pem)


@pytest.mark.parametrize(
    ("server_name", "listener"),
    [("pay.shop.test", "pay"), ("cart.shop.test", "any"), ("bare.shop.test", "bare")],
)
async def test_a_listener_shows_its_own_certificate(stage: Stage, server_name: str, listener: str) -> None:
    assert await stage.shown(server_name) == der(CERTIFICATES[listener])


@pytest.mark.parametrize("server_name", ["missing.shop.test", "shop.test", "pay.test", ""])
async def test_a_name_that_no_listener_can_serve_is_closed(stage: Stage, server_name: str) -> None:
    assert await stage.shown(server_name) is None


@pytest.mark.parametrize(
    ("server_name", "host", "status"),
    [
        ("pay.shop.test", "pay.shop.test", HTTPStatus.OK),
        ("cart.shop.test", "cart.shop.test", HTTPStatus.OK),
        ("bare.shop.test", "bare.shop.test", HTTPStatus.NOT_FOUND),
        ("pay.shop.test", "other.test", HTTPStatus.NOT_FOUND),
        ("cart.shop.test", "other.test", HTTPStatus.NOT_FOUND),
        ("pay.shop.test", "cart.shop.test", HTTPStatus.MISDIRECTED_REQUEST),
        ("cart.shop.test", "pay.shop.test", HTTPStatus.MISDIRECTED_REQUEST),
        ("cart.shop.test", "bare.shop.test", HTTPStatus.MISDIRECTED_REQUEST),
        ("cart.shop.test", "missing.shop.test", HTTPStatus.MISDIRECTED_REQUEST),
        ("cart.shop.test", PASSED_ON, HTTPStatus.MISDIRECTED_REQUEST),
    ],
)
async def test_only_the_routes_of_its_own_listener_answer(
    stage: Stage, server_name: str, host: str, status: HTTPStatus
) -> None:
    assert await stage.ask(server_name, host) == status


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("pay.shop.test", HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE),
        ("cart.shop.test", HTTPStatus.OK),
    ],
)
async def test_what_is_said_of_one_listener_holds_there_alone(
    stage: Stage, name: str, status: HTTPStatus
) -> None:
    assert await stage.ask(name, name, path="/" + 2000 * "a") == status


async def test_a_passed_on_handshake_is_the_clients_own_although_a_policy_targets_the_service(
    stage: Stage,
) -> None:
    greeted = len(stage.backend.tap.hellos)
    assert await stage.ask(PASSED_ON, PASSED_ON, ROOT.pem) == HTTPStatus.OK
    assert [hello.server_name for hello in stage.backend.tap.hellos[greeted:]] == [PASSED_ON]


async def test_a_renewed_certificate_is_one_push_of_one_secret(stage: Stage) -> None:
    renewed = PUBLIC.issue(dns=["pay.shop.test"])
    earlier = len(stage.rig.reports)
    stage.rig.apply(tls_secret("pay", renewed))
    await stage.rig.settled()
    pushed = [each for each in stage.rig.reports[earlier:] if isinstance(each, Accepted)]
    assert [(each.type_url, set(each.versions)) for each in pushed] == [(SDS, {"certificate/shop/pay"})]
    assert await stage.shown("pay.shop.test") == der(renewed)
    assert await stage.shown("cart.shop.test") == der(CERTIFICATES["any"])
