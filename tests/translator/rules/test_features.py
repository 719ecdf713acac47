"""The features that a class claims are in order, and bear the specification's names."""

from translator.names import Name
from translator.objects.gateway_class import GatewayClass, GatewayClassSpec
from translator.objects.meta import ObjectMeta
from translator.rules.features import SUPPORTED
from translator.rules.gateway_status import gateway_class_status
from translator.rules.gateways import CONTROLLER
from translator.translate import INDEXES
from translator.world import World

PROFILES = {"Gateway", "ReferenceGrant", "HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute", "UDPRoute"}


def test_features_are_in_order_and_named_once() -> None:
    assert list(SUPPORTED) == sorted(set(SUPPORTED))


def test_every_profile_that_is_served_is_claimed() -> None:
    assert set(SUPPORTED) >= PROFILES


def test_a_class_of_ours_says_what_is_supported() -> None:
    world, name = World(INDEXES), Name("", "legation")
    world.put(GatewayClass, name, GatewayClass(ObjectMeta("legation"), GatewayClassSpec(CONTROLLER)))
    assert gateway_class_status(world, name).supported_features == SUPPORTED
