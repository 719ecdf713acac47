"""References that lead back to where they began, as a tenant may write them."""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from tests.poison.pems import thing
from tests.poison.spells import GATEWAYS, TENANT

Json = dict[str, Any]

V1, X = f"{GATEWAYS}/v1", "gateway.networking.x-k8s.io/v1alpha1"
PARENTS = ({"name": "shared", "namespace": "infra"}, {"name": "a"})


def leading(*backends: Json) -> Json:
    """Write a route of the tenant."""
    return thing(V1, "HTTPRoute", "r", parentRefs=[*PARENTS], rules=[{"backendRefs": [*backends]}])


MYSELF = thing(
    "v1",
    "Service",
    "me",
    type="ExternalName",
    externalName=f"me.{TENANT}.svc.cluster.local",
    ports=[{"port": 80}],
)
#: What is written, and what somebody is told of it.
CIRCLES: Mapping[str, tuple[list[Json], str]] = MappingProxyType(
    {
        "a Service that is called by its own name": (
            [
                MYSELF,
                leading({"name": "me", "port": 80}),
            ],
            "refer to the Service itself",
        ),
        "an XBackend that is called by a Service's name": (
            [
                thing(
                    X,
                    "XBackend",
                    "me",
                    type="ExternalHostname",
                    port={"number": 80},
                    externalHostname={"hostname": "localhost"},
                ),
                leading({"group": "gateway.networking.x-k8s.io", "kind": "XBackend", "name": "me"}),
            ],
            "XBackend evil/me",
        ),
        "a route that leads to itself and to its Gateway": (
            [
                leading(
                    {"group": GATEWAYS, "kind": "HTTPRoute", "name": "r", "port": 80},
                    {"group": GATEWAYS, "kind": "Gateway", "name": "a", "port": 80},
                ),
            ],
            "HTTPRoute evil/r is not a Service",
        ),
        "two ListenerSets that are each the other's": (
            [
                thing(
                    V1,
                    "ListenerSet",
                    name,
                    parentRef={"group": GATEWAYS, "kind": "ListenerSet", "name": other},
                    listeners=[{"name": "a", "port": 80, "protocol": "HTTP"}],
                )
                for name, other in (("one", "two"), ("two", "one"))
            ],
            "",
        ),
        "a Gateway that shows its own ListenerSet": (
            [
                thing(
                    V1,
                    "ListenerSet",
                    "one",
                    parentRef={"name": "two"},
                    listeners=[
                        {
                            "name": "a",
                            "port": 443,
                            "protocol": "HTTPS",
                            "tls": {
                                "certificateRefs": [{"group": GATEWAYS, "kind": "Gateway", "name": "two"}]
                            },
                        }
                    ],
                ),
                thing(
                    V1,
                    "Gateway",
                    "two",
                    gatewayClassName="legation",
                    allowedListeners={"namespaces": {"from": "All"}},
                    listeners=[
                        {
                            "name": "a",
                            "port": 443,
                            "protocol": "HTTPS",
                            "tls": {
                                "certificateRefs": [{"group": GATEWAYS, "kind": "ListenerSet", "name": "one"}]
                            },
                        }
                    ],
                ),
            ],
            "ListenerSet evil/one is no Secret",
        ),
        "parameters whose collector is behind their own Gateway": (
            [
                thing(
                    "legation.dev/v1alpha1",
                    "GatewayParameters",
                    "p",
                    accessLogs={"collector": {"name": "me", "port": 80}},
                    tracing={"collector": {"name": "me", "port": 80}},
                ),
                MYSELF,
                thing(
                    V1,
                    "Gateway",
                    "two",
                    gatewayClassName="legation",
                    infrastructure={
                        "parametersRef": {"group": "legation.dev", "kind": "GatewayParameters", "name": "p"}
                    },
                    listeners=[{"name": "a", "port": 80, "protocol": "HTTP"}],
                ),
            ],
            "refer to the Service itself",
        ),
        "a policy that targets itself": (
            [
                thing(
                    V1,
                    "BackendTLSPolicy",
                    "p",
                    targetRefs=[{"group": GATEWAYS, "kind": "BackendTLSPolicy", "name": "p"}],
                    validation={
                        "hostname": "a.test",
                        "caCertificateRefs": [{"group": GATEWAYS, "kind": "BackendTLSPolicy", "name": "p"}],
                    },
                ),
            ],
            "cannot be targeted",
        ),
    }
)


def all_circles() -> list[Json]:
    """Write every circle, each with names of its own."""
    written = (each for each, _ in CIRCLES.values())
    return [renamed for number, each in enumerate(written) for renamed in _apart(each, number)]


def _apart(manifests: list[Json], number: int) -> list[Json]:
    text = json.dumps(manifests)
    for name in {each["metadata"]["name"] for each in manifests}:
        text = text.replace(f'"{name}"', f'"{name}-{number}"').replace(f'"{name}.', f'"{name}-{number}.')
    apart: list[Json] = json.loads(text)
    return apart
