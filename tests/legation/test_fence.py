"""What has to wait until all policies are certain to be known: what leads somewhere new, and nothing else."""

import pytest

from legation.fence import EVERYWHERE, NOWHERE, Doubt, Fence, led_to
from legation.wanted import Key
from tests.legation.test_wanted import POLICY, read
from translator.names import Name
from translator.objects.endpoint_slice import EndpointSlice
from translator.objects.gateway import Gateway
from translator.objects.http_route import HTTPRoute
from translator.objects.kinds import Object
from translator.objects.secret import Secret
from translator.objects.service import Service

ROUTE = """
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: pay, namespace: shop}
spec:
  parentRefs: [{name: edge, namespace: infra}]
  rules: [{backendRefs: [{name: pay, port: 443, weight: 1}]}]
"""
SERVICE = """
apiVersion: v1
kind: Service
metadata: {name: pay, namespace: shop}
spec: {ports: [{port: 443}]}
"""
GATEWAY = """
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: infra}
spec: {gatewayClassName: legation, listeners: [{name: http, port: 80, protocol: HTTP}]}
"""
NAMESPACE = """
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {team: pay}}
"""
SLICE = """
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: pay, namespace: shop}
addressType: IPv4
endpoints: []
"""
SHOP = frozenset({"shop"})


def alter(text: str, old: str, new: str) -> str:
    """Replace words that have to be there."""
    assert old in text
    return text.replace(old, new)


@pytest.mark.parametrize(
    ("before", "after", "namespaces"),
    [
        (None, ROUTE, SHOP),
        (ROUTE, alter(ROUTE, "weight: 1", "weight: 2"), NOWHERE),
        (ROUTE, alter(ROUTE, "name: pay, port", "name: pay2, port"), SHOP),
        (ROUTE, alter(ROUTE, "name: pay, port", "name: pay, namespace: farm, port"), frozenset({"farm"})),
        (ROUTE, alter(ROUTE, "port: 443", "port: 8443"), SHOP),
        (ROUTE, alter(ROUTE, "infra}]", "infra}, {name: other}]"), SHOP),
        (ROUTE, alter(ROUTE, "  rules:", "  hostnames: [pay.test]\n  rules:"), SHOP),
        (alter(ROUTE, "weight: 1}]", "weight: 1}, {name: old, port: 80}]"), ROUTE, NOWHERE),
        (None, alter(ROUTE, "rules: [{backendRefs: [{name: pay, port: 443, weight: 1}]}]", ""), NOWHERE),
        (None, SERVICE, SHOP),
        (SERVICE, alter(SERVICE, "shop}", "shop, labels: {a: b}}"), NOWHERE),
        (SERVICE, alter(SERVICE, "443", "8443"), SHOP),
        (None, GATEWAY, EVERYWHERE),
        (GATEWAY, GATEWAY + "status: {}\n", NOWHERE),
        (GATEWAY, alter(GATEWAY, "port: 80", "port: 81"), EVERYWHERE),
        (None, NAMESPACE, EVERYWHERE),
        (NAMESPACE, alter(NAMESPACE, "labels", "annotations: {a: b}, labels"), NOWHERE),
        (NAMESPACE, alter(NAMESPACE, "team: pay", "team: other"), EVERYWHERE),
        (None, SLICE, NOWHERE),
        (None, POLICY, NOWHERE),
    ],
)  # fmt: skip
def test_an_object_is_asked_about_where_it_leads_to_what_it_did_not_lead_to_before(
    before: str | None, after: str, namespaces: frozenset[str]
) -> None:
    assert led_to(read(before) if before else None, read(after)) == namespaces


def key(thing: Object) -> Key:
    return type(thing), Name(thing.metadata.namespace, thing.metadata.name)


def fenced(*texts: str) -> Fence:
    """Note these objects."""
    fence = Fence()
    for text in texts:
        fence.note(key(read(text)), read(text))
    return fence


def test_one_question_is_for_all_that_gathered_and_not_for_what_is_noted_since() -> None:
    fence = fenced(SERVICE, alter(ROUTE, "name: pay, port", "name: pay, namespace: farm, port"))
    doubt = fence.doubt
    assert doubt == Doubt(2, frozenset({"shop", "farm"}))
    other = alter(SERVICE, "name: pay", "name: other")
    fence.note(key(read(other)), read(other))
    fence.settle(doubt)
    assert not fence.holds_back((Service, Name("shop", "pay")), is_there=True)
    assert fence.holds_back((Service, Name("shop", "other")), is_there=True)
    assert fence.doubt == Doubt(3, SHOP)


def test_what_is_noted_anew_while_it_is_asked_about_waits_for_another_answer() -> None:
    fence = fenced(SERVICE)
    doubt = fence.doubt
    assert doubt is not None
    again = alter(SERVICE, "443", "8443")
    fence.note(key(read(again)), read(again))
    fence.settle(doubt)
    assert fence.waits


def test_many_namespaces_are_asked_about_as_a_whole() -> None:
    fence = fenced(*(alter(SERVICE, "namespace: shop", f"namespace: n{number}") for number in range(20)))
    assert fence.doubt == Doubt(20, EVERYWHERE)


def test_while_something_waits_nothing_but_pods_is_taken_away_and_what_is_known_changes() -> None:
    fence = fenced(ROUTE)
    assert fence.holds_back((HTTPRoute, Name("shop", "pay")), is_there=True)
    assert not fence.holds_back((HTTPRoute, Name("shop", "other")), is_there=True)
    assert fence.holds_back((HTTPRoute, Name("shop", "other")), is_there=False)
    assert fence.holds_back((Secret, Name("infra", "edge")), is_there=False)
    assert not fence.holds_back((EndpointSlice, Name("shop", "pay")), is_there=False)


def test_a_route_comes_no_sooner_than_the_services_that_it_leads_to() -> None:
    fence = fenced(ROUTE, SERVICE)
    doubt = fence.doubt
    assert doubt is not None
    fence.settle(doubt)
    wider = alter(SERVICE, "[{port: 443}]", "[{name: a, port: 443}, {name: b, port: 8443}]")
    moved = alter(ROUTE, "port: 443", "port: 8443")
    for text in (wider, moved):
        fence.note(key(read(text)), read(text))
    doubt = fence.doubt
    assert doubt is not None
    assert fence.holds_back(key(read(moved)), is_there=True)
    narrower = alter(SERVICE, "port: 443", "port: 8443")
    fence.note(key(read(narrower)), read(narrower))
    fence.settle(doubt)
    assert fence.holds_back(key(read(SERVICE)), is_there=True)
    assert fence.holds_back(key(read(moved)), is_there=True)


def test_while_something_waits_a_service_that_goes_keeps_its_endpoints_for_whoever_still_leads_there() -> (
    None
):
    labelled = alter(SLICE, "namespace: shop}", "namespace: shop, labels: {kubernetes.io/service-name: pay}}")
    endpoints = key(read(labelled))
    fence = fenced(SERVICE, labelled)
    fence.note(endpoints, None)
    assert not fence.holds_back(endpoints, is_there=False)
    fence.note(endpoints, read(labelled))
    fence.note(key(read(SERVICE)), None)
    fence.note(endpoints, None)
    assert fence.holds_back(endpoints, is_there=False)
    doubt = fence.doubt
    assert doubt is not None
    fence.settle(doubt)
    assert not fence.holds_back(endpoints, is_there=False)


PEOPLED = alter(SLICE, "endpoints: []", "endpoints: [{addresses: [198.18.0.1]}]")
PODS = key(read(SLICE))


@pytest.mark.parametrize("texts", [(ROUTE, SLICE), (SLICE, ROUTE)], ids=["led away first", "emptied first"])
def test_the_last_pods_stay_until_it_is_certain_what_leads_away_from_them(texts: tuple[str, str]) -> None:
    fence = fenced(PEOPLED, SERVICE)
    earlier = fence.doubt
    for text in texts:
        fence.note(key(read(text)), read(text))
    later = fence.doubt
    assert earlier is not None
    assert later is not None
    fence.settle(earlier)
    assert fence.holds_back(PODS, is_there=True)
    fence.settle(later)
    assert not fence.holds_back(PODS, is_there=True)


def test_pods_that_have_successors_go_at_once() -> None:
    fence = fenced(PEOPLED, ROUTE)
    for text in (SLICE, alter(PEOPLED, "0.1", "0.2")):
        fence.note(PODS, read(text))
    assert not fence.holds_back(PODS, is_there=True)


def test_the_last_pods_wait_for_no_question_that_is_not_answered() -> None:
    fence = fenced(PEOPLED, ROUTE)
    doubt = fence.doubt
    assert doubt is not None
    fence.note(PODS, read(SLICE))
    fence.let_pods_go()
    assert not fence.holds_back(PODS, is_there=True)
    for text in (PEOPLED, SLICE):
        fence.note(PODS, read(text))
    assert not fence.holds_back(PODS, is_there=True)
    fence.settle(doubt)
    for text in (PEOPLED, SERVICE, SLICE):
        fence.note(key(read(text)), read(text))
    assert fence.holds_back(PODS, is_there=True)


def test_what_is_gone_waits_with_what_it_was_and_is_new_when_it_comes_back() -> None:
    fence = fenced(GATEWAY)
    edge = (Gateway, Name("infra", "edge"))
    fence.note(edge, None)
    assert fence.holds_back(edge, is_there=True)
    doubt = fence.doubt
    assert doubt is not None
    fence.settle(doubt)
    assert not fence.waits
    fence.note(edge, read(GATEWAY))
    assert fence.waits
