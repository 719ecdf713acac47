"""What Kubernetes itself asks of names, Services, EndpointSlices, ConfigMaps, Secrets and bundles."""

import copy

import pytest

from translator.objects.admission.admit import admit
from translator.objects.admission.finding import Finding
from translator.objects.kinds import find_kind

OBJECTS: dict[str, dict[str, object]] = {
    "Service": {"apiVersion": "v1", "spec": {"ports": [{"port": 80}]}},
    "EndpointSlice": {"apiVersion": "discovery.k8s.io/v1", "addressType": "IPv4"},
    "ConfigMap": {"apiVersion": "v1"},
    "Secret": {"apiVersion": "v1"},
    "Namespace": {"apiVersion": "v1"},
    "ClusterTrustBundle": {
        "apiVersion": "certificates.k8s.io/v1beta1",
        "spec": {"trustBundle": "-----BEGIN"},
    },
    "Gateway": {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "spec": {"gatewayClassName": "a", "listeners": [{"name": "a", "port": 80, "protocol": "HTTP"}]},
    },
}

REFUSED = [
    ("Gateway", {"metadata": {"name": "A"}}, "metadata.name"),
    ("Gateway", {"metadata": {"name": "a" * 254}}, "metadata.name"),
    ("Gateway", {"metadata": {}}, "metadata.name"),
    ("Gateway", {"metadata": {"name": "a", "namespace": "a.b"}}, "metadata.namespace"),
    ("Gateway", {"metadata": {"name": "a", "labels": {"a/b/c": ""}}}, "metadata.labels[a/b/c]"),
    ("Gateway", {"metadata": {"name": "a", "labels": {"a": "-"}}}, "metadata.labels[a]"),
    ("Gateway", {"metadata": {"name": "a", "labels": {"a": "a" * 64}}}, "metadata.labels[a]"),
    (
        "Gateway",
        {"metadata": {"name": "a", "labels": {f"{'a' * 254}/a": ""}}},
        f"metadata.labels[{'a' * 60}...]",
    ),
    ("Gateway", {"metadata": {"name": "a", "annotations": {"-": ""}}}, "metadata.annotations[-]"),
    ("Gateway", {"metadata": {"name": "a", "annotations": {"a": "a" * 2**18}}}, "metadata.annotations"),
    ("Gateway", {"metadata": {"name": "a", "generation": -1}}, "metadata.generation"),
    ("Gateway", {"metadata": {"name": "a", "creationTimestamp": "now"}}, "metadata.creationTimestamp"),
    ("Gateway", {"metadata": 7}, "metadata"),
    ("Namespace", {"metadata": {"name": "a.b"}}, "metadata.name"),
    ("Service", {"metadata": {"name": "1a"}}, "metadata.name"),
    ("Service", {"spec": {}}, "spec.ports"),
    ("Service", {"spec": {"type": "Cluster", "ports": [{"port": 80}]}}, "spec.type"),
    ("Service", {"spec": {"ports": [{"port": 0}]}}, "spec.ports[0].port"),
    ("Service", {"spec": {"ports": [{"port": 80, "protocol": "QUIC"}]}}, "spec.ports[0].protocol"),
    ("Service", {"spec": {"ports": [{"port": 80, "name": "a"}, {"port": 81}]}}, "spec.ports[1].name"),
    (
        "Service",
        {"spec": {"ports": [{"port": 80, "name": "a"}, {"port": 81, "name": "a"}]}},
        "spec.ports[1].name",
    ),
    ("Service", {"spec": {"ports": [{"port": 80, "name": "a"}, {"port": 80, "name": "b"}]}}, "spec.ports[1]"),
    ("Service", {"spec": {"ports": [{"port": 80, "name": "A"}]}}, "spec.ports[0].name"),
    ("Service", {"spec": {"ports": [{"port": 80, "appProtocol": "a b"}]}}, "spec.ports[0].appProtocol"),
    ("Service", {"spec": {"ports": [{"port": 80, "targetPort": 0}]}}, "spec.ports[0].targetPort"),
    ("Service", {"spec": {"ports": [{"port": 80, "targetPort": "80"}]}}, "spec.ports[0].targetPort"),
    ("Service", {"spec": {"ports": [{"port": 80, "targetPort": True}]}}, "spec.ports[0].targetPort"),
    ("Service", {"spec": {"ports": [{"port": 80, "targetPort": "a" * 16}]}}, "spec.ports[0].targetPort"),
    ("Service", {"spec": {"ports": [{"port": 80, "nodePort": 30000}]}}, "spec.ports[0].nodePort"),
    ("Service", {"spec": {"type": "ExternalName"}}, "spec.externalName"),
    (
        "Service",
        {"spec": {"type": "ExternalName", "externalName": "a", "clusterIP": "None"}},
        "spec.clusterIP",
    ),
    ("Service", {"spec": {"clusterIP": "none", "ports": [{"port": 80}]}}, "spec.clusterIP"),
    ("Service", {"spec": {"clusterIP": "None", "clusterIPs": ["10.0.0.1"]}}, "spec.clusterIP"),
    ("Service", {"spec": {"clusterIP": "None", "clusterIPs": ["None", "a"]}}, "spec.clusterIPs[1]"),
    ("Service", {"spec": {"clusterIP": "None", "clusterIPs": ["None"] * 3}}, "spec.clusterIPs"),
    ("Service", {"spec": {"clusterIP": "None", "type": "NodePort"}}, "spec.clusterIP"),
    ("Service", {"spec": {"clusterIP": "None", "ipFamilies": ["IPv4", "IPv4"]}}, "spec.ipFamilies"),
    ("Service", {"spec": {"clusterIP": "None", "selectors": {}}}, "spec.selectors"),
    ("EndpointSlice", {"addressType": "IP"}, "addressType"),
    ("EndpointSlice", {"endpoints": [{}]}, "endpoints[0].addresses"),
    ("EndpointSlice", {"endpoints": [{"addresses": []}]}, "endpoints[0].addresses"),
    ("EndpointSlice", {"endpoints": [{"addresses": ["10.0.0.256"]}]}, "endpoints[0].addresses[0]"),
    ("EndpointSlice", {"endpoints": [{"addresses": ["::1"]}]}, "endpoints[0].addresses[0]"),
    ("EndpointSlice", {"endpoints": [{"addresses": ["0.0.0.0"]}]}, "endpoints[0].addresses[0]"),  # noqa: S104  refused
    ("EndpointSlice", {"endpoints": [{"addresses": ["224.0.0.1"]}]}, "endpoints[0].addresses[0]"),
    ("EndpointSlice", {"endpoints": [{"addresses": ["169.254.0.1"]}]}, "endpoints[0].addresses[0]"),
    (
        "EndpointSlice",
        {"addressType": "FQDN", "endpoints": [{"addresses": ["a"]}]},
        "endpoints[0].addresses[0]",
    ),
    ("EndpointSlice", {"ports": [{"name": "a"}, {"name": "a"}]}, "ports[1].name"),
    ("EndpointSlice", {"ports": [{"name": "A"}]}, "ports[0].name"),
    ("EndpointSlice", {"ports": [{"appProtocol": "/"}]}, "ports[0].appProtocol"),
    ("ConfigMap", {"data": {"a b": ""}}, "data[a b]"),
    ("ConfigMap", {"data": {"..": ""}}, "data[..]"),
    ("ConfigMap", {"data": {"a": 7}}, "data[a]"),
    ("ConfigMap", {"data": ["a"]}, "data"),
    ("ConfigMap", {"data": {"a": ""}, "binaryData": {"a": ""}}, "binaryData[a]"),
    ("ConfigMap", {"binaryData": {"a": "?"}}, "binaryData[a]"),
    ("ConfigMap", {"data": {"a": "a" * 2**20, "b": "b"}}, "data"),
    ("Secret", {"data": {"a": "eA="}}, "data[a]"),
    ("Secret", {"stringData": {"/": "a"}}, "stringData[/]"),
    ("Secret", {"type": "kubernetes.io/tls", "data": {"tls.crt": ""}}, "data[tls.key]"),
    ("Secret", {"immutable": True, "values": {}}, "values"),
    ("ClusterTrustBundle", {"metadata": {"name": "a:b"}}, "metadata.name"),
    ("ClusterTrustBundle", {"spec": {"trustBundle": "a", "signerName": "a.example/b"}}, "metadata.name"),
    ("ClusterTrustBundle", {"spec": {"trustBundle": ""}}, "spec.trustBundle"),
]

ACCEPTED = [
    (
        "Gateway",
        {
            "metadata": {
                "name": "a.b-1",
                "labels": {"example.com/A_b": "x.Y_z"},
                "annotations": {"A/b": "c d"},
            }
        },
    ),
    ("Namespace", {"metadata": {"name": "a-1"}, "spec": {"finalizers": ["kubernetes"]}}),
    (
        "Service",
        {"spec": {"ports": [{"port": 80, "name": "a", "targetPort": "http"}, {"port": 81, "name": "b"}]}},
    ),
    (
        "Service",
        {"spec": {"ports": [{"port": 53, "name": "a"}, {"port": 53, "protocol": "UDP", "name": "b"}]}},
    ),
    ("Service", {"spec": {"clusterIP": "None", "sessionAffinity": "None", "selector": {"app": "a"}}}),
    (
        "Service",
        {"spec": {"type": "NodePort", "ports": [{"port": 80, "targetPort": 8080, "nodePort": 30000}]}},
    ),
    ("Service", {"spec": {"type": "ExternalName", "externalName": "a.example."}}),
    (
        "Service",
        {"spec": {"ports": [{"port": 443, "appProtocol": "kubernetes.io/wss"}], "clusterIP": "10.0.0.1"}},
    ),
    (
        "EndpointSlice",
        {"endpoints": [{"addresses": ["127.0.0.1"], "targetRef": {"kind": "Pod"}, "zone": "a"}]},
    ),
    ("EndpointSlice", {"endpoints": None, "ports": None}),
    ("EndpointSlice", {"addressType": "IPv6", "endpoints": [{"addresses": ["::1", "2001:db8::1"]}]}),
    ("EndpointSlice", {"addressType": "FQDN", "endpoints": [{"addresses": ["a.example"]}]}),
    ("EndpointSlice", {"ports": [{"name": "a", "port": 80}, {"name": ""}]}),
    ("ConfigMap", {"data": {"ca.crt": "text"}, "binaryData": {"b": "eA=="}, "immutable": True}),
    ("Secret", {"type": "kubernetes.io/tls", "data": {"tls.crt": "eA==\n"}, "stringData": {"tls.key": "x"}}),
    (
        "ClusterTrustBundle",
        {"metadata": {"name": "a.example:b:c"}, "spec": {"trustBundle": "a", "signerName": "a.example/b"}},
    ),
]


def faults(kind: str, change: dict[str, object]) -> tuple[Finding, ...]:
    """What is found wrong with an object that has other fields than usual."""
    manifest = {"kind": kind, "metadata": {"name": "a"}, **copy.deepcopy(OBJECTS[kind]), **change}
    info = find_kind(str(manifest["apiVersion"]), kind)
    assert info
    answer = admit(manifest, info)
    return answer if isinstance(answer, tuple) else ()


def paths(kind: str, change: dict[str, object]) -> set[str]:
    """Where fault is found with it."""
    return {finding.path for finding in faults(kind, change)}


@pytest.mark.parametrize(("kind", "change", "path"), REFUSED)
def test_what_kubernetes_refuses_is_refused(kind: str, change: dict[str, object], path: str) -> None:
    assert paths(kind, change) == {path}


@pytest.mark.parametrize(("kind", "change"), ACCEPTED)
def test_what_kubernetes_accepts_is_accepted(kind: str, change: dict[str, object]) -> None:
    assert paths(kind, change) == set()


@pytest.mark.parametrize(
    ("kind", "metadata", "told"),
    [
        ("Gateway", {"name": "a", "namespace": "a" * 64}, "at most 63 characters, and has 64"),
        ("Gateway", {"name": "a" * 254}, "at most 253 characters, and has 254"),
        ("Service", {"name": "a" * 65}, "at most 63 characters, and has 65"),
        ("Service", {"name": "a" * 62 + "_"}, "a DNS label that begins with a letter"),
    ],
)
def test_a_name_that_is_too_long_is_told_its_length_and_not_what_letters_are_good(
    kind: str, metadata: dict[str, str], told: str
) -> None:
    [found] = faults(kind, {"metadata": metadata})
    assert told in found.message
