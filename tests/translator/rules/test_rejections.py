"""What an Envoy refused is told by the object that it was made of."""

from collections.abc import Callable

import pytest

from tests.poison.tenants import SHARED, world_of
from tests.poison.test_mistakes import evil
from translator.names import Name, Ref
from translator.objects.backend_tls_policy import BackendTLSPolicy
from translator.rules.gateways import Delivery, Rejection
from translator.rules.rejections import makers
from translator.rules.status import GatewayStatus
from translator.translate import translate
from translator.world import World

POLICY, SERVICE = Ref("BackendTLSPolicy", Name("evil", "a")), Ref("Service", Name("evil", "a"))
ROUTES = tuple(Ref(kind, Name("evil", "a")) for kind in ("GRPCRoute", "HTTPRoute"))
OWN = Name("evil", "a")  # the Gateway
CLUSTER, ENDPOINTS = False, True


def plaintext() -> World:
    world = world_of(evil())
    world.put(BackendTLSPolicy, POLICY.name, None)
    return world


def test_a_cluster_with_tls_is_its_policys() -> None:
    assert makers(world_of(evil()), SHARED, "evil/a:80+a", CLUSTER) == (POLICY,)


def test_a_cluster_in_plaintext_is_that_of_the_routes_which_lead_there() -> None:
    assert set(makers(plaintext(), SHARED, "evil/a:80", CLUSTER)) >= set(ROUTES)


@pytest.mark.parametrize("given", [plaintext, lambda: world_of(evil())], ids=["plaintext", "TLS"])
def test_endpoints_are_the_services_also_where_a_cluster_has_their_name(given: Callable[[], World]) -> None:
    assert makers(given(), SHARED, "evil/a:80", ENDPOINTS) == (SERVICE,)


def test_what_no_route_is_known_of_is_the_services() -> None:
    assert makers(world_of(evil()), OWN, "evil/a:80/udp", CLUSTER) == (SERVICE,)


def test_what_is_no_backends_is_nobodys_else() -> None:
    assert makers(world_of(evil()), SHARED, "infra/shared:80", CLUSTER) == ()


def test_the_gateway_tells_whose_it_is_and_envoys_words() -> None:
    world = world_of(evil())
    refused = (Rejection("evil/a:80+a", "no"), Rejection("infra/shared:80", "cannot bind", ("http",)))
    world.put(Delivery, SHARED, Delivery(acknowledged=True, rejections=refused))
    status = translate(world).statuses[Ref("Gateway", SHARED)]
    assert isinstance(status, GatewayStatus)
    [programmed] = [each for each in status.conditions if each.type == "Programmed"]
    assert programmed.message == (
        "Envoy rejected evil/a:80+a of BackendTLSPolicy evil/a: no; "
        "infra/shared:80 (listener http): cannot bind"
    )
