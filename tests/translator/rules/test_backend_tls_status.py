"""What a status says of a policy's targets, through which Gateways, and what happens without room."""

import json
from collections.abc import Callable

import pytest

from tests.pki import Authority
from tests.poison.effort import grows_no_faster
from tests.translator.rules.backend_tls_given import (
    ALWAYS,
    config_map,
    policy,
    put,
    service,
    shop,
    world_of,
)
from translator.objects.backend_tls_policy import BackendTLSPolicy
from translator.objects.gateway import Gateway, GatewaySpec
from translator.objects.gateway_class import GatewayClass, GatewayClassSpec
from translator.objects.http_route import HTTPBackendRef, HTTPRoute, HTTPRouteRule, HTTPRouteSpec
from translator.objects.kinds import Object
from translator.objects.listeners import Listener
from translator.objects.meta import ObjectMeta
from translator.objects.provenance import TracedMeta
from translator.objects.references import ParentReference
from translator.rules.backend_tls_status import backend_tls_status, crowded_out
from translator.rules.gateways import CONTROLLER
from translator.rules.status import ParentRef
from translator.translate import Translator
from translator.verdict import Condition
from translator.world import World

ROOTS = Authority("roots", **ALWAYS)
PAY = service("pay", "https:443", "admin:8443")
CLASS = GatewayClass(TracedMeta("legation"), GatewayClassSpec(CONTROLLER))
SERVICE_PAY = ParentRef("", "Service", "pay", "shop")


def accepted(world: World, name: str) -> Condition:
    """Return what the first entry says of acceptance; every entry has the two conditions, in this order."""
    entries = backend_tls_status(world, shop(name)).ancestors
    assert {tuple(each.type for each in entry.conditions) for entry in entries} == {
        ("Accepted", "ResolvedRefs")
    }
    return entries[0].conditions[0]


def ancestors(world: World, name: str) -> list[ParentRef]:
    return [entry.parent for entry in backend_tls_status(world, shop(name)).ancestors]


def edges(count: int) -> list[ParentRef]:
    return [ParentRef("gateway.networking.k8s.io", "Gateway", f"edge-{n:02}", "shop") for n in range(count)]


def gateways(count: int, port: int = 443) -> list[Object]:
    """Make so many Gateways, with one route that leads through all of them to a port of `pay`."""
    names = [edge.name for edge in edges(count)]
    listener = Listener(name="http", port=80, protocol="HTTP")
    rule = HTTPRouteRule(backend_refs=(HTTPBackendRef("pay", port=port),))
    parents = tuple(ParentReference(name) for name in names)
    return [
        CLASS,
        HTTPRoute(ObjectMeta("pay", "shop"), HTTPRouteSpec(parent_refs=parents, rules=(rule,))),
        *(Gateway(TracedMeta(name, "shop"), GatewaySpec("legation", (listener,))) for name in names),
    ]


def written(*controllers: str) -> bytes:
    """Write a status with an entry of each controller."""
    entries = [
        {"controllerName": each, "ancestorRef": {"name": "x"}, "conditions": []} for each in controllers
    ]
    return json.dumps({"ancestors": entries}).encode()


# Targets.


def test_a_policy_that_is_enforced_everywhere_is_accepted() -> None:
    world = world_of(PAY, config_map(ROOTS.pem), policy("tls", "pay"))
    [entry] = backend_tls_status(world, shop("tls")).ancestors
    assert entry.parent == SERVICE_PAY
    assert entry.conditions == (
        Condition("Accepted", status=True, reason="Accepted"),
        Condition("ResolvedRefs", status=True, reason="ResolvedRefs"),
    )


def test_a_policy_that_lost_its_only_target_is_conflicted() -> None:
    world = world_of(PAY, config_map(ROOTS.pem), policy("old", "pay", created=1), policy("tls", "pay"))
    assert accepted(world, "old").status
    assert accepted(world, "tls") == Condition(
        "Accepted",
        status=False,
        reason="Conflicted",
        message="Service shop/pay is lost to shop/old, which came first: delete one of the two",
    )
    world.put(BackendTLSPolicy, shop("old"), None)
    assert accepted(world, "tls").status


def test_two_policies_for_the_same_port_conflict() -> None:
    rivals = policy("a", "pay#https"), policy("b", "pay#https")
    world = world_of(PAY, config_map(ROOTS.pem), *rivals)
    assert accepted(world, "a").status
    assert "port https of Service shop/pay is lost to shop/a" in accepted(world, "b").message


def test_a_policy_for_a_port_and_one_for_its_service_do_not_conflict() -> None:
    world = world_of(
        PAY, config_map(ROOTS.pem), policy("one", "pay#https"), policy("whole", "pay", created=1)
    )
    assert accepted(world, "one") == Condition("Accepted", status=True, reason="Accepted")
    assert accepted(world, "whole").status
    assert accepted(world, "whole").message == (
        "Service shop/pay: port https to shop/one, which goes before as it names the port"
    )


def test_a_policy_that_lost_one_target_says_what_it_is_still_enforced_on() -> None:
    world = world_of(
        PAY,
        service("cart", "https:443"),
        config_map(ROOTS.pem),
        policy("old", "pay", created=1),
        policy("tls", "pay", "cart"),
    )
    assert accepted(world, "tls").reason == "Conflicted"
    assert accepted(world, "tls").message.endswith("still enforced for Service shop/cart")


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("gone", "Service shop/gone does not exist"),
        ("pay#gone", "port gone of Service shop/pay does not exist"),
        ("Gateway pay", "Gateway pay of group '' cannot be targeted"),
    ],
)
def test_a_target_that_is_not_there_is_not_found(target: str, says: str) -> None:
    world = world_of(PAY, config_map(ROOTS.pem), policy("tls", target))
    assert (accepted(world, "tls").status, accepted(world, "tls").reason) == (False, "TargetNotFound")
    assert says in accepted(world, "tls").message


@pytest.mark.parametrize(
    ("ports", "target"), [(["dns:53/UDP"], "dns"), (["dns:53/UDP", "tcp:53"], "dns#dns")]
)
def test_a_policy_for_udp_alone_is_invalid(ports: list[str], target: str) -> None:
    world = world_of(service("dns", *ports), config_map(ROOTS.pem), policy("tls", target))
    assert (accepted(world, "tls").status, accepted(world, "tls").reason) == (False, "Invalid")
    assert "open for UDP only" in accepted(world, "tls").message


def test_a_policy_for_udp_and_tcp_is_accepted_with_a_warning() -> None:
    world = world_of(service("dns", "dns:53/UDP", "tcp:53"), config_map(ROOTS.pem), policy("tls", "dns"))
    assert accepted(world, "tls").status
    assert accepted(world, "tls").message == "Service shop/dns: UDP port 53 not covered, as TLS needs TCP"


def test_a_service_without_ports_is_no_trouble() -> None:
    assert accepted(world_of(service("pay"), config_map(ROOTS.pem), policy("tls", "pay")), "tls").status


def test_a_lost_target_gives_its_reason_before_one_that_is_not_there() -> None:
    refs = ("gone", "dns", "pay")
    world = world_of(
        PAY,
        service("dns", "dns:53/UDP"),
        config_map(ROOTS.pem),
        policy("old", "pay", created=1),
        policy("tls", *refs),
    )
    assert accepted(world, "tls").reason == "Conflicted"
    assert all(f"Service shop/{ref}" in accepted(world, "tls").message for ref in refs)


def test_where_a_policy_is_enforced_and_fails_that_is_its_reason() -> None:
    world = world_of(PAY, policy("tls", "pay", "gone"))
    assert accepted(world, "tls").reason == "NoValidCACertificate"
    assert accepted(world, "tls").message.endswith(
        "Service shop/gone does not exist: create it, or correct the name; fails closed for Service shop/pay"
    )


def test_where_a_policy_is_enforced_nowhere_the_reason_is_why() -> None:
    world = world_of(PAY, policy("tls", "gone", hostname="10.0.0.1"))
    assert accepted(world, "tls").reason == "TargetNotFound"
    assert "10.0.0.1" in accepted(world, "tls").message


# Ancestors.


def test_every_gateway_that_leads_to_a_targeted_port_has_an_entry() -> None:
    world = world_of(PAY, config_map(ROOTS.pem), policy("tls", "pay"), *gateways(3))
    assert ancestors(world, "tls") == edges(3)


def test_a_policy_that_lost_is_told_so_by_the_gateways_of_the_winner() -> None:
    rivals = policy("old", "pay", created=1), policy("tls", "pay")
    world = world_of(PAY, config_map(ROOTS.pem), *rivals, *gateways(1))
    assert ancestors(world, "old") == ancestors(world, "tls") == edges(1)


def test_a_gateway_that_leads_to_another_port_has_no_entry() -> None:
    world = world_of(PAY, config_map(ROOTS.pem), policy("tls", "pay#https"), *gateways(1, port=8443))
    assert ancestors(world, "tls") == [SERVICE_PAY]
    put(world, *gateways(1, port=443))
    assert ancestors(world, "tls") == edges(1)


@pytest.mark.parametrize(
    ("targets", "stands_in"),
    [
        (["Gateway edge", "pay", "cart"], SERVICE_PAY),
        (["Gateway edge"], ParentRef("", "Gateway", "edge", "shop")),
    ],
)
def test_without_a_gateway_one_target_stands_in(targets: list[str], stands_in: ParentRef) -> None:
    assert ancestors(world_of(PAY, policy("tls", *targets)), "tls") == [stands_in]


# Room.


def test_sixteen_gateways_have_room_and_the_others_are_told() -> None:
    world = world_of(PAY, config_map(ROOTS.pem), policy("tls", "pay"), *gateways(18))
    assert ancestors(world, "tls") == edges(16)
    assert crowded_out(world, shop("edge-15")) == ()
    assert crowded_out(world, shop("edge-16")) == crowded_out(world, shop("edge-17")) == (shop("tls"),)


def test_entries_of_other_controllers_take_room_and_our_own_do_not() -> None:
    taken = written(*["other.test/controller"] * 14, CONTROLLER, CONTROLLER)
    world = world_of(PAY, config_map(ROOTS.pem), policy("tls", "pay", status=taken), *gateways(3))
    assert ancestors(world, "tls") == edges(2)
    assert crowded_out(world, shop("edge-02")) == (shop("tls"),)


def test_a_status_full_of_others_entries_leaves_us_none() -> None:
    taken = written(*["other.test/controller"] * 17)
    world = world_of(PAY, config_map(ROOTS.pem), policy("tls", "pay", status=taken))
    assert ancestors(world, "tls") == []


@pytest.mark.parametrize(
    "status", [b"", b"{}", b"null", b'{"ancestors": null}', b'{"ancestors": [{}]}', b"[1"]
)
def test_a_status_nobody_wrote_takes_no_room(status: bytes) -> None:
    world = world_of(PAY, config_map(ROOTS.pem), policy("tls", "pay", status=status), *gateways(15))
    assert len(ancestors(world, "tls")) == 15


def test_a_status_that_was_written_judges_no_other_policy_again() -> None:
    world = world_of(PAY, config_map(ROOTS.pem), policy("a", "pay"), policy("b", "pay#https"), *gateways(1))
    before = [backend_tls_status(world, shop(name)) for name in "ab"]
    assert crowded_out(world, shop("edge-00")) == ()
    runs = world.memory.runs.copy()
    put(world, policy("a", "pay", status=written(CONTROLLER)))
    assert [backend_tls_status(world, shop(name)) for name in "ab"] == before
    assert crowded_out(world, shop("edge-00")) == ()
    again = world.memory.runs - runs
    assert again["judge"] == again["_room"] == 1
    assert again["crowded_out"] == again["_crowded"] == again["backend_tls_status"] == 0


def changing_one(many: int) -> Callable[[], object]:
    """Have one of many policies for the same Service change."""
    world = world_of(PAY, config_map(ROOTS.pem), *(policy(f"n{number}", "pay") for number in range(many)))
    translator = Translator(world)
    translator.translate()
    put(world, policy("n0", "pay", hostname="other.internal"))
    return translator.translate


def test_rivals_for_one_service_are_not_each_held_against_all_others_again() -> None:
    assert grows_no_faster(changing_one, 50)
