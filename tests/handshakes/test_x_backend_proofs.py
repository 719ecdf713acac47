"""What XBackends ask of their pods' certificates, over every kind of route: proved, or nothing is told."""

import ssl
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from msgspec import Struct

from tests.handshakes.backends import Backend, Speech, grpc_backend, http_backend, speaks
from tests.handshakes.cases import OTHERS, PINS_ALONE, SPARE, UNVERIFIED, pinning, trusting
from tests.handshakes.clients import send
from tests.handshakes.manifests import (
    EDGE,
    NAMESPACE,
    Json,
    edge,
    endpoints,
    http_listener,
    manifest,
    service,
    tcp_listener,
    tls_listener,
    tls_secret,
)
from tests.handshakes.rig import Rig, rigged
from tests.handshakes.shop import HTTP, HTTPS, OPEN, PUBLIC, SHUT, TLS, gateway, visit
from tests.handshakes.test_pins import PARAMETERS, SKIP_NAME, TCP, says
from tests.looking import eventually

pytestmark = [pytest.mark.envoy, pytest.mark.asyncio(loop_scope="module")]

X_GROUP = "gateway.networking.x-k8s.io"
ROUTES = {"HTTPRoute": "pay", "GRPCRoute": "till", "TCPRoute": "line", "TLSRoute": "line"}
PROTOCOLS = {"pay": "HTTP", "till": "GRPC", "line": "TCP"}


class Case(Struct, frozen=True):
    """What XBackends ask, what the operator says, and whether pods may be told anything."""

    validation: Json
    asked: dict[str, str] = {}  # by annotations
    word: str = "Forbid"
    reached: bool = True
    tried: bool = True
    mode: str = "ServerOnly"


ROOT = trusting("root", hostname="other.test")
CASES = {
    "certificate": Case(PINS_ALONE, pinning([], [SPARE, OTHERS])),
    "other-certificate": Case(PINS_ALONE, pinning([], [SPARE]), reached=False),
    "key": Case(PINS_ALONE, pinning([SPARE, OTHERS])),
    "pin-beside-root": Case(ROOT, pinning([OTHERS])),
    "other-pin-beside-root": Case(ROOT, pinning([SPARE]), reached=False),
    "pin-beside-another-root": Case(
        trusting("other", hostname="other.test"), pinning([OTHERS]), reached=False
    ),
    "any-name-permitted": Case(trusting("root"), SKIP_NAME, "Permit"),
    "any-name-of-another-root": Case(trusting("other"), SKIP_NAME, "Permit", reached=False),
    "any-name-forbidden": Case(trusting("root"), SKIP_NAME, reached=False, tried=False),
    "skip-permitted": Case(UNVERIFIED, {}, "Permit"),
    "skip-permitted-beside-another-pin": Case(UNVERIFIED, pinning([SPARE]), "Permit", reached=False),
    "skip-forbidden": Case(UNVERIFIED, reached=False, tried=False),
    "pin-in-cleartext": Case({}, pinning([OTHERS]), mode="None", reached=False, tried=False),
}


class Stage(Struct, frozen=True):
    """Pods of a shop, one after the other by each kind of route, and by copies of requests."""

    rig: Rig
    shop: Backend
    till: Backend

    async def asks(self, case: Case) -> None:
        """Have all XBackends ask for something, on connections that are yet to be opened."""
        ports = {"pay": self.shop.port, "till": self.till.port, "line": self.shop.port}
        self.rig.apply(says(case.word), *(x_backend(name, port, case) for name, port in ports.items()))
        await self.rig.settled()
        for each in (self.shop.tap, self.till.tap):
            each.hang_up()
            await each.all_closed()

    async def answers(self) -> dict[str, int | None]:
        """Return what requests, calls and connections come to."""
        roots = ssl.create_default_context(cadata=PUBLIC.pem)
        places = {kind: self.rig.place(HTTP) for kind in ("HTTPRoute", "GRPCRoute")}
        places |= {"TCPRoute": self.rig.place(TCP), "TLSRoute": self.rig.place(TLS)}
        return {
            kind: await send(kind, place, f"{ROUTES[kind]}.test", roots) for kind, place in places.items()
        }

    @property
    def told(self) -> tuple[int, int]:
        """How much pods were told."""
        return len(self.shop.told), len(self.till.told)

    @property
    def opened(self) -> tuple[int, int]:
        """How many connections were opened to pods."""
        return self.shop.tap.opened, self.till.tap.opened


def x_backend(name: str, port: int, case: Case) -> Json:
    """Return an XBackend that proves its pods like this."""
    tls = {"mode": case.mode} | ({"validation": case.validation} if case.validation else {})
    annotations = {f"legation.dev/{key}": value for key, value in case.asked.items()}
    labels = {"app": "till" if name == "till" else "shop"}
    spec = {
        "type": "EndpointSelector",
        "port": {"number": port},
        "endpointSelector": {"matchLabels": labels},
        "protocol": PROTOCOLS[name],
        "tls": tls,
    }
    made = manifest("XBackend", name, f"{X_GROUP}/v1alpha1", spec=spec)
    return made | {"metadata": {"name": name, "namespace": NAMESPACE, "annotations": annotations}}


def routed(kind: str, name: str) -> Json:
    """Return a route to an XBackend."""
    refs = [{"group": X_GROUP, "kind": "XBackend", "name": name}]
    hostnames = {} if kind == "TCPRoute" else {"hostnames": [f"{name}.test"]}
    return manifest(kind, name, spec={"parentRefs": [EDGE], **hostnames, "rules": [{"backendRefs": refs}]})


def mirrored() -> Json:
    """Return a route of which each request is copied to an XBackend."""
    copy = {"backendRef": {"group": X_GROUP, "kind": "XBackend", "name": "pay"}}
    rule = {
        "backendRefs": [{"name": "front", "port": HTTPS}],
        "filters": [{"type": "RequestMirror", "requestMirror": copy}],
    }
    spec = {"parentRefs": [EDGE], "hostnames": ["front.test"], "rules": [rule]}
    return manifest("HTTPRoute", "front", spec=spec)


def pods(app: str, port: int) -> list[Json]:
    """Return pods with a label, and the Service that says where they are."""
    ports = [{"name": "p1", "port": 1}]
    selecting = manifest("Service", f"{app}-pods", "v1", spec={"selector": {"app": app}, "ports": ports})
    return [selecting, *endpoints(f"{app}-pods", 1, port)]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage() -> AsyncIterator[Stage]:
    async with (
        http_backend(speaks(OTHERS)) as shop,
        grpc_backend(OTHERS) as till,
        http_backend(Speech()) as front,
        rigged() as rig,
    ):
        tls = tls_listener("tls", TLS, "edge")
        rig.apply(
            *gateway(),
            edge(http_listener(HTTP), tcp_listener(TCP), tls, infrastructure=PARAMETERS),
            tls_secret("edge", PUBLIC.issue(dns=["line.test"])),
            *pods("shop", shop.port),
            *pods("till", till.port),
            service("front", {HTTPS: None}),
            *endpoints("front", HTTPS, front.port),
            mirrored(),
            *(routed(kind, name) for kind, name in ROUTES.items()),
        )
        yield Stage(rig, shop, till)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
async def test_pods_are_told_something_only_where_they_prove_what_is_asked(stage: Stage, case: Case) -> None:
    await stage.asks(case)
    told, opened = stage.told, stage.opened
    answers = await stage.answers()
    assert stage.shop.tap.cleartext + stage.till.tap.cleartext == b""
    if case.reached:
        assert answers == dict.fromkeys(ROUTES, OPEN)
        return
    assert answers == {"HTTPRoute": SHUT, "GRPCRoute": SHUT, "TCPRoute": None, "TLSRoute": None}
    assert stage.told == told
    assert all(now > then for now, then in zip(stage.opened, opened, strict=True)) == case.tried
    assert case.tried or stage.opened == opened


@pytest.mark.parametrize(
    "name", ["other-certificate", "other-pin-beside-root", "any-name-forbidden", "skip-forbidden"]
)
async def test_a_copy_arrives_only_where_pods_prove_what_is_asked(stage: Stage, name: str) -> None:
    case, tap = CASES[name], stage.shop.tap
    await stage.asks(case)
    (told, _), opened = stage.told, tap.opened
    assert await visit(stage.rig, "front") == OPEN
    if case.tried:
        await eventually(lambda: tap.opened > opened)
        await tap.all_closed()
    await stage.asks(CASES["skip-permitted"])
    assert (stage.told[0], tap.opened > opened) == (told, case.tried)
    assert await visit(stage.rig, "front") == OPEN
    await eventually(lambda: stage.told[0] > told)
    assert stage.told[0] == told + 1, "the copy before came, too, if late"
    assert tap.cleartext == b""
