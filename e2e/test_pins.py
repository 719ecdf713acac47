"""Pins and permissions as a real API server has them: what the stock kinds take, and what people are told."""

import json
from collections.abc import Iterator

import pytest

from e2e.beside import replica, told
from e2e.kubectl import apply, kubectl, read, wait_for
from e2e.test_events import SERVICE, events
from e2e.test_manifests import CRD
from e2e.test_run import CLASS
from tests.legation.running import free_port

PINNED, SKIP = "legation.dev/pinned", "legation.dev/insecure-skip-verification"
FORBIDDEN, SKIPPED = "InsecureVerificationForbidden", "VerificationSkipped"
DEGRADED = "legation.dev/VerificationDegraded"
PINS = {"legation.dev/pinned-certificate-sha256": f"{'ab' * 32},{'cd' * 32}"}


@pytest.fixture
def shop(namespace: str) -> Iterator[str]:
    """A namespace with a Gateway that has parameters, and a route to a Service."""
    kubectl("apply", "--server-side", f"--filename={CRD}")
    wait_for("default", "condition=Established", "crd/gatewayparameters.legation.dev")
    kubectl("apply", "--filename=-", given=CLASS.substitute(namespace=namespace))
    permit(namespace, "Forbid")
    parameters = {"group": "legation.dev", "kind": "GatewayParameters", "name": "operator"}
    put(
        namespace,
        "Gateway",
        "edge",
        gatewayClassName=namespace,
        infrastructure={"parametersRef": parameters},
        listeners=[{"name": "http", "port": free_port(), "protocol": "HTTP"}],
    )
    rules = [{"backendRefs": [{"name": "store", "port": 80}]}]
    put(namespace, "HTTPRoute", "store", parentRefs=[{"name": "edge"}], rules=rules)
    apply(namespace, SERVICE)
    yield namespace
    kubectl("delete", "gatewayclass", namespace)


def put(
    namespace: str, kind: str, name: str, version: str = "gateway.networking.k8s.io/v1", **spec: object
) -> None:
    """Apply an object."""
    written = {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec}
    apply(namespace, json.dumps(written))


def permit(namespace: str, word: str) -> None:
    """Have the operator say this of unverified backends."""
    put(
        namespace,
        "GatewayParameters",
        "operator",
        "legation.dev/v1alpha1",
        backendTLS={"insecureVerification": word},
    )


def ask(namespace: str, roots: str, options: dict[str, str]) -> None:
    """Have a policy ask for this."""
    put(
        namespace,
        "BackendTLSPolicy",
        "store",
        targetRefs=[{"group": "", "kind": "Service", "name": "store"}],
        validation={"hostname": "store.internal", "wellKnownCACertificates": roots},
        options=options,
    )


def says(namespace: str) -> dict[str, str]:
    """Read the reasons of the policy's conditions, and of the Gateway's that speaks of it."""
    ancestors = (
        read("backendtlspolicy", "store", "--namespace", namespace).get("status", {}).get("ancestors", [])
    )
    found = {each["type"]: each["reason"] for entry in ancestors for each in entry["conditions"]}
    gateway = read("gateway", "edge", "--namespace", namespace).get("status", {}).get("conditions", [])
    return found | {f"Gateway {each['type']}": each["reason"] for each in gateway if each["type"] == DEGRADED}


async def test_a_permission_is_told_where_it_is_missing_given_and_needed_no_more(shop: str) -> None:
    ask(shop, SKIP, {})
    async with replica(shop, free_port()):
        await told(lambda: says(shop).get("Accepted") == FORBIDDEN)
        await told(lambda: ("Warning", FORBIDDEN, "store") in events(shop))
        permit(shop, "Permit")
        await told(lambda: says(shop).get(DEGRADED) == says(shop).get(f"Gateway {DEGRADED}") == SKIPPED)
        assert says(shop)["Accepted"] == "Accepted"
        await told(lambda: {("Warning", SKIPPED, "store"), ("Warning", SKIPPED, "edge")} <= {*events(shop)})
        ask(shop, PINNED, PINS)
        await told(lambda: not {DEGRADED, f"Gateway {DEGRADED}"} & says(shop).keys())
        assert says(shop)["Accepted"] == "Accepted"
