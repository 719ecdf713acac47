"""What we have an API server store is what it takes, held to the letter."""

import json
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from e2e.cluster.place import PROJECT
from e2e.kubectl import apply, kubectl, wait_for
from legation.addresses import HostPort
from legation.channel.authority import proxy_of
from legation.channel.identity_secrets import authority_secret, proxy_secret
from legation.channel.rotation import renewed_leaf, renewed_roots
from legation.permissions import of_cluster, of_namespaces, of_own_namespace, role
from legation.proxies.managed import Environment, manifests
from legation.proxies.wanted import Wanted
from translator.names import Name
from translator.objects.gateway import Gateway
from translator.objects.gateway_parameters import GatewayParametersSpec
from translator.objects.kinds import name_of
from translator.rules.managed import settle
from translator.rules.ports import Bound

CRD = PROJECT / "deploy" / "helm" / "legation" / "crds" / "legation.dev_gatewayparameters.yaml"
SERVER = "legation-xds.legation-system.svc"
STRICT = ("apply", "--server-side", "--dry-run=server", "--validate=strict", "--filename=-")
ALL = {
    "envoy": {
        "image": "example.com/envoy:v1",
        "autoscaling": {"maxReplicas": 9, "minReplicas": 2},
        "resources": {"requests": {"cpu": 1, "memory": "64Mi"}, "limits": {"memory": "1Gi"}},
        "concurrency": 4,
        "logLevel": "debug",
        "drainSeconds": 600,
    },
    "service": {"type": "ClusterIP"},
    "backendTLS": {"insecureVerification": "Permit", "namespaceSelector": {"matchLabels": {"env": "dev"}}},
}


@pytest.fixture(scope="module")
def parameters(cluster: None) -> Iterator[None]:  # noqa: ARG001  a fixture cannot be marked to use another
    crd = "crd/gatewayparameters.legation.dev"
    was_there = kubectl("get", crd, "--ignore-not-found", "--output=name")
    kubectl("apply", "--server-side", "--validate=strict", f"--filename={CRD}")
    wait_for("default", "condition=Established", crd)
    yield
    if not was_there:  # else somebody's parameters would go with it
        kubectl("delete", f"--filename={CRD}")


def gateway(namespace: str, name: str) -> Gateway:
    infrastructure = {"labels": {"team": "a"}, "annotations": {"example.com/note": "b"}}
    listeners = [{"name": "http", "port": 80, "protocol": "HTTP"}]
    spec = {"gatewayClassName": "legation", "listeners": listeners, "infrastructure": infrastructure}
    metadata = {"name": name, "namespace": namespace, "uid": "3d9f2b6e-6c6e-4f5e-8a39-7d7f3f8f2b11"}
    return msgspec.convert({"metadata": metadata, "spec": spec}, Gateway)


@pytest.mark.parametrize("spec", [{}, ALL], ids=["defaults", "everything set"])
@pytest.mark.parametrize("name", ["edge", "7." + "long-" * 40 + "name"], ids=["short", "long"])
def test_a_gateways_proxies_are_what_an_api_server_takes(namespace: str, spec: object, name: str) -> None:
    its = gateway(namespace, name)
    bound = Bound(name_of(its), 80), Bound(name_of(its), 53, "UDP")
    said = msgspec.convert(spec, GatewayParametersSpec)
    wanted = Wanted(its, bound, settle(said))
    made = manifests(wanted, Environment(HostPort(SERVER, 18000), SERVER, "example.com/envoy:v1"))
    taken = kubectl(*STRICT, given="\n---\n".join(map(json.dumps, made)))
    assert len(taken.splitlines()) == len(made) == (6 if spec else 4)


def test_identities_are_what_an_api_server_takes(namespace: str) -> None:
    now, its = datetime.now(UTC) - timedelta(minutes=1), gateway(namespace, "edge")
    roots = renewed_roots((), now)
    shown = renewed_leaf(None, proxy_of(name_of(its)), roots, now)
    name = Name(namespace, "legation-authority")
    made = (authority_secret(name, roots), proxy_secret(its, shown, roots))
    taken = kubectl(*STRICT, given="\n---\n".join(map(json.dumps, made)))
    assert len(taken.splitlines()) == 2


def test_roles_are_what_an_api_server_takes_and_honours(namespace: str) -> None:
    roles = (
        role("Role", "legation", (*of_namespaces(managed=True), *of_own_namespace(managed=True))),
        role("ClusterRole", f"legation-{namespace}", of_cluster()),
    )
    taken = kubectl(*STRICT, "--namespace", namespace, given="\n---\n".join(map(json.dumps, roles)))
    assert len(taken.splitlines()) == 2
    apply(namespace, json.dumps(roles[0]))
    account = f"--serviceaccount={namespace}:default"
    kubectl("create", "rolebinding", "legation", "--role=legation", account, "--namespace", namespace)
    assert may(namespace, namespace, "list", "secrets")
    assert may(namespace, namespace, "patch", "deployments.apps")
    assert may(namespace, namespace, "patch", "gateways.gateway.networking.k8s.io", "--subresource=status")
    assert not may(namespace, namespace, "patch", "gateways.gateway.networking.k8s.io")
    assert not may(namespace, "default", "list", "secrets")


def may(account: str, where: str, *what: str) -> bool:
    """Ask whether a namespace's own account may do something somewhere."""
    who = f"--as=system:serviceaccount:{account}:default"
    answered = subprocess.run(  # noqa: S603  no shell
        ["kubectl", "auth", "can-i", *what, who, "--namespace", where],  # noqa: S607  the cluster's own is first
        text=True,
        capture_output=True,
        check=False,
    )
    assert answered.stdout.strip() in {"yes", "no"}, answered.stderr
    return answered.stdout.strip() == "yes"


@pytest.mark.usefixtures("parameters")
@pytest.mark.parametrize("spec", [{}, ALL, {"envoy": {"replicas": 3}}, {"proxies": "External"}])
def test_parameters_that_make_sense_are_taken(namespace: str, spec: object) -> None:
    assert "serverside-applied" in apply_parameters(namespace, spec).stdout


@pytest.mark.usefixtures("parameters")
@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"envoy": {"replicas": 0}}, "greater than or equal to 1"),
        ({"envoy": {"drainSeconds": 0}}, "greater than or equal to 1"),
        ({"envoy": {"replicas": 2, "autoscaling": {"maxReplicas": 3}}}, "set one of them"),
        ({"envoy": {"autoscaling": {"minReplicas": 4, "maxReplicas": 3}}}, "must not be above maxReplicas"),
        ({"envoy": {"image": "two words"}}, "envoy.image"),
        ({"envoy": {"replica": 2}}, "not declared in schema"),
        ({"proxies": "External", "envoy": {"replicas": 2}}, "nothing reads them"),
        ({"backendTLS": {"namespaceSelector": {}}}, "means nothing without it"),
        ({"service": {"type": "ExternalName"}}, "Unsupported value"),
        ({"clients": {"requestBody": {"maxKilobytes": 0}}}, "greater than or equal to 1"),
        ({"listeners": [{"sectionName": "a", "clients": {"proxyProtocol": "Off"}}]}, "in ports"),
    ],
)
def test_parameters_that_make_none_are_refused_with_the_reason(
    namespace: str, spec: object, why: str
) -> None:
    answered = apply_parameters(namespace, spec)
    assert answered.returncode == 1
    assert why in answered.stderr


def apply_parameters(namespace: str, spec: object) -> subprocess.CompletedProcess[str]:
    metadata = {"name": "fast", "namespace": namespace}
    manifest = {
        "apiVersion": "legation.dev/v1alpha1",
        "kind": "GatewayParameters",
        "metadata": metadata,
        "spec": spec,
    }
    return subprocess.run(  # noqa: S603  no shell
        ["kubectl", *STRICT],  # noqa: S607  the one that belongs to the cluster is first on the PATH
        input=json.dumps(manifest),
        text=True,
        capture_output=True,
        check=False,
    )
