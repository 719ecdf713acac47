"""What has to wait until all policies are certain to be known: what leads somewhere new, and nothing else."""

import pytest

from legation.fence import EVERYWHERE, NOWHERE, Doubt, Fence, governed
from legation.leaning import Keys
from legation.wanted import Key
from tests.legation.test_wanted import GRANT, POLICY, read
from translator.names import Name
from translator.objects.backend_tls_policy import BackendTLSPolicy
from translator.objects.config_map import ConfigMap
from translator.objects.endpoint_slice import EndpointSlice
from translator.objects.gateway import Gateway
from translator.objects.http_route import HTTPRoute
from translator.objects.kinds import Object
from translator.objects.provenance import TracedMeta
from translator.objects.reference_grant import ReferenceGrant
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
UNUSED = ROUTE.replace("weight: 1", "weight: 0")
COPIED = """
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: pay, namespace: shop}
spec:
  parentRefs: [{name: edge, namespace: infra}]
  rules:
  - filters: [{type: RequestMirror, requestMirror: {backendRef: {name: pay, port: 443}}}]
    backendRefs: [{name: other, port: 443}]
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
IMPORT = """
apiVersion: multicluster.x-k8s.io/v1beta1
kind: ServiceImport
metadata: {name: pay, namespace: shop}
spec: {type: ClusterSetIP, ports: [{port: 443}]}
"""
CLASS = """
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: legation}
spec: {controllerName: legation.dev/gateway-controller}
"""
LISTENER_SET = """
apiVersion: gateway.networking.k8s.io/v1
kind: ListenerSet
metadata: {name: more, namespace: shop}
spec: {parentRef: {name: edge, namespace: infra}, listeners: [{name: http, port: 81, protocol: HTTP}]}
"""
PARAMETERS = """
apiVersion: legation.dev/v1alpha1
kind: GatewayParameters
metadata: {name: dev, namespace: infra}
spec: {externalNames: Permit}
"""
SHOP = frozenset({"shop"})


def alter(text: str, old: str, new: str) -> str:
    """Replace words that have to be there."""
    assert old in text
    return text.replace(old, new)


NAMED = alter(ROUTE, "  rules:", "  hostnames: [pay.test]\n  rules:")


@pytest.mark.parametrize(
    ("before", "after", "namespaces"),
    [
        (None, ROUTE, SHOP),
        (ROUTE, alter(ROUTE, "weight: 1", "weight: 2"), NOWHERE),
        (UNUSED, ROUTE, SHOP),
        (None, UNUSED, NOWHERE),
        (ROUTE, UNUSED, NOWHERE),
        (COPIED, alter(COPIED, "other", "pay"), SHOP),
        (ROUTE, alter(ROUTE, "name: pay, port", "name: pay2, port"), SHOP),
        (ROUTE, alter(ROUTE, "name: pay, port", "name: pay, namespace: farm, port"), frozenset({"farm"})),
        (ROUTE, alter(ROUTE, "port: 443", "port: 8443"), SHOP),
        (ROUTE, alter(ROUTE, "infra}]", "infra}, {name: other}]"), SHOP),
        (ROUTE, NAMED, SHOP),
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
        (None, alter(ROUTE, "HTTPRoute", "GRPCRoute"), SHOP),
        (None, alter(NAMED, "HTTPRoute", "TLSRoute"), SHOP),
        (None, alter(ROUTE, "HTTPRoute", "TCPRoute"), SHOP),
        (None, alter(ROUTE, "HTTPRoute", "UDPRoute"), NOWHERE),
        (None, IMPORT, SHOP),
        (IMPORT, alter(IMPORT, "443", "8443"), SHOP),
        (None, CLASS, EVERYWHERE),
        (None, LISTENER_SET, EVERYWHERE),
        (None, PARAMETERS, EVERYWHERE),
        (None, GRANT, EVERYWHERE),
        (GRANT, alter(GRANT, "kind: Gateway", "kind: TLSRoute"), EVERYWHERE),
        (GRANT, GRANT, NOWHERE),
        (None, SLICE, NOWHERE),
        (None, POLICY, NOWHERE),
    ],
)  # fmt: skip
def test_an_object_is_asked_about_where_it_leads_to_what_it_did_not_lead_to_before(
    before: str | None, after: str, namespaces: frozenset[str]
) -> None:
    assert governed(read(before) if before else None, read(after)) == namespaces


def policies(*namespaces: str) -> Keys:
    """Name all policies of some namespaces."""
    return frozenset((BackendTLSPolicy, Name(each, "")) for each in namespaces)


def key(thing: Object) -> Key:
    return type(thing), Name(thing.metadata.namespace, thing.metadata.name)


FARM = alter(GRANT, "namespace: certs", "namespace: farm")
LABEL = "labels: {kubernetes.io/service-name: pay}"
PEOPLED = alter(alter(SLICE, "shop}", f"shop, {LABEL}}}"), "[]", "[{addresses: [198.18.0.1]}]")
EMPTY = alter(SLICE, "shop}", f"shop, {LABEL}}}")
PODS, PAY, WAY = (key(read(each)) for each in (SLICE, SERVICE, ROUTE))


def fenced(*texts: str) -> Fence:
    """Note these objects."""
    fence = Fence()
    for text in texts:
        fence.note(key(read(text)), read(text))
    return fence


def test_one_question_is_for_all_that_gathered_and_not_for_what_is_noted_since() -> None:
    fence = fenced(SERVICE, alter(ROUTE, "name: pay, port", "name: pay, namespace: farm, port"))
    doubt = fence.doubt
    assert doubt == Doubt(2, policies("shop", "farm"))
    other = alter(SERVICE, "name: pay", "name: other")
    fence.note(key(read(other)), read(other))
    fence.settle(doubt)
    assert not fence.holds_back((Service, Name("shop", "pay")), is_there=True)
    assert fence.holds_back((Service, Name("shop", "other")), is_there=True)
    assert fence.doubt == Doubt(3, policies("shop"))


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
    assert fence.doubt == Doubt(20, policies(""))


def test_few_objects_are_asked_about_one_by_one_and_more_by_their_namespaces() -> None:
    parent = "{name: edge, namespace: infra}"
    few = [f"{{name: edge{number}, namespace: infra}}" for number in range(8)]
    fence = serving(SERVICE, PEOPLED)
    fence.note(WAY, read(alter(ROUTE, parent, ", ".join(few))))
    edges = {(Gateway, Name("infra", f"edge{number}")) for number in range(8)}
    assert fence.doubt == Doubt(2, policies("shop") | edges)
    fence.note(WAY, read(alter(ROUTE, parent, ", ".join([*few, parent]))))
    assert fence.doubt == Doubt(3, policies("shop") | {(Gateway, Name("infra", ""))})


@pytest.mark.parametrize("count", [8, 9])
def test_nine_namespaces_are_asked_about_as_a_whole_and_eight_are_not(count: int) -> None:
    fence = fenced(*(alter(SERVICE, "namespace: shop", f"namespace: n{number}") for number in range(count)))
    each = policies(*(f"n{number}" for number in range(count)))
    assert fence.doubt == Doubt(count, policies("") if count > 8 else each)


def test_who_asks_about_all_namespaces_asks_about_none_besides() -> None:
    assert fenced(GATEWAY, SERVICE).doubt == Doubt(2, policies(""))


def test_what_is_noted_after_it_was_said_what_waits_waits_too() -> None:
    fence = fenced(ROUTE)
    assert not fence.holds_back(PAY, is_there=True)
    fence.note(PAY, read(SERVICE))
    assert fence.holds_back(PAY, is_there=True)


def test_where_nothing_waited_for_an_answer_order_matters_from_the_first_that_is_handed_on() -> None:
    fence = fenced(EMPTY)
    assert fence.doubt is None
    fence.begin()
    fence.hand_on([(PODS, read(EMPTY))])
    fence.note(WAY, read(ROUTE))
    about = (PAY, (EndpointSlice, Name("shop", "")), (Gateway, Name("infra", "edge")))
    assert fence.doubt == Doubt(1, policies("shop").union(about))


def test_while_something_waits_nothing_but_pods_is_taken_away_and_what_is_known_changes() -> None:
    fence = fenced(ROUTE)
    other, secret = (HTTPRoute, Name("shop", "other")), (Secret, Name("infra", "edge"))
    assert fence.holds_back(WAY, is_there=True)
    assert not fence.holds_back(other, is_there=True)
    for gone in (other, secret, PODS):
        fence.note(gone, None)
    assert fence.holds_back(other, is_there=False)
    assert fence.holds_back(secret, is_there=False)
    assert not fence.holds_back(PODS, is_there=False)


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


def serving(*texts: str) -> Fence:
    """Hand on these objects, and have no doubt about any."""
    fence = fenced(*texts)
    settle(fence)
    for each in map(read, texts):
        fence.hand_on([(key(each), each)])
    return fence


def settle(fence: Fence) -> None:
    """Have it certain that everything was told."""
    if (doubt := fence.doubt) is not None:
        fence.settle(doubt)


def test_the_last_pods_wait_until_it_is_certain_who_leads_to_them_and_for_those_who_are_led_away() -> None:
    fence = serving(GATEWAY, SERVICE, PEOPLED, ROUTE)
    fence.note(PODS, read(EMPTY))
    assert fence.doubt == Doubt(4, frozenset({WAY}))
    fence.note(PODS, None)
    away = read(alter(ROUTE, "name: pay, port", "name: pay2, port"))
    fence.note(WAY, away)
    earlier = fence.doubt
    assert earlier is not None
    fence.note(WAY, read(alter(ROUTE, "name: pay, port", "name: pay3, port")))
    fence.settle(earlier)
    assert fence.holds_back(PODS, is_there=False)
    settle(fence)
    assert not fence.holds_back(PODS, is_there=False)


def test_the_last_pods_of_a_service_import_wait_in_the_same_way() -> None:
    imported = alter(
        ROUTE, "{name: pay, port", "{group: multicluster.x-k8s.io, kind: ServiceImport, name: pay, port"
    )
    fence = serving(alter(PEOPLED, "kubernetes.io/", "multicluster.kubernetes.io/"), imported)
    fence.note(PODS, None)
    assert fence.doubt is not None
    assert fence.doubt.about == {WAY}


def test_pods_that_have_successors_or_that_nobody_leads_to_go_at_once() -> None:
    fence = serving(SERVICE, PEOPLED, ROUTE)
    fence.note(PODS, read(alter(PEOPLED, "0.1", "0.2")))
    assert not fence.waits
    fence.note(PODS, read(EMPTY))
    assert fence.waits
    fence.note(PODS, read(PEOPLED))
    assert not fence.waits
    for each in (EMPTY, alter(ROUTE, "name: pay, port", "name: pay2, port"), PEOPLED):
        fence.note(key(read(each)), read(each))
    assert fence.holds_back(WAY, is_there=True)
    assert not fence.holds_back(PODS, is_there=True)
    alone = serving(SERVICE, PEOPLED)
    alone.note(PODS, read(EMPTY))
    assert not alone.waits


def test_only_policies_are_waited_for_while_questions_come_to_nothing() -> None:
    fence = serving(GATEWAY, SERVICE, PEOPLED, ROUTE)
    fence.note(WAY, read(alter(ROUTE, "name: pay, port", "name: pay2, port")))
    fence.note(PODS, read(EMPTY))
    fence.lose_patience()
    assert fence.doubt == Doubt(5, policies("shop"))
    assert not fence.holds_back(PODS, is_there=True)
    for text in (PEOPLED, EMPTY):
        fence.note(PODS, read(text))
    assert not fence.holds_back(PODS, is_there=True)
    settle(fence)
    for text in (PEOPLED, EMPTY):
        fence.note(PODS, read(text))
    assert fence.holds_back(PODS, is_there=True)


@pytest.mark.parametrize(
    ("there", "told", "about"),
    [
        ((SERVICE, PEOPLED), ROUTE, ()),
        ((PEOPLED,), ROUTE, (PAY,)),
        ((SERVICE,), ROUTE, ((EndpointSlice, Name("shop", "")),)),
        ((SERVICE, PEOPLED), alter(ROUTE, "port: 443", "port: 8443"), (PAY,)),
        (
            (SERVICE, PEOPLED),
            alter(ROUTE, "namespace: shop}", "namespace: farm}").replace(
                "pay, port", "pay, namespace: shop, port"
            ),
            ((ReferenceGrant, Name("shop", "")),),
        ),
    ],
    ids=["nothing", "a Service", "pods", "a port", "a grant"],
)
def test_a_route_waits_for_what_it_leans_on_and_nobody_was_told_of(
    there: tuple[str, ...], told: str, about: tuple[Key, ...]
) -> None:
    fence = serving(GATEWAY, *there)
    fence.note(key(read(told)), read(told))
    edge = (Gateway, Name("infra", "edge"))
    assert fence.doubt is not None
    assert fence.doubt.about == policies("shop") | {edge, *about}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (SERVICE, None),
        (alter(SERVICE, "[{port: 443}]", "[{name: a, port: 443}, {name: b, port: 8443}]"), SERVICE),
        (GATEWAY, None),
        (GATEWAY, alter(GATEWAY, "name: http", "name: other")),
        (FARM, alter(FARM, "kind: Gateway", "kind: TLSRoute")),
        (FARM, None),
        (alter(POLICY, "pay-tls", "pay"), None),
    ],
    ids=["a Service", "a port", "a Gateway", "a listener", "a permission", "a grant", "a policy"],
)
def test_what_a_route_may_have_turned_away_from_waits_until_that_is_certain(
    before: str, after: str | None
) -> None:
    beyond = "name: pay, port: 443, weight: 1}, {name: pay, namespace: farm, port: 1"
    fence = serving(alter(ROUTE, "name: pay, port: 443, weight: 1", beyond))
    fence.note(key(read(before)), read(before))
    settle(fence)
    fence.hand_on([(key(read(before)), read(before))])
    fence.note(key(read(before)), read(after) if after else None)
    assert fence.doubt is not None
    assert WAY in fence.doubt.about


def test_what_goes_waits_along_a_chain_for_the_route_at_its_end_and_no_longer() -> None:
    roots, policy = (ConfigMap, Name("shop", "roots")), read(POLICY)
    fence = serving(SERVICE, PEOPLED, ROUTE, POLICY)
    trusted = ConfigMap(TracedMeta("roots", "shop"))
    fence.note(roots, trusted)
    fence.hand_on([(roots, trusted)])
    fence.note(WAY, read(alter(ROUTE, "name: pay, port", "name: pay2, port")))
    fence.note(key(policy), None)
    fence.note(roots, None)
    later = fence.doubt
    assert later is not None
    assert {WAY, key(policy)} <= later.about
    fence.note(WAY, read(alter(ROUTE, "name: pay, port", "name: pay3, port")))
    fence.settle(later)
    assert all(fence.holds_back(each, is_there=False) for each in (key(policy), roots))
    settle(fence)
    assert not any(fence.holds_back(each, is_there=False) for each in (key(policy), roots))


def test_a_certificate_that_goes_waits_until_the_gateway_that_shows_it_was_asked_about() -> None:
    showing = read(
        alter(GATEWAY, "protocol: HTTP}", "protocol: HTTPS, tls: {certificateRefs: [{name: edge}]}}")
    )
    secret, shown = (Secret, Name("infra", "edge")), Secret(TracedMeta("edge", "infra"))
    fence = serving()
    for about, thing in ((secret, shown), (key(showing), showing)):
        fence.note(about, thing)
        settle(fence)
        fence.hand_on([(about, thing)])
    fence.note(secret, None)
    assert fence.doubt is not None
    assert key(showing) in fence.doubt.about
    assert fence.holds_back(secret, is_there=False)
    settle(fence)
    assert not fence.holds_back(secret, is_there=False)


def test_what_goes_does_not_wait_for_what_was_noted_since() -> None:
    fence = serving(SERVICE, ROUTE)
    secret = (Secret, Name("infra", "edge"))
    fence.note(key(read(GATEWAY)), read(GATEWAY))
    fence.note(secret, None)
    doubt = fence.doubt
    assert doubt is not None
    assert fence.holds_back(secret, is_there=False)
    fence.note((Service, Name("shop", "other")), read(alter(SERVICE, "name: pay", "name: other")))
    assert fence.holds_back(secret, is_there=False)
    fence.settle(doubt)
    assert fence.waits
    assert not fence.holds_back(secret, is_there=False)


def test_what_went_before_anything_waited_goes_at_once_and_what_came_back_does_not_go_as_early() -> None:
    fence = serving(SERVICE)
    secret, shown = (Secret, Name("infra", "edge")), Secret(TracedMeta("edge", "infra"))
    fence.note(secret, None)
    fence.note(key(read(GATEWAY)), read(GATEWAY))
    assert not fence.holds_back(secret, is_there=False)
    for thing in (shown, None):
        fence.note(secret, thing)
    assert fence.holds_back(secret, is_there=False)


def test_roots_that_go_wait_for_the_policy_that_names_them_only_while_questions_are_answered() -> None:
    fence = serving(POLICY, SERVICE)
    roots, trusted = (ConfigMap, Name("shop", "roots")), ConfigMap(TracedMeta("roots", "shop"))
    fence.note(roots, trusted)
    fence.hand_on([(roots, trusted)])
    fence.note(roots, None)
    assert fence.doubt is not None
    assert fence.doubt.about == {key(read(POLICY))}
    assert fence.holds_back(roots, is_there=False)
    fence.lose_patience()
    assert not fence.waits


def test_what_goes_waits_for_the_first_of_all_that_wait_still() -> None:
    fence = fenced(GATEWAY)
    first = fence.doubt
    assert first is not None
    secret = (Secret, Name("infra", "edge"))
    fence.note(PAY, read(SERVICE))
    fence.note(secret, None)
    fence.note((Service, Name("shop", "other")), read(alter(SERVICE, "name: pay", "name: other")))
    fence.settle(first)
    assert fence.holds_back(secret, is_there=False)


@pytest.mark.parametrize("is_first", [True, False])
def test_what_came_and_went_goes_no_sooner_where_that_it_came_is_handed_on(*, is_first: bool) -> None:
    fence = fenced(SERVICE) if is_first else serving(SERVICE)
    settle(fence)
    secret, shown = (Secret, Name("infra", "edge")), Secret(TracedMeta("edge", "infra"))
    fence.note(key(read(GATEWAY)), read(GATEWAY))
    fence.note(secret, shown)
    fence.note(secret, None)
    fence.hand_on([(secret, shown)])
    assert fence.holds_back(secret, is_there=False)
    settle(fence)
    assert not fence.holds_back(secret, is_there=False)


def test_what_is_noted_twice_waits_for_all_that_it_led_to() -> None:
    fence = fenced(ROUTE)
    more = "name: pay, port: 443, weight: 1}, {name: pay, namespace: farm, port: 1"
    fence.note(WAY, read(alter(ROUTE, "name: pay, port: 443, weight: 1", more)))
    assert fence.doubt == Doubt(2, policies("shop", "farm"))


def test_two_routes_of_a_service_that_loses_a_port_come_together() -> None:
    wide = alter(SERVICE, "[{port: 443}]", "[{name: a, port: 443}, {name: b, port: 8443}]")
    narrow = alter(SERVICE, "443", "8443")
    other = alter(ROUTE, "name: pay, namespace: shop}", "name: other, namespace: shop}")
    fence = serving(SERVICE, PEOPLED, ROUTE, other)
    for text in (wide, narrow, alter(ROUTE, "port: 443", "port: 8443")):
        fence.note(key(read(text)), read(text))
    doubt = fence.doubt
    assert doubt is not None
    moved = read(alter(other, "port: 443", "port: 8443"))
    fence.note(key(moved), moved)
    fence.settle(doubt)
    assert all(fence.holds_back(each, is_there=True) for each in (PAY, WAY, key(moved)))
    settle(fence)
    assert not any(fence.holds_back(each, is_there=True) for each in (PAY, WAY, key(moved)))


def test_what_was_handed_on_without_a_port_does_not_wait_later_for_those_who_might_have_used_it() -> None:
    fence = serving(
        alter(SERVICE, "[{port: 443}]", "[{name: a, port: 443}, {name: b, port: 8443}]"), PEOPLED, ROUTE
    )
    fence.note(PAY, read(SERVICE))
    settle(fence)
    fence.hand_on([(PAY, read(SERVICE))])
    for each in (NAMED, alter(SERVICE, "shop}", "shop, labels: {a: b}}")):
        fence.note(key(read(each)), read(each))
    assert fence.holds_back(WAY, is_there=True)
    assert not fence.holds_back(PAY, is_there=True)


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
