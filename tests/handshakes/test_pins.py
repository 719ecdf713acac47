"""Backends proved by pins, or by nothing where that is permitted: what changes, and what never does."""

import ssl
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager

import pytest
import pytest_asyncio
from msgspec import Struct

from tests.handshakes.backends import Backend, Speech, grpc_backend, http_backend, speaks
from tests.handshakes.cases import (
    ALONE,
    OTHERS,
    PINS_ALONE,
    RIGHT,
    SPARE,
    UNVERIFIED,
    pinning,
    trusting,
)
from tests.handshakes.clients import get, send
from tests.handshakes.manifests import (
    EDGE,
    Json,
    edge,
    endpoints,
    http_listener,
    manifest,
    policy,
    route,
    service,
    tcp_listener,
    tls_listener,
)
from tests.handshakes.rig import GATEWAY, Channel, Rig, rigged
from tests.handshakes.shop import (
    HTTP,
    HTTPS,
    OPEN,
    PUBLIC,
    SHUT,
    TLS,
    Visitor,
    encrypted,
    gateway,
    routed,
    visit,
)
from tests.handshakes.traffic import Traffic, flowing
from tests.looking import eventually
from tests.pki import Issued
from translator.names import Name
from xds_server.snapshot import CDS

pytestmark = [pytest.mark.envoy, pytest.mark.asyncio(loop_scope="module")]

LAB = Name(GATEWAY.namespace, "lab")
TCP, LAB_HTTP = 18081, 18090
PARAMETERS: Json = {
    "parametersRef": {"group": "legation.dev", "kind": "GatewayParameters", "name": "operator"}
}
SKIP_NAME = {"verification-mode": "SkipHostname"}
DEGRADED, FORBIDDEN = "legation.dev/VerificationDegraded", "InsecureVerificationForbidden"


def says(word: str) -> Json:
    """Return what the operator says of unverified backends."""
    spec = {"backendTLS": {"insecureVerification": word}}
    return manifest("GatewayParameters", "operator", "legation.dev/v1alpha1", spec=spec)


def mirrored(name: str, copied_to: str) -> Json:
    """Return a route of which each request is copied to another Service."""
    copy = {"backendRef": {"name": copied_to, "port": HTTPS}}
    rule = {
        "backendRefs": [{"name": name, "port": HTTPS}],
        "filters": [{"type": "RequestMirror", "requestMirror": copy}],
    }
    spec = {"parentRefs": [EDGE], "hostnames": [f"{name}.test"], "rules": [rule]}
    return manifest("HTTPRoute", name, spec=spec)


class Stage(Struct, frozen=True):
    """Two Gateways that lead to one Service: the first follows the operator's word, the second has none."""

    rig: Rig
    backend: Backend
    plain: Backend
    till: Backend

    async def asks(self, validation: Json, options: dict[str, str], word: str = "Permit") -> None:
        """Have the policy ask for something, and the operator say something."""
        self.rig.apply(policy("pay", validation, options), says(word))
        await self.rig.settled()

    async def answers(self) -> tuple[int | None, int | None, int | None]:
        """Return what requests and connections by the first Gateway, and requests by the second, come to."""
        return (
            await visit(self.rig, "pay"),
            await get(self.rig.place(TCP), "any.test"),
            await get(self.rig.place(LAB_HTTP), "pay.test"),
        )


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage() -> AsyncIterator[Stage]:
    both = [EDGE, {"name": "lab"}]
    channel = Channel(beside=(LAB,))
    async with (
        http_backend(speaks(OTHERS, lasting=True)) as backend,
        http_backend(Speech()) as plain,
        http_backend(Speech()) as front,
        grpc_backend(ALONE) as till,
        rigged(channel) as rig,
    ):
        served = {"gatewayClassName": "legation", "listeners": [http_listener(LAB_HTTP)]}
        rig.apply(
            *gateway(),
            says("Permit"),
            edge(
                http_listener(HTTP),
                tcp_listener(TCP),
                tls_listener("tls", TLS, "edge"),
                infrastructure=PARAMETERS,
            ),
            manifest("Gateway", "lab", spec=served),
            service("pay", {HTTPS: "https"}),
            *endpoints("pay", HTTPS, backend.port),
            policy("pay", UNVERIFIED),
            route("HTTPRoute", "pay", [("pay", HTTPS)], hostnames=["pay.test"], parentRefs=both),
            route("TCPRoute", "pay", [("pay", HTTPS)]),
            routed("pay", "pay", kind="TLSRoute"),
            service("till", {HTTPS: "kubernetes.io/h2c"}),
            *endpoints("till", HTTPS, till.port),
            policy("till", UNVERIFIED),
            routed("till", "till", kind="GRPCRoute"),
            service("plain", {HTTPS: "https"}),
            *endpoints("plain", HTTPS, plain.port),
            policy("plain", UNVERIFIED),
            routed("plain", "plain"),
            service("front", {HTTPS: None}),
            *endpoints("front", HTTPS, front.port),
            mirrored("front", "pay"),
        )
        await rig.settled()
        yield Stage(rig, backend, plain, till)


@pytest.mark.parametrize(
    ("validation", "options"),
    [(UNVERIFIED, {}), (UNVERIFIED, pinning([SPARE, OTHERS])), (trusting("root"), SKIP_NAME)],
    ids=["unverified", "unverified but pinned", "any name"],
)
async def test_one_gateway_may_permit_what_another_refuses_at_the_same_time(
    stage: Stage, validation: Json, options: dict[str, str]
) -> None:
    await stage.asks(validation, options)
    assert await stage.answers() == (OPEN, OPEN, SHUT)
    told = stage.rig.told("pay")
    assert told["edge"]["Accepted"].status
    assert told["edge"][DEGRADED].status
    assert told["lab"]["Accepted"].reason == FORBIDDEN
    assert DEGRADED not in told["lab"]
    assert stage.backend.tap.cleartext == b""


@pytest.mark.parametrize(
    ("validation", "options"),
    [
        (UNVERIFIED, pinning([SPARE, ALONE])),
        (trusting("other"), SKIP_NAME),
        (trusting("root"), SKIP_NAME | pinning([SPARE, ALONE])),
    ],
    ids=["other pins", "other authority", "other pins beside roots"],
)
async def test_what_is_still_asked_for_is_proved_where_less_is_permitted(
    stage: Stage, validation: Json, options: dict[str, str]
) -> None:
    await stage.asks(validation, options)
    stage.backend.tap.hang_up()  # connections that were proved by what was asked for before
    await stage.backend.tap.all_closed()
    told = len(stage.backend.told)
    assert await stage.answers() == (SHUT, None, SHUT)
    assert len(stage.backend.told) == told


async def test_calls_and_tls_that_ends_here_need_the_same_permission(stage: Stage) -> None:
    roots = ssl.create_default_context(cadata=PUBLIC.pem)
    told = stage.till.told
    for word, called, ended in (("Permit", OPEN, OPEN), ("Forbid", SHUT, None), ("Permit", OPEN, OPEN)):
        await stage.asks(UNVERIFIED, {}, word)
        before = len(told)
        assert await send("GRPCRoute", stage.rig.place(HTTP), "till.test", roots) == called
        assert await send("TLSRoute", stage.rig.place(TLS), "pay.test", roots) == ended
        assert len(told) - before == (called == OPEN)
    assert stage.till.tap.hellos
    assert stage.till.tap.cleartext == b""


@pytest.mark.parametrize(
    ("validation", "options", "word", "tried"),
    [(PINS_ALONE, pinning([SPARE, ALONE]), "Permit", True), (UNVERIFIED, {}, "Forbid", False)],
    ids=["other pins", "not permitted"],
)
async def test_a_copy_arrives_only_where_what_the_policy_asks_is_proved(
    stage: Stage, validation: Json, options: dict[str, str], word: str, *, tried: bool
) -> None:
    backend, tap = stage.backend, stage.backend.tap
    await stage.asks(validation, options, word)
    tap.hang_up()
    await tap.all_closed()
    opened, told = tap.opened, len(backend.told)
    assert await visit(stage.rig, "front") == OPEN
    if tried:
        await eventually(lambda: tap.opened > opened)
        await tap.all_closed()
    await stage.asks(UNVERIFIED, {})
    assert (len(backend.told), tap.opened > opened) == (told, tried)
    assert await visit(stage.rig, "front") == OPEN
    await eventually(lambda: len(backend.told) > told)
    assert len(backend.told) == told + 1, "the copy before came, too, if late"
    assert tap.cleartext == b""


async def test_a_backend_in_cleartext_is_told_nothing_by_whoever_believes_anybody(stage: Stage) -> None:
    await stage.asks(UNVERIFIED, {})
    assert await visit(stage.rig, "plain") == SHUT
    assert stage.plain.told == []
    assert stage.plain.tap.hellos
    assert stage.plain.tap.cleartext == b""


async def test_a_permission_that_is_withdrawn_fails_the_next_request_and_closes_what_was_kept_open(
    stage: Stage,
) -> None:
    await stage.asks(UNVERIFIED, {})
    assert await stage.answers() == (OPEN, OPEN, SHUT)
    tap = stage.backend.tap
    assert tap.opened > tap.closed
    await stage.asks(UNVERIFIED, {}, "Forbid")
    opened = tap.opened
    assert await stage.answers() == (SHUT, None, SHUT)
    assert tap.opened == opened
    await tap.all_closed()
    assert {each: said["Accepted"].reason for each, said in stage.rig.told("pay").items()} == {
        "edge": FORBIDDEN,
        "lab": FORBIDDEN,
    }
    await stage.asks(UNVERIFIED, {})
    assert (await stage.answers())[:2] == (OPEN, OPEN)


async def test_a_policy_that_verifies_again_goes_by_another_cluster(stage: Stage) -> None:
    await stage.asks(UNVERIFIED, {})
    before = _clusters(stage.rig)
    await stage.asks(PINS_ALONE, pinning([OTHERS, SPARE]))
    assert await stage.answers() == (OPEN, OPEN, OPEN)
    assert not before & _clusters(stage.rig)
    assert stage.backend.tap.cleartext == b""


def _clusters(rig: Rig) -> set[str]:
    snapshot = rig.hub.snapshot(str(GATEWAY))
    assert snapshot is not None
    return {name for name in snapshot.names(CDS) if name.startswith("shop/pay:")}


def serving(kind: str, issued: Issued) -> AbstractAsyncContextManager[Backend]:
    """Serve what a kind of route carries."""
    return grpc_backend(issued) if kind == "GRPCRoute" else http_backend(speaks(issued, lasting=True))


@pytest.mark.parametrize("kind", ["HTTPRoute", "GRPCRoute", "TLSRoute"])
async def test_keys_are_changed_by_way_of_two_pins_without_a_failed_request(kind: str) -> None:
    async with serving(kind, ALONE) as old, serving(kind, SPARE) as new, rigged() as rig:
        rig.apply(*gateway(), *encrypted("pay", old.port), routed("pay", "pay", kind=kind))
        rig.apply(policy("pay", PINS_ALONE, pinning([ALONE])))
        await rig.settled()
        traffic = Traffic(frozenset({OPEN}))
        async with flowing(traffic, Visitor(rig, kind).come):
            await traffic.more()
            for change in (
                [policy("pay", PINS_ALONE, pinning([ALONE, SPARE]))],
                endpoints("pay", HTTPS, new.port),
                [policy("pay", PINS_ALONE, pinning([SPARE]))],
            ):
                rig.apply(*change)
                await rig.settled()
                await traffic.more()
        assert traffic.surprises == []
        assert old.told
        assert new.told
        rig.apply(policy("pay", PINS_ALONE, pinning([RIGHT])))
        await rig.settled()
        assert await Visitor(rig, kind).come() == (None if kind == "TLSRoute" else SHUT)
        assert old.tap.cleartext + new.tap.cleartext == b""
