"""What the conformance suite is silent about: trust from the cluster, addresses in it, listeners' filters."""

import asyncio
import json
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from http import HTTPStatus
from string import Template

import pytest

from e2e.cluster.network import NODE_ADDRESS
from e2e.kubectl import RefusedError, apply, eventually, kubectl, read
from e2e.scenarios.backend import HOST, Backend, serving
from e2e.scenarios.background import beside
from e2e.scenarios.release import Release
from e2e.scenarios.shop import EDGE, Shop
from e2e.scenarios.traffic import asked
from tests.handshakes.clients import Place, Security, get
from tests.handshakes.deciders import deciding
from tests.handshakes.manifests import elsewhere, tls_secret
from tests.handshakes.shop import PUBLIC
from tests.handshakes.test_clients import knowing
from tests.pki import CLIENT, Authority, Issued

UNAVAILABLE = 503
DOOR = "door.test"
PASSWORD = "open-sesame"  # noqa: S105  which is no secret
GUARDED = Template("""
apiVersion: v1
kind: Service
metadata: {name: guard}
spec:
  ports: [{name: http, port: 80}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: guard, labels: {kubernetes.io/service-name: guard}}
addressType: IPv4
ports: [{name: http, port: $port}]
endpoints: [{addresses: [$address]}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge}
spec:
  gatewayClassName: legation
  tls:
    frontend:
      default:
        validation:
          caCertificateRefs: [{group: certificates.k8s.io, kind: ClusterTrustBundle, name: $namespace}]
  listeners:
  - name: guarded
    port: 80
    protocol: HTTP
    filters:
      requests:
      - type: ExternalAuth
        externalAuth: {protocol: HTTP, http: {}, backendRef: {name: guard, port: 80}}
  - {name: proving, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: door}]}}
""")
POLICY = "backendtlspolicy"


def trust(bundle: str, authority: Authority) -> None:
    """Have a ClusterTrustBundle hold the certificate of an authority."""
    hold(bundle, authority.pem)


def hold(bundle: str, pem: str) -> None:
    """Have a ClusterTrustBundle hold whatever is given."""
    spec = {"trustBundle": pem}
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
            for pem in ("", "nonsense"):  # of which no API server lets a bundle be made
                with pytest.raises(RefusedError, match="trustBundle"):
                    hold(bundle, pem)
    assert backend.cleartext == []


def test_a_gateway_that_wishes_to_be_reached_within_the_cluster_has_a_cluster_ip_beside_what_else_it_wishes(
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
    assert of_service(shop) == ("ClusterIP", value)
    wishes = json.dumps({"spec": {"addresses": [{}, {"routability": "Cluster"}]}})
    kubectl("patch", "gateway", EDGE, f"--namespace={shop.namespace}", "--type=merge", f"--patch={wishes}")
    eventually(lambda: len(addresses(shop)) == 2)
    outside, within = addresses(shop)
    assert within == {"type": "IPAddress", "value": value, "routability": "Cluster"}
    assert outside["value"] != value
    assert of_service(shop) == ("LoadBalancer", value)


def addresses(shop: Shop) -> list[dict[str, str]]:
    """Read where the Gateway says that it is reached."""
    found: list[dict[str, str]] = read("gateway", EDGE, "--namespace", shop.namespace)["status"]["addresses"]
    return found


def of_service(shop: Shop) -> tuple[str, str]:
    """Read the type and the own address of the Service that is there for the Gateway."""
    [service] = read("services", "--namespace", shop.namespace)["items"]
    return service["spec"]["type"], service["spec"]["clusterIP"]


def enter(address: str, client: Issued | None) -> int | None:
    """Return what a client is answered that shows this; None when it is turned away."""
    with suppress(ssl.SSLError):
        return asyncio.run(get(Place(address, 443), DOOR, Security(knowing(client), DOOR)))
    return None


def passes(address: str, path: str) -> int | None:
    """Return what a request is answered where somebody is asked about it first."""
    return asyncio.run(get(Place(address, 80), DOOR, path=path))


def test_a_gateway_lets_in_whom_its_filter_lets_pass_and_whom_a_cluster_trust_bundle_proves(
    release: Release,  # noqa: ARG001  it runs
    shop: Shop,
) -> None:
    backend, staff = Backend("shop", Authority("right")), Authority("staff")
    known, stranger = staff.issue(eku=[CLIENT]), Authority("stranger").issue(eku=[CLIENT])
    with beside(serving(backend)), beside(deciding(PASSWORD, "", NODE_ADDRESS)) as guard:
        shop.sells(backend)
        shop.leads_to(backend)
        apply(
            shop.namespace,
            json.dumps(elsewhere(tls_secret("door", PUBLIC.issue(dns=[DOOR])), shop.namespace)),
        )
        trust(shop.namespace, staff)
        try:
            values = {"namespace": shop.namespace, "port": guard.port, "address": NODE_ADDRESS}
            apply(shop.namespace, GUARDED.substitute(values))
            address = eventually(shop.address)
            eventually(lambda: passes(address, f"/{PASSWORD}") == HTTPStatus.OK)
            assert passes(address, "/") == HTTPStatus.FORBIDDEN
            eventually(lambda: enter(address, known) == HTTPStatus.OK)
            assert [enter(address, client) for client in (stranger, None)] == [None, None]
        finally:
            forget(shop.namespace)
        eventually(lambda: enter(address, known) is None)
    assert backend.cleartext == []
