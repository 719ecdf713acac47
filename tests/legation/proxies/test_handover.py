"""An autoscaler takes over a number that somebody owns; with a real API server: `e2e/test_proxies.py`."""

import json

import pytest

from legation.proxies.handover import handover

US = "legation.dev/gateway-controller"
NUMBER: dict[str, dict[str, object]] = {"f:spec": {"f:replicas": {}, "f:template": {}}}
REST: dict[str, dict[str, object]] = {"f:spec": {"f:template": {}}}


def deployment(*owned: tuple[str, str, object]) -> bytes:
    """Write a Deployment of four, with who named which fields."""
    fields = [{"manager": who, "operation": how, "fieldsV1": what} for who, how, what in owned]
    metadata = {"name": "legation-edge", "namespace": "infra", "uid": "7", "managedFields": fields}
    return json.dumps({"kind": "Deployment", "metadata": metadata, "spec": {"replicas": 4}}).encode()


def test_the_number_that_we_own_is_handed_over_as_it_is_and_nothing_else() -> None:
    body = handover(deployment(("kube-controller-manager", "Update", REST), (US, "Apply", NUMBER)), US)
    assert json.loads(body or b"") == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "legation-edge", "namespace": "infra"},
        "spec": {"replicas": 4},
    }


@pytest.mark.parametrize(
    "owned",
    [
        (),
        ((US, "Apply", REST),),
        ((US, "Apply", REST), ("kube-controller-manager", "Update", NUMBER)),
        ((US, "Apply", {}),),
    ],
)
def test_a_number_that_is_not_ours_is_left_alone(owned: tuple[tuple[str, str, object], ...]) -> None:
    assert handover(deployment(*owned), US) is None
