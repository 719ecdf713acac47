"""XBackends with TLS of their own: what goes over the wire to the pods that they select."""

import ssl
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from msgspec import Struct

from tests.handshakes.backends import Backend, http_backend, speaks
from tests.handshakes.cases import HOSTNAME, RIGHT, trusting
from tests.handshakes.clients import send
from tests.handshakes.manifests import (
    NAMESPACE,
    Json,
    edge,
    endpoints,
    http_listener,
    manifest,
    tls_listener,
    tls_secret,
)
from tests.handshakes.rig import Rig, rigged
from tests.handshakes.shop import HTTP, OPEN, PUBLIC, SHUT, TLS, gateway, visit
from tests.pki import CLIENT, Authority

pytestmark = [pytest.mark.envoy, pytest.mark.asyncio(loop_scope="module")]

CLIENTS, STRANGERS = Authority("clients"), Authority("strangers")
REF = {"group": "gateway.networking.x-k8s.io", "kind": "XBackend", "name": "pay"}
PODS = {"app": "pay"}


class Stage(Struct, frozen=True):
    """Pods that let in only whom an authority vouches for."""

    rig: Rig
    backend: Backend

    async def told(self) -> int | None:
        """Return what a request is answered, having made sure that nothing went out in cleartext."""
        answer = await visit(self.rig, "pay")
        assert not self.backend.tap.cleartext
        return answer

    async def apply(self, *manifests: Json) -> None:
        """Put objects, and wait for Envoy."""
        self.rig.apply(*manifests)
        await self.rig.settled()


def x_backend(port: int, hostname: str = HOSTNAME, shown: str = "client") -> Json:
    """Return an XBackend that asks for TLS on both sides."""
    return with_tls(port, trusting("root", hostname=hostname), shown)


def pinned(port: int, *pins: str, known: str = "legation.dev/pinned") -> Json:
    """Return an XBackend that is proved by pins of its annotations, if by anything."""
    annotations = {"legation.dev/pinned-public-key-sha256": ",".join(pins)} if pins else {}
    validation: Json = {"hostname": HOSTNAME, "wellKnownCACertificates": known}
    made = with_tls(port, validation, "client")
    return made | {"metadata": {"name": "pay", "namespace": NAMESPACE, "annotations": annotations}}


def with_tls(port: int, validation: Json, shown: str) -> Json:
    """Return an XBackend that proves its pods like this, and shows them a certificate."""
    tls = {"mode": "ClientAndServer", "clientCertificateRef": {"name": shown}, "validation": validation}
    spec = {"type": "EndpointSelector", "port": {"number": port}, "endpointSelector": {"matchLabels": PODS}}
    return manifest("XBackend", "pay", "gateway.networking.x-k8s.io/v1alpha1", spec={**spec, "tls": tls})


def routed(kind: str) -> Json:
    """Return a route to the XBackend."""
    spec = {"parentRefs": [{"name": "edge"}], "hostnames": ["pay.test"], "rules": [{"backendRefs": [REF]}]}
    return manifest(kind, "pay", spec=spec)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage() -> AsyncIterator[Stage]:
    speech = speaks(RIGHT)
    assert speech.tls is not None
    speech.tls.verify_mode = ssl.CERT_REQUIRED
    speech.tls.load_verify_locations(cadata=CLIENTS.pem)
    async with http_backend(speech) as backend, rigged() as rig:
        rig.apply(
            *gateway(),
            edge(
                http_listener(HTTP),
                tls_listener("tls", TLS, "edge"),
                tls={"backend": {"clientCertificateRef": {"name": "gateways"}}},
            ),
            tls_secret("gateways", STRANGERS.issue(eku=[CLIENT])),
            tls_secret("client", CLIENTS.issue(eku=[CLIENT])),
            manifest("Service", "pods", "v1", spec={"selector": PODS, "ports": [{"name": "p1", "port": 1}]}),
            *endpoints("pods", 1, backend.port),
            x_backend(backend.port),
            routed("HTTPRoute"),
            routed("TLSRoute"),
        )
        await rig.settled()
        yield Stage(rig, backend)


async def test_pods_are_reached_with_the_xbackends_own_tls_and_certificate(stage: Stage) -> None:
    assert await stage.told() == OPEN


async def test_where_a_tls_route_ends_tls_the_new_one_is_the_xbackends(stage: Stage) -> None:
    roots = ssl.create_default_context(cadata=PUBLIC.pem)
    assert await send("TLSRoute", stage.rig.place(TLS), "pay.test", roots) == OPEN


async def left_alone(stage: Stage, refused: Json) -> None:
    """See that with this no connection is made, and that the backend is reached again without it."""
    await stage.apply(refused)
    opened = stage.backend.tap.opened
    assert await stage.told() == SHUT
    assert stage.backend.tap.opened == opened
    await stage.apply(x_backend(stage.backend.port))
    assert await stage.told() == OPEN


async def test_pods_that_prove_another_name_are_told_nothing(stage: Stage) -> None:
    heard = len(stage.backend.told)
    await stage.apply(x_backend(stage.backend.port, hostname="other.test"))
    assert await stage.told() == SHUT
    await stage.apply(x_backend(stage.backend.port))
    assert len(stage.backend.told) == heard
    assert await stage.told() == OPEN


async def test_pods_that_are_to_be_shown_what_is_not_there_are_left_alone(stage: Stage) -> None:
    await left_alone(stage, x_backend(stage.backend.port, shown="nothing"))


async def test_pods_are_proved_by_pins_that_annotations_name_and_by_no_others(stage: Stage) -> None:
    await stage.apply(pinned(stage.backend.port, STRANGERS.own.key_pin, RIGHT.key_pin))
    assert await stage.told() == OPEN
    heard = len(stage.backend.told)
    await stage.apply(pinned(stage.backend.port, STRANGERS.own.key_pin))
    assert await stage.told() == SHUT
    assert len(stage.backend.told) == heard
    await stage.apply(x_backend(stage.backend.port))
    assert await stage.told() == OPEN


async def test_pods_that_nobody_may_leave_unverified_are_left_alone(stage: Stage) -> None:
    await left_alone(stage, pinned(stage.backend.port, known="legation.dev/insecure-skip-verification"))
