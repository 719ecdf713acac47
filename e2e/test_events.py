"""Events as people see them: `kubectl get events` and `kubectl describe`, of a real API server."""

from collections.abc import Iterator
from typing import Any

import pytest

from e2e.beside import gateway, replica, told
from e2e.kubectl import apply, kubectl, read
from e2e.test_run import CLASS, accepted
from tests.legation.running import free_port

ROUTE = """
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: store}
spec:
  parentRefs: [{name: edge}]
  rules: [{backendRefs: [{name: store, port: 80}]}]
"""
SERVICE = """
apiVersion: v1
kind: Service
metadata: {name: store}
spec: {ports: [{port: 80}]}
"""


@pytest.fixture
def mall(namespace: str) -> Iterator[str]:
    """A namespace with a Gateway of ours, and a route that leads nowhere."""
    kubectl("apply", "--filename=-", given=CLASS.substitute(namespace=namespace))
    gateway(namespace, "edge", free_port())
    apply(namespace, ROUTE)
    yield namespace
    kubectl("delete", "gatewayclass", namespace)


def events(namespace: str) -> list[tuple[str, str, str]]:
    """Read type, reason and object of every Event of ours."""
    found: list[dict[str, Any]] = read("events.events.k8s.io", "--namespace", namespace)["items"]
    ours = (each for each in found if each["reportingController"] == "legation.dev/gateway-controller")
    return sorted((each["type"], each["reason"], each["regarding"]["name"]) for each in ours)


NOWHERE = ("Warning", "BackendNotFound", "store")
WELL = ("Normal", "Recovered", "store")


async def test_what_has_to_be_repaired_is_told_once_and_that_it_was(mall: str) -> None:
    async with replica(mall, free_port()):
        await told(lambda: NOWHERE in events(mall))
        described = kubectl("describe", "httproute", "store", "--namespace", mall)
        assert "BackendNotFound" in described.partition("Events:")[2]
        apply(mall, SERVICE)
        await told(lambda: WELL in events(mall))
        before = events(mall)
    async with replica(mall, free_port()) as second:
        await second.logged("leads")
        gateway(mall, "marker", free_port())
        await told(lambda: accepted(mall, "marker") == ("True", 1))
        assert events(mall) == before == [WELL, NOWHERE]
