"""GatewayParameters in files are held to what their CRD asks; e2e asks an API server the same."""

import pytest

from translator.objects.admission.admit import admit
from translator.objects.gateway_parameters import GatewayParameters
from translator.objects.kinds import find_kind


def admitted(spec: dict[str, object]) -> object:
    info = find_kind("legation.dev/v1alpha1", "GatewayParameters")
    assert info is not None
    fields = {
        "apiVersion": "legation.dev/v1alpha1",
        "kind": info.kind,
        "metadata": {"name": "a"},
        "spec": spec,
    }
    return admit(fields, info)


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"proxies": "External"},
        {"envoy": {"resources": {"limits": {"cpu": 1, "memory": "1Gi"}}}},
        {"envoy": {"resources": {"requests": {"cpu": "1.5", "memory": "1e9", "example.com/gpu": ".5k"}}}},
        {"envoy": {"autoscaling": {"maxReplicas": 1}}},
        {"backendTLS": {"insecureVerification": "Permit", "namespaceSelector": {}}},
        {"clients": {"requestRate": {"requests": 5, "per": "50ms", "burst": 5}}},
        {"ports": [{"port": 443, "clients": {}}, {"port": 80, "clients": {"proxyProtocol": "Required"}}]},
        {"listeners": [{"sectionName": "shop", "clients": {"requestBody": {"maxKilobytes": 4_194_303}}}]},
    ],
)
def test_what_makes_sense_is_taken(spec: dict[str, object]) -> None:
    assert isinstance(admitted(spec), GatewayParameters)


@pytest.mark.parametrize(
    ("spec", "path", "why"),
    [
        ({"envoy": {"replicas": 2, "autoscaling": {"maxReplicas": 3}}}, "spec.envoy", "set one of them"),
        (
            {"envoy": {"autoscaling": {"minReplicas": 4, "maxReplicas": 3}}},
            "spec.envoy.autoscaling",
            "must not be above maxReplicas",
        ),
        ({"envoy": {"image": "two words"}}, "spec.envoy.image", "without blanks"),
        *(
            (
                {"envoy": {"resources": {"requests": {"cpu": amount}}}},
                "spec.envoy.resources.requests[cpu]",
                why,
            )
            for amount, why in (
                ("lots", 'an amount, such as 2, 500m or 64Mi, and is "lots"'),
                ("2GB", "an amount"),
                ("-1", "an amount"),
                ("", "empty"),
                (0.5, "quotes"),
            )
        ),
        (
            {"envoy": {"resources": {"limits": {"memory": "2 Gi"}}}},
            "spec.envoy.resources.limits[memory]",
            "64Mi",
        ),
        ({"envoy": {"replicas": 0}}, "spec.envoy.replicas", "1"),
        ({"proxies": "External", "envoy": {"replicas": 2}}, "spec", "nothing reads them"),
        ({"proxies": "External", "service": {"type": "NodePort"}}, "spec", "nothing reads them"),
        (
            {"clients": {"requestRate": {"requests": 5, "burst": 4}}},
            "spec.clients.requestRate",
            "burst must not be below",
        ),
        (
            {"ports": [{"port": 80, "clients": {"requestRate": {"requests": 5, "per": "49ms"}}}]},
            "spec.ports[0].clients.requestRate",
            "50ms or more",
        ),
        ({"clients": {"timeouts": {"idle": "soon"}}}, "spec.clients.timeouts.idle", "a duration"),
        ({"clients": {"proxyProtocol": "V1"}}, "spec.clients.proxyProtocol", "Required"),
        (
            {"ports": [{"port": 80, "clients": {}}, {"port": 80, "clients": {}}]},
            "spec.ports[1]",
            "port",
        ),
        (
            {"listeners": [{"sectionName": "a", "clients": {"proxyProtocol": "Off"}}]},
            "spec.listeners[0]",
            "in ports",
        ),
        ({"clients": {"requestBody": {"maxKilobytes": 0}}}, "spec.clients.requestBody.maxKilobytes", "1"),
        ({"backendTLS": {"namespaceSelector": {}}}, "spec.backendTLS", "means nothing without it"),
    ],
)
def test_what_makes_none_is_refused_at_its_field(spec: dict[str, object], path: str, why: str) -> None:
    findings = admitted(spec)
    assert isinstance(findings, tuple)
    [finding] = findings
    assert finding.path == path
    assert why in finding.message
