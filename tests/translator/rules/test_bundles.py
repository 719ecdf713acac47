"""SupportedVersion: what a class is told of the CRDs."""

import pytest

from translator.names import Name
from translator.objects.gateway_class import GatewayClass, GatewayClassSpec
from translator.objects.provenance import TracedMeta
from translator.rules.bundles import BUNDLES, Bundle, Bundles, is_experimental
from translator.rules.gateway_status import gateway_class_status
from translator.rules.gateways import CONTROLLER
from translator.verdict import Condition
from translator.world import World


def told(bundles: Bundles | None) -> list[Condition]:
    """Return what a class is told, apart from being accepted."""
    world = World()
    name = Name("", "legation")
    world.put(GatewayClass, name, GatewayClass(TracedMeta("legation"), GatewayClassSpec(CONTROLLER)))
    world.state(BUNDLES, bundles)
    status = gateway_class_status(world, name)
    assert status is not None
    accepted, *others = status.conditions
    assert accepted.status
    return others


@pytest.mark.parametrize("bundles", [None, frozenset[Bundle]()])
def test_where_nobody_knows_what_the_crds_are_nothing_is_said(bundles: Bundles | None) -> None:
    assert told(bundles) == []


@pytest.mark.parametrize("version", ["v1.7.0", "v1.7.12", "v1.7.0-rc.1"])
def test_crds_of_the_release_that_we_know_are_supported(version: str) -> None:
    [found] = told(frozenset({Bundle(version)}))
    assert (found.type, found.status, found.reason) == ("SupportedVersion", True, "SupportedVersion")
    assert version in found.message


@pytest.mark.parametrize("version", ["v1.6.1", "v1.8.0", "v1.70.0", "v11.7.0", "v1.7", "", "monthly-2026.01"])
def test_other_crds_beside_them_are_named_with_what_is_supported_and_served_all_the_same(
    version: str,
) -> None:
    [found] = told(frozenset({Bundle("v1.7.0"), Bundle(version)}))
    assert (found.type, found.status, found.reason) == ("SupportedVersion", False, "UnsupportedVersion")
    assert "v1.7.0" in found.message
    assert (version or "no version") in found.message
    assert "supported is v1.7" in found.message


@pytest.mark.parametrize(
    ("channels", "there"),
    [((), {True}), (("experimental",), {True}), (("standard",), {False}), (("experimental", ""), {False})],
)
def test_fields_of_the_experimental_channel_are_there_only_if_all_crds_are_of_it(
    channels: tuple[str, ...], there: set[bool]
) -> None:
    world = World()
    world.state(BUNDLES, frozenset(Bundle("v1.7.0", channel) for channel in channels))
    assert {is_experimental(world)} == there
