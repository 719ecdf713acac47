"""What the conformance suite is silent about: trust from the cluster, and addresses within it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from e2e.kubectl import apply, eventually, kubectl, read
from e2e.scenarios.backend import HOST, Backend, serving
from e2e.scenarios.background import beside
from e2e.scenarios.release import Release
from e2e.scenarios.shop import EDGE, Shop
from e2e.scenarios.traffic import asked
from tests.pki import Authority

UNAVAILABLE = 503
POLICY = "backendtlspolicy"


def trust(bundle: str, authority: Authority) -> None:
    """Have a ClusterTrustBundle hold the certificate of an authority."""
    spec = {"trustBundle": authority.pem}
    written = {"kind": "ClusterTrustBundle", "metadata": {"name": bundle}, "spec": spec}
    kubectl(
        "apply", "--filename=-", given=json.dumps({"apiVersion": "certificates.k8s.io/v1beta1"} | written)
    )


def forget(bundle: str) -> None:
    """Delete a ClusterTrustBundle, if it is there."""
    kubectl("delete", "clustertrustbundle", bundle, "--ignore-not-found")


@contextmanager
def trusted(shop: Shop, backend: Backend) -> Iterator[str]:
    """Have the policy of a backend refer to a bundle that is not there yet; yields its name."""
    bundle = shop.namespace
    refs = [{"group": "certificates.k8s.io", "kind": "ClusterTrustBundle", "name": bundle}]
    validation = {"hostname": HOST, "caCertificateRefs": refs}
    patch = json.dumps({"spec": {"validation": validation}})
    kubectl(
        "patch", POLICY, backend.name, f"--namespace={shop.namespace}", "--type=merge", f"--patch={patch}"
    )
    try:
        yield bundle
    finally:
        forget(bundle)


def tells(shop: Shop, reasons: dict[str, str]) -> bool:
    """Say whether the policy is told these reasons, by condition."""
    [policy] = read(POLICY, "--namespace", shop.namespace)["items"]
    [ancestor] = policy["status"]["ancestors"]
    return {each["type"]: each["reason"] for each in ancestor["conditions"]} == reasons


def answers(address: str, status: int) -> bool:
    """Say whether a request is answered so."""
    return asked(address).status == status


def test_a_cluster_trust_bundle_proves_backends_as_long_as_it_is_there_and_holds_their_authority(
    release: Release,  # noqa: ARG001  it runs
    shop: Shop,
) -> None:
    right, wrong = Authority("right"), Authority("wrong")
    backend = Backend("shop", right)
    good = {"Accepted": "Accepted", "ResolvedRefs": "ResolvedRefs"}
    bad = {"Accepted": "NoValidCACertificate", "ResolvedRefs": "InvalidCACertificateRef"}
    with beside(serving(backend)):
        shop.sells(backend)
        address = shop.opens(backend)
        with trusted(shop, backend) as bundle:
            for authority in (None, right, wrong, right, None, right):
                forget(bundle) if authority is None else trust(bundle, authority)
                status = 200 if authority is right else UNAVAILABLE
                eventually(partial(tells, shop, good if authority else bad))
                eventually(partial(answers, address, status))
    assert backend.cleartext == []


def test_a_gateway_that_wishes_to_be_reached_within_the_cluster_alone_has_a_cluster_ip_and_no_other_address(
    release: Release,  # noqa: ARG001  it runs
    shop: Shop,
) -> None:
    gateway = {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "Gateway",
        "metadata": {"name": EDGE},
        "spec": {
            "gatewayClassName": "legation",
            "addresses": [{"type": "IPAddress", "routability": "Cluster"}],
            "listeners": [{"name": "http", "port": 80, "protocol": "HTTP"}],
        },
    }
    apply(shop.namespace, json.dumps(gateway))
    value = eventually(shop.address)
    status = read("gateway", EDGE, "--namespace", shop.namespace)["status"]
    assert status["addresses"] == [{"type": "IPAddress", "value": value, "routability": "Cluster"}]
    told = {each["type"]: each["reason"] for each in status["conditions"]}
    assert told["AddressesAssigned"] == "AddressesAssigned"
    [service] = read("services", "--namespace", shop.namespace)["items"]
    assert (service["spec"]["type"], service["spec"]["clusterIP"]) == ("ClusterIP", value)
