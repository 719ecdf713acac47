"""What one changed EndpointSlice costs where many ports, or many XBackends, have the same pods."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.golden import let_in
from tests.poison.effort import grows_no_faster
from tests.translator.rules.changing import V1, changed, thing
from translator.objects.kinds import Object

FEW = 40  # ports, slices, Services or XBackends, of which four times as many are tried
PODS = {"app": "big"}
X1 = "gateway.networking.x-k8s.io/v1alpha1"


def endpoint_slice(service: str, number: int, ports: list[int], last: int = 1) -> Object:
    """Return a slice of a Service, with one pod that takes traffic at these ports."""
    metadata = {"name": f"{service}-{number}", "namespace": "shop"}
    return let_in({
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": metadata | {"labels": {"kubernetes.io/service-name": service}},
        "addressType": "IPv4",
        "ports": [{"name": f"p{port}", "port": port} for port in ports],
        "endpoints": [{"addresses": [f"198.18.{number}.{last}"]}],
    })  # fmt: skip


def service(name: str, ports: list[int]) -> Object:
    spec: dict[str, Any] = {"selector": PODS, "ports": [{"name": f"p{port}", "port": port} for port in ports]}
    return thing("v1", "Service", name, **spec)


def route(number: int, **backend: object) -> Object:
    parents, hosts = [{"name": "edge", "namespace": "infra"}], [f"n{number}.shop.test"]
    rules = [{"backendRefs": [backend]}]
    return thing(V1, "HTTPRoute", f"n{number}", parentRefs=parents, hostnames=hosts, rules=rules)


def ports_of_one_slice(many: int) -> tuple[list[Object], Object]:
    ports = list(range(1, many + 1))
    routes = [route(port, name="big", port=port) for port in ports]
    return [service("big", ports), *routes], endpoint_slice("big", 0, ports, last=2)


def a_slice_for_each_port(many: int) -> tuple[list[Object], Object]:
    ports = list(range(1, many + 1))
    here, _ = ports_of_one_slice(many)
    slices = (endpoint_slice("big", port, [port]) for port in ports)
    return [*here, *slices], endpoint_slice("big", 1, [1], last=2)


def x_backends_of_one_selector(many: int) -> tuple[list[Object], Object]:
    """Return as many XBackends as Services, whose pods are one and the same."""
    numbers = range(many)
    spec: dict[str, Any] = {"type": "EndpointSelector", "endpointSelector": {"matchLabels": PODS}}
    selecting = (thing(X1, "XBackend", f"x{n}", **spec, port={"number": 80}) for n in numbers)
    group = {"group": "gateway.networking.x-k8s.io", "kind": "XBackend"}
    routes = (route(n, **group, name=f"x{n}") for n in numbers)
    services = (service(f"s{n}", [80]) for n in numbers)
    slices = (endpoint_slice(f"s{n}", 0, [80]) for n in numbers)
    return [*selecting, *routes, *services, *slices], endpoint_slice("s1", 0, [80], last=2)


@pytest.mark.parametrize(
    "given",
    [ports_of_one_slice, a_slice_for_each_port, x_backends_of_one_selector],
    ids=lambda each: each.__name__,
)
def test_a_changed_slice_is_not_looked_at_for_each_pair(
    given: Callable[[int], tuple[list[Object], Object]],
) -> None:
    def begin(many: int) -> Callable[[], object]:
        here, after = given(many)
        _, translate = changed(here, after)
        return translate

    assert grows_no_faster(begin, FEW)
