"""The features that a class claims are in order, and bear the specification's names."""

from translator.names import Name
from translator.objects.gateway_class import GatewayClass, GatewayClassSpec
from translator.objects.provenance import TracedMeta
from translator.rules.bundles import BUNDLES, Bundle
from translator.rules.ca_references import CLUSTER_TRUST_BUNDLES
from translator.rules.features import EXPERIMENTAL, SUPPORTED
from translator.rules.gateway_status import gateway_class_status
from translator.rules.gateways import CONTROLLER
from translator.translate import INDEXES
from translator.world import World

PROFILES = {"Gateway", "ReferenceGrant", "HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute", "UDPRoute"}


def test_features_are_in_order_and_named_once() -> None:
    assert list(SUPPORTED) == sorted(set(SUPPORTED))


def test_every_profile_that_is_served_is_claimed() -> None:
    assert set(SUPPORTED) >= PROFILES


def told(world: World) -> tuple[str, ...]:
    name = Name("", "legation")
    world.put(GatewayClass, name, GatewayClass(TracedMeta("legation"), GatewayClassSpec(CONTROLLER)))
    status = gateway_class_status(world, name)
    assert status is not None
    return status.supported_features


def test_a_class_of_ours_says_what_is_supported() -> None:
    features = told(World(INDEXES))
    assert list(features) == sorted({*SUPPORTED, *EXPERIMENTAL, "ClusterTrustBundle"})


def test_a_class_claims_nothing_that_the_standard_channel_has_no_field_for() -> None:
    world = World(INDEXES)
    world.state(BUNDLES, frozenset({Bundle("v1.7.0", "standard")}))
    assert told(world) == SUPPORTED


def test_cluster_trust_bundles_are_claimed_only_while_the_api_server_serves_them() -> None:
    world = World(INDEXES)
    assert "ClusterTrustBundle" in told(world)
    world.state(CLUSTER_TRUST_BUNDLES, value=False)
    assert set(told(world)) == {*SUPPORTED, *EXPERIMENTAL}
    world.state(CLUSTER_TRUST_BUNDLES, value=True)
    assert "ClusterTrustBundle" in told(world)
