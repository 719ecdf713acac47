"""What the control plane may do is what it does."""

import msgspec
import pytest

from legation.addresses import HostPort
from legation.permissions import JUDGED, MADE, Permission, of_cluster, of_namespaces, of_own_namespace, role
from legation.proxies.managed import Environment, manifests
from legation.proxies.wanted import Wanted
from translator.names import Name
from translator.objects.gateway import Gateway
from translator.objects.gateway_parameters import GatewayParametersSpec
from translator.objects.kinds import KINDS, KindInfo
from translator.rules.managed import settle
from translator.rules.ports import Bound

EVERYTHING = (*of_cluster(), *of_namespaces(managed=True), *of_own_namespace(managed=True))
GATEWAY = msgspec.convert(
    {
        "metadata": {"name": "edge", "namespace": "infra"},
        "spec": {
            "gatewayClassName": "legation",
            "listeners": [{"name": "a", "port": 80, "protocol": "HTTP"}],
        },
    },
    Gateway,
)


def allowed(permissions: tuple[Permission, ...]) -> set[tuple[str, str, str]]:
    return {
        (each.group, resource, verb)
        for each in permissions
        for resource in each.resources
        for verb in each.verbs
    }


@pytest.mark.parametrize("info", KINDS, ids=lambda info: info.kind)
def test_every_kind_may_be_read_and_only_judged_ones_get_a_status(info: KindInfo) -> None:
    scope = of_namespaces(managed=False) if info.namespaced else of_cluster()
    found = {(resource, verb) for group, resource, verb in allowed(scope) if group == info.group}
    assert {(info.plural, verb) for verb in ("get", "list", "watch")} <= found
    assert ((f"{info.plural}/status", "patch") in found) == (info.type in JUDGED)


def test_without_managed_proxies_nothing_is_written_but_statuses_events_and_the_lease() -> None:
    writing = {
        (resource, verb)
        for _, resource, verb in allowed(
            (
                *of_cluster(),
                *of_namespaces(managed=False),
                *of_own_namespace(managed=False),
            )
        )
        if verb not in {"get", "list", "watch"}
    }
    statuses = {(resource, verb) for resource, verb in writing if resource.endswith("/status")}
    assert {verb for _, verb in statuses} == {"patch"}
    lease = {("leases", "create"), ("leases", "update")}
    assert writing - statuses - lease == {("events", "create"), ("events", "patch")}


def test_what_is_made_for_a_gateway_may_be_made() -> None:
    said = msgspec.convert(
        {"envoy": {"autoscaling": {"minReplicas": 2, "maxReplicas": 3}}}, GatewayParametersSpec
    )
    wanted = Wanted(GATEWAY, (Bound(Name("infra", "edge"), 80),), settle(said))
    made = manifests(wanted, Environment(HostPort("xds", 18000), "xds", "envoy"))
    plurals = {f"{each['kind']}s".lower() for each in made} | {"secrets"}
    assert plurals == {resource for _, resource in MADE}
    for group, resource in MADE:
        assert {(group, resource, verb) for verb in ("create", "patch", "delete")} <= allowed(EVERYTHING)


def test_nothing_is_allowed_by_a_wildcard() -> None:
    assert "*" not in {word for line in allowed(EVERYTHING) for word in line}


def test_of_definitions_only_those_of_gateway_api_may_be_read_and_only_by_name() -> None:
    [rule] = [each.rule() for each in of_cluster() if "customresourcedefinitions" in each.resources]
    assert rule["verbs"] == ["get"]
    assert isinstance(rule["resourceNames"], list)
    assert "gateways.gateway.networking.k8s.io" in rule["resourceNames"]
    assert all(each.endswith(".gateway.networking.k8s.io") for each in rule["resourceNames"])


def test_a_role_lists_what_is_permitted() -> None:
    written = role("Role", "legation", of_own_namespace(managed=True))
    kept = ["get", "update"]
    secret, lease = (
        {"apiGroups": [""], "resources": ["secrets"]},
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"]},
    )
    assert written["rules"] == [
        {**secret, "verbs": ["create"]},
        {**secret, "resourceNames": ["legation-authority"], "verbs": kept},
        {**lease, "verbs": ["create"]},
        {**lease, "resourceNames": ["legation"], "verbs": kept},
        {
            "apiGroups": ["discovery.k8s.io"],
            "resources": ["endpointslices"],
            "verbs": ["get", "list", "watch"],
        },
    ]
