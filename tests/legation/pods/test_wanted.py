"""For which XBackends a Service is made, and which."""

from string import Template

from legation.folder import Folder, read
from legation.pods.wanted import LABEL, Pods, manifest
from legation.workbench import Workbench
from tests.legation.manifest_texts import LEGATION_CLASS, gateway, together
from translator.names import Name

X_BACKEND = Template("""\
apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XBackend
metadata: {name: $name, namespace: shop, uid: "$uid"}
spec: {type: EndpointSelector, port: {number: 8080}, endpointSelector: {matchLabels: {app: pay, tier: back}}}
""")
BY_NAME = """\
apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XBackend
metadata: {name: named, namespace: shop, uid: "7"}
spec: {type: ExternalHostname, port: {number: 443}, externalHostname: {hostname: pay.example}}
"""
ROUTE = """\
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: pay, namespace: shop}
spec:
  parentRefs: [{name: edge, namespace: infra}]
  rules: [{backendRefs: [{group: gateway.networking.x-k8s.io, kind: XBackend, name: pay}]}]
"""
API = "gateway.networking.x-k8s.io/v1alpha1"
LABELS = (("app", "pay"), ("tier", "back"))


def wanted(*texts: str) -> dict[str, Pods | None]:
    """Return what is wanted in a world of these manifests, by the name of the XBackend."""
    folder = Folder()
    folder.take("a.yaml", read(together(LEGATION_CLASS, gateway("edge", 80), *texts), "a.yaml"))
    return {name.name: pods for name, pods in Workbench().work(folder.changes()).pods.items()}


def test_pods_are_to_be_found_where_a_gateway_leads_to_them_and_nothing_is_touched_elsewhere() -> None:
    pay = X_BACKEND.substitute(name="pay", uid="1")
    found = wanted(pay, X_BACKEND.substitute(name="alone", uid="2"), BY_NAME, ROUTE)
    assert found == {
        "pay": Pods(Name("shop", "pay"), "1", API, LABELS, 8080),
        "alone": None,
        "named": Pods(Name("shop", "named"), "7", API),
    }


def test_the_service_is_headless_belongs_to_the_xbackend_and_has_no_name_that_one_could_foresee() -> None:
    pods, other = (Pods(Name("shop", "pay"), uid, API, LABELS, 8080) for uid in ("1", "2"))
    made = manifest(pods)
    assert made["spec"] == {
        "clusterIP": "None",
        "selector": dict(LABELS),
        "ports": [{"name": "backend", "port": 8080, "targetPort": 8080}],
    }
    assert made["metadata"] == {
        "name": pods.service.name,
        "namespace": "shop",
        "labels": {"app.kubernetes.io/managed-by": "legation", LABEL: "pay"},
        "ownerReferences": [
            {"apiVersion": API, "kind": "XBackend", "name": "pay", "uid": "1", "controller": True}
        ],
    }
    assert pods.service.name.startswith("legation-pay-")
    assert pods.service != other.service


def test_the_name_of_the_service_is_one_however_the_xbackend_is_called() -> None:
    for name in ("1." * 100 + "a", "a" * 253, "1"):
        service = Pods(Name("shop", name), "1", "v1").service.name
        assert len(service) <= 63
        assert "." not in service
