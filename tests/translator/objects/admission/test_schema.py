"""What the schemas of the CRDs ask of single fields: one example of each demand."""

import pytest

from tests.translator.objects.admission.test_rules import findings

GATEWAY = {"gatewayClassName": "a", "listeners": [{"name": "a", "port": 80, "protocol": "HTTP"}]}
BACKENDS = {"backendRefs": [{"name": "pay", "port": 443}]}


@pytest.mark.parametrize(
    ("kind", "spec", "path", "message"),
    [
        (
            "Gateway",
            GATEWAY | {"gatewayClassName": "a" * 254},
            "gatewayClassName",
            "at most 253 characters, and has 254",
        ),
        ("Gateway", GATEWAY | {"gatewayClassName": ""}, "gatewayClassName", "must not be empty"),
        ("Gateway", GATEWAY | {"listeners": []}, "listeners", "at least 1 item"),
        (
            "Gateway",
            GATEWAY | {"addresses": [{}] * 17},
            "addresses",
            "at most 16 items, and has 17: split the object",
        ),
        ("Gateway", GATEWAY | {"addresses": [None]}, "addresses[0]", "must be a map of fields, and is empty"),
        (
            "Gateway",
            GATEWAY | {"infrastructure": {"labels": {f"a{n}": "b" for n in range(9)}}},
            "infrastructure.labels",
            "at most 8 entries, and has 9",
        ),
        (
            "HTTPRoute",
            {"rules": [{"retry": {"codes": [500, 500]}}]},
            "rules[0].retry.codes[1]",
            "the same value as [0]",
        ),
        (
            "HTTPRoute",
            {"rules": [{"retry": {"codes": [600]}}]},
            "rules[0].retry.codes[0]",
            "a number from 400 to 599",
        ),
        (
            "HTTPRoute",
            {"rules": [{"filters": [{"type": "RequestRedirect", "requestRedirect": {"statusCode": 300}}]}]},
            "rules[0].filters[0].requestRedirect.statusCode",
            "must be one of 301, 302, 303, 307, 308",
        ),
        (
            "HTTPRoute",
            {"rules": [{"filters": [{"type": "CORS", "cors": {"allowCredentials": "yes"}}]}]},
            "rules[0].filters[0].cors.allowCredentials",
            "must be true or false, and is text",
        ),
        (
            "HTTPRoute",
            {"rules": [{"timeouts": {"request": "1d"}}]},
            "rules[0].timeouts.request",
            "must be a duration",
        ),
        ("TLSRoute", {"rules": [BACKENDS]}, "hostnames", "is required: name the hosts"),
        ("TCPRoute", {"rules": [BACKENDS, BACKENDS]}, "rules", "must have one rule only"),
    ],
)
def test_a_field_that_the_schema_refuses_is_named(
    kind: str, spec: dict[str, object], path: str, message: str
) -> None:
    manifest = {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": "a"},
        "spec": spec,
    }
    [finding] = findings(manifest)
    assert finding.path == f"spec.{path}"
    assert message in finding.message


@pytest.mark.parametrize("version", ["v1", "v1alpha2"])
def test_only_the_old_version_has_routes_of_many_rules_and_without_hosts(version: str) -> None:
    for kind in ("TLSRoute", "TCPRoute", "UDPRoute"):
        api_version = f"gateway.networking.k8s.io/{version}"
        spec = {"rules": [BACKENDS, BACKENDS]}
        manifest = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}, "spec": spec}
        assert bool(findings(manifest)) == (version == "v1")


def test_a_single_timeout_is_enough() -> None:
    manifest = {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "HTTPRoute",
        "metadata": {"name": "a"},
        "spec": {"rules": [{"timeouts": {"request": "1s"}}, {"timeouts": {"backendRequest": "1s"}}]},
    }
    assert findings(manifest) == ()


def test_a_null_is_an_absent_field() -> None:
    manifest = {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "HTTPRoute",
        "metadata": {"name": "a", "creationTimestamp": None, "labels": None},
        "spec": {"hostnames": None, "rules": [{"matches": None, "name": None}]},
        "status": None,
    }
    assert findings(manifest) == ()
