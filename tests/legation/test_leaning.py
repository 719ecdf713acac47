"""What leans on what, who leans on something, and what a change takes away from them."""

import pytest

from legation.leaning import NONE, Keys, Leaners, leans_on, taken_away
from legation.wanted import Key
from tests.legation.test_fence import (
    CLASS,
    EMPTY,
    GATEWAY,
    LISTENER_SET,
    NAMED,
    PAY,
    PEOPLED,
    PODS,
    ROUTE,
    SERVICE,
    SLICE,
    WAY,
    alter,
    key,
    policies,
    serving,
    settle,
)
from tests.legation.test_wanted import GRANT, POLICY, read
from translator.names import Name
from translator.objects.config_map import ConfigMap
from translator.objects.endpoint_slice import EndpointSlice
from translator.objects.gateway import Gateway
from translator.objects.gateway_parameters import GatewayParameters
from translator.objects.listener_set import ListenerSet
from translator.objects.reference_grant import ReferenceGrant
from translator.objects.secret import Secret
from translator.objects.service import Service
from translator.objects.x_backend import XBackend

EDGE: Key = (Gateway, Name("infra", "edge"))
PARAMETERS = "parametersRef: {group: legation.dev, kind: GatewayParameters, name: dev"
NARROW = alter(SERVICE, "443", "443, name: a")
SHOWING = alter(
    GATEWAY, "protocol: HTTP}", "protocol: HTTPS, tls: {certificateRefs: [{name: b, namespace: certs}]}}"
)


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        (GATEWAY, NONE),
        (
            alter(GATEWAY, "listeners:", f"infrastructure: {{{PARAMETERS}}}}}, listeners:"),
            {(GatewayParameters, Name("infra", "dev"))},
        ),
        (SHOWING, {(Secret, Name("certs", "b")), (ReferenceGrant, Name("certs", ""))}),
        (CLASS, NONE),
        (
            alter(CLASS, "controller}", f"controller, {PARAMETERS}, namespace: infra}}}}"),
            {(GatewayParameters, Name("infra", "dev"))},
        ),
        (LISTENER_SET, {EDGE}),
        (alter(LISTENER_SET, "edge, namespace: infra", "edge"), {(Gateway, Name("shop", "edge"))}),
        (POLICY, {(ConfigMap, Name("shop", "roots")), (Secret, Name("shop", "more"))}),
        (ROUTE, {EDGE, PAY}),
        (alter(ROUTE, "infra}]", "infra}, {name: more, kind: ListenerSet}]"), {
            EDGE, PAY, (ListenerSet, Name("shop", "more")),
        }),
        (alter(ROUTE, "{name: edge,", "{name: edge, group: mesh.test,"), {PAY}),
        (SERVICE, NONE),
    ],
)  # fmt: skip
def test_an_object_leans_on_what_it_names_what_decides_about_it_and_the_grants_between(
    text: str, keys: Keys
) -> None:
    assert leans_on(read(text)) == keys


@pytest.mark.parametrize(
    ("before", "after", "keys"),
    [
        (POLICY, None, {PAY}),
        (POLICY, alter(POLICY, "name: pay-tls", "name: pay"), NONE),
        (GRANT, None, {(ReferenceGrant, Name("certs", ""))}),
        (GRANT, alter(GRANT, "certificates,", "certificates, labels: {a: b},"), NONE),
        (PEOPLED, EMPTY, {PAY}),
        (PEOPLED, alter(PEOPLED, "0.1", "0.2"), NONE),
        (EMPTY, None, NONE),
        (SLICE, None, NONE),
        (LISTENER_SET, alter(LISTENER_SET, "name: http", "name: web"), {(ListenerSet, Name("shop", "more"))}),
        (LISTENER_SET, alter(LISTENER_SET, "HTTP}", "HTTP}, {name: web, port: 82, protocol: HTTP}"), NONE),
        (SERVICE, alter(SERVICE, "shop}", "shop, labels: {a: b}}"), NONE),
        (SERVICE, alter(SERVICE, "443", "8443"), {PAY}),
        (NARROW, alter(NARROW, "name: a", "name: b"), {PAY}),
        (NARROW, alter(NARROW, "443", "8443"), {PAY}),
        (NARROW, alter(NARROW, "a}", "a}, {port: 80, name: b}"), NONE),
        (GATEWAY, alter(GATEWAY, "port: 80", "port: 81"), {EDGE}),
        (GATEWAY, alter(GATEWAY, "HTTP}", "TCP}"), {EDGE}),
        (GATEWAY, alter(GATEWAY, "HTTP}", "HTTP, hostname: pay.test}"), {EDGE}),
    ],
)
def test_a_change_takes_away_what_was_there_to_lean_on_and_is_no_more(
    before: str, after: str | None, keys: Keys
) -> None:
    assert taken_away(read(before), read(after) if after else None) == keys


def test_who_turned_away_leans_no_more_and_who_stayed_does() -> None:
    leaners, away = Leaners(), alter(ROUTE, "name: pay, port", "name: pay2, port")
    other = alter(ROUTE, "name: pay, namespace: shop}", "name: other, namespace: shop}")
    for text in (ROUTE, other, away):
        leaners.note(key(read(text)), read(text))
    assert leaners.of([PAY]) == {key(read(other))}
    assert leaners.of([EDGE]) == {WAY, key(read(other))}
    leaners.note(key(read(other)), None)
    assert leaners.of([PAY]) == NONE


def test_a_route_that_is_led_elsewhere_counts_on_the_new_backend_alone() -> None:
    fence = serving(GATEWAY, SERVICE, PEOPLED, ROUTE)
    fence.note(WAY, read(alter(ROUTE, "name: pay, port", "name: pay2, port")))
    assert fence.doubt is not None
    new = {(Service, Name("shop", "pay2")), (EndpointSlice, Name("shop", ""))}
    assert fence.doubt.about == policies("shop") | new


def test_a_route_with_a_new_name_counts_on_its_gateway_and_on_no_backend_that_it_had() -> None:
    fence = serving(GATEWAY, ROUTE)
    fence.note(WAY, read(NAMED))
    assert fence.doubt is not None
    assert fence.doubt.about == policies("shop") | {EDGE}


def test_pods_that_went_are_asked_about_once_the_last_ones_did() -> None:
    more = alter(PEOPLED, "name: pay, ", "name: pay-2, ")
    pods = (EndpointSlice, Name("shop", ""))
    fence = serving(GATEWAY, SERVICE, PEOPLED, more)
    for text, is_asked in ((more, False), (PEOPLED, True)):
        fence.note(key(read(text)), None)
        fence.hand_on([(key(read(text)), None)])
        fence.note(WAY, read(ROUTE))
        assert fence.doubt is not None
        assert (pods in fence.doubt.about) == is_asked
        settle(fence)
        fence.note(WAY, None)


def test_nobody_asks_for_pods_of_an_x_backend_which_is_not_found_by_them() -> None:
    fence = serving(GATEWAY)
    beyond = "{group: gateway.networking.x-k8s.io, kind: XBackend, name: pay, weight: 1}"
    fence.note(WAY, read(alter(ROUTE, "{name: pay, port: 443, weight: 1}", beyond)))
    assert fence.doubt is not None
    assert fence.doubt.about == policies("shop") | {EDGE, (XBackend, Name("shop", "pay"))}


def test_what_is_read_by_its_name_alone_is_not_asked_about() -> None:
    fence = serving(GATEWAY, PEOPLED)
    fence.note(key(read(POLICY)), read(POLICY))
    assert not fence.waits
    assert not fence.holds_back(PODS, is_there=True)
