"""Small worlds of all kinds, drawn from few names, so that objects meet, miss and contradict each other."""

import json
from base64 import b64encode
from collections.abc import Iterable
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from hypothesis import strategies as st

from tests.golden import objects, pems
from translator.names import Name
from translator.objects.kinds import KINDS, Object, name_of
from translator.rules.gateways import CONTROLLER
from translator.translate import INDEXES
from translator.world import World

WORKING = Path(__file__).with_name("working.yaml")
# What stands more than once is drawn more often: most of what changes begin with is called `shop/a`.
NAMESPACES = ("shop", "shop", "shop", "infra")
NAMES = ("a", "a", "b", "c")
HOSTS = ("*.shop.test", "pay.shop.test", "shop.test", "*.test")
PORTS = (80, 443, 8443)
TYPES = {info.kind: info.type for info in KINDS}
OFTEN = (
    "BackendTLSPolicy",
    "BackendTLSPolicy",
    "ConfigMap",
    "Service",
    "HTTPRoute",
    "TLSRoute",
    "TCPRoute",
    "XBackend",
)
DRAWN = (*KINDS, *(info for info in KINDS for kind in OFTEN if info.kind == kind))

Json = dict[str, Any]


class Put(NamedTuple):
    """One change of a world: an object there, or gone."""

    kind: str
    name: Name
    thing: Object | None

    def into(self, world: World) -> None:
        """Make the change."""
        world.put(TYPES[self.kind], self.name, self.thing)


def encoded(name: str) -> str:
    """Return a certificate or a key as Secrets hold it."""
    return b64encode(pems()[name].encode()).decode()


def pick(*values: object) -> st.SearchStrategy[Any]:
    """Draw one of a few values."""
    return st.sampled_from(values)


def optional(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Json]:
    """Draw some of these fields."""
    return st.fixed_dictionaries({}, optional=fields)


def some(of: st.SearchStrategy[Any], least: int = 0, most: int = 2) -> st.SearchStrategy[list[Any]]:
    """Draw a few, each different."""
    return st.lists(of, min_size=least, max_size=most, unique_by=_canonical)


def _canonical(written: object) -> str:
    """Write a value so that equal ones look equal."""
    return json.dumps(written, sort_keys=True)


def merged(fixed: Json, *drawn: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    """Draw several sets of fields into one object."""
    return st.tuples(*drawn).map(
        lambda parts: {key: value for part in (fixed, *parts) for key, value in part.items()}
    )


namespaces, names, hosts, ports = pick(*NAMESPACES), pick(*NAMES), pick(*HOSTS), pick(*PORTS)
selector = st.fixed_dictionaries(
    {"matchLabels": pick({}, {"team": "x"}, {"kubernetes.io/metadata.name": "shop"})}
)
source = st.one_of(
    pick({"from": "All"}, {"from": "Same"}),
    st.fixed_dictionaries({"from": st.just("Selector"), "selector": selector}),
)

question = st.fixed_dictionaries(
    {
        "type": st.just("ExternalAuth"),
        "externalAuth": st.fixed_dictionaries(
            {
                "protocol": pick("HTTP", "GRPC"),
                "backendRef": st.fixed_dictionaries(
                    {"name": names, "port": ports}, optional={"namespace": namespaces}
                ),
            },
            optional={
                "forwardBody": pick({"maxSize": 0}, {"maxSize": 9}),
                "http": pick({"path": "/a"}, {"path": "/.."}),
            },
        ),
    }
)
listener_filter = st.one_of(
    question,
    pick(
        {"type": "ExtensionRef", "extensionRef": {"group": "other.test", "kind": "Filter", "name": "a"}},
    ),
)
listener = st.fixed_dictionaries(
    {
        "name": names,
        "port": ports,
        "protocol": pick("HTTP", "HTTP", "HTTPS", "TLS", "TCP", "UDP", "other.test/x"),
    },
    optional={
        "hostname": hosts,
        "tls": merged(
            {"mode": "Terminate"},
            optional(
                mode=pick("Terminate", "Passthrough"),
                certificateRefs=some(
                    st.fixed_dictionaries({"name": names}, optional={"namespace": namespaces})
                ),
            ),
        ),
        "allowedRoutes": st.fixed_dictionaries({"namespaces": source}),
        "filters": optional(requests=some(listener_filter, 1)),
    },
)
parent = st.fixed_dictionaries(
    {"name": names, "kind": pick("Gateway", "Gateway", "ListenerSet", "Service")},
    optional={
        "namespace": namespaces,
        "sectionName": names,
        "port": ports,
    },
)
IMPORT = {"group": "multicluster.x-k8s.io", "kind": "ServiceImport"}
X_BACKEND = {"group": "gateway.networking.x-k8s.io", "kind": "XBackend"}
backend = st.one_of(
    st.fixed_dictionaries(
        {"name": names, "port": ports},
        optional={"namespace": namespaces, "kind": pick("Service", "Other"), "weight": pick(0, 1, 3)},
    ),
    merged(X_BACKEND, st.fixed_dictionaries({"name": names}, optional={"weight": pick(0, 1, 3)})),
    merged(IMPORT, st.fixed_dictionaries({"name": names, "port": ports}, optional={"namespace": namespaces})),
)
CHANGES = {"set": [{"name": "x", "value": "1%"}], "remove": ["y"]}
header_filter = pick(
    {"type": "RequestHeaderModifier", "requestHeaderModifier": CHANGES},
    {"type": "RequestHeaderModifier", "requestHeaderModifier": {"remove": [""]}},
    {"type": "ResponseHeaderModifier", "responseHeaderModifier": CHANGES},
)
mirror = st.fixed_dictionaries(
    {
        "type": st.just("RequestMirror"),
        "requestMirror": st.fixed_dictionaries(
            {
                "backendRef": st.fixed_dictionaries(
                    {"name": names, "port": ports}, optional={"namespace": namespaces}
                )
            },
            optional={"percent": pick(0, 50), "fraction": pick({"numerator": 1, "denominator": 3})},
        ),
    }
)
new_path = st.one_of(
    st.fixed_dictionaries({"type": st.just("ReplaceFullPath"), "replaceFullPath": pick("/a%20", "a", "")}),
    st.fixed_dictionaries(
        {"type": st.just("ReplacePrefixMatch"), "replacePrefixMatch": pick("/b", "/", "", "/b?c")}
    ),
)
redirect = st.fixed_dictionaries(
    {
        "type": st.just("RequestRedirect"),
        "requestRedirect": merged(
            {"statusCode": 301},
            optional(scheme=pick("https"), statusCode=pick(302, 303, 307, 308), path=new_path),
        ),
    }
)
rewrite = st.fixed_dictionaries(
    {"type": st.just("URLRewrite"), "urlRewrite": optional(hostname=pick("pay.test"), path=new_path)}
)
cors = st.fixed_dictionaries(
    {
        "type": st.just("CORS"),
        "cors": optional(
            allowOrigins=some(
                pick("https://*.shop.test", "http://*:8080", "https://a.test", "*", "nonsense")
            ),
            allowMethods=some(pick("GET", "*")),
            allowHeaders=some(pick("x-a", "*")),
            exposeHeaders=some(pick("x-b", "*")),
            allowCredentials=pick(True, False),  # noqa: FBT003  a value to draw
        ),
    }
)
http_filter = st.one_of(header_filter, redirect, rewrite, cors, mirror, mirror, question)
grpc_filter = st.one_of(header_filter, mirror)
session = st.one_of(
    st.fixed_dictionaries(
        {"cookie": optional(name=names, path=pick("/a", "a;b"), lifetimeType=pick("Permanent"))},
        optional={"absoluteTimeout": pick("0s", "1h")},
    ),
    st.fixed_dictionaries(
        {"type": pick("Header")},
        optional={"header": st.fixed_dictionaries({"name": names}), "absoluteTimeout": pick("1h")},
    ),
)
http_match = optional(
    path=st.fixed_dictionaries(
        {"type": pick("Exact", "PathPrefix", "RegularExpression"), "value": pick("/", "/a", "/a/b")}
    ),
    headers=some(st.fixed_dictionaries({"name": names, "value": names})),
    method=pick("GET"),
)
http_rule = optional(
    matches=some(http_match, 1),
    filters=some(http_filter),
    backendRefs=some(merged({}, backend, optional(filters=some(http_filter)))),
    timeouts=optional(request=pick("0s", "1s", "1h"), backendRequest=pick("0s", "500ms")),
    retry=optional(codes=pick([500, 503]), attempts=pick(0, 3, 2**40), backoff=pick("0s", "1ms")),
    sessionPersistence=session,
)
grpc_match = optional(method=optional(service=names, method=names, type=pick("Exact", "RegularExpression")))
grpc_rule = optional(
    matches=some(grpc_match),
    filters=some(grpc_filter),
    backendRefs=some(merged({}, backend, optional(filters=some(grpc_filter)))),
    sessionPersistence=session,
)
stream_rule = st.fixed_dictionaries({"backendRefs": some(backend, 1)})


def route(rule: st.SearchStrategy[Json], *, hosted: bool = True) -> st.SearchStrategy[Json]:
    """Draw a route's spec."""
    fields = {"parentRefs": some(parent, 1), "rules": some(rule, 1)}
    return st.fixed_dictionaries(
        fields | ({"hostnames": some(hosts)} if hosted else {}),
        optional={"useDefaultGateways": pick("All", "None")},
    )


ca_ref = st.fixed_dictionaries(
    {
        "group": pick("", "", "certificates.k8s.io"),
        "kind": pick("ConfigMap", "Secret", "ClusterTrustBundle"),
        "name": names,
    }
)
client_proof = optional(
    validation=st.fixed_dictionaries(
        {"caCertificateRefs": some(ca_ref, 1)},
        optional={"mode": pick("AllowValidOnly", "AllowInsecureFallback")},
    )
)
gateway_tls = optional(
    backend=optional(
        clientCertificateRef=st.fixed_dictionaries({"name": names}, optional={"namespace": namespaces})
    ),
    frontend=st.fixed_dictionaries(
        {"default": client_proof},
        optional={"perPort": client_proof.map(lambda asked: [{"port": 8443, "tls": asked}])},
    ),
)
validation = st.one_of(
    st.fixed_dictionaries(
        {"hostname": pick("pay.shop.test", "192.0.2.1"), "caCertificateRefs": some(ca_ref, 1)}
    ),
    st.fixed_dictionaries(
        {
            "hostname": pick("pay.shop.test"),
            "wellKnownCACertificates": pick(
                "System",
                "other.test/roots",
                "legation.dev/pinned",
                "legation.dev/insecure-skip-verification",
            ),
        },
        optional={
            "subjectAltNames": pick(
                [{"type": "Hostname", "hostname": "*.shop.test"}],
                [{"type": "URI", "uri": "spiffe://x/y"}],
            )
        },
    ),
)
open_ports = st.lists(
    st.fixed_dictionaries(
        {"port": ports, "name": names, "protocol": pick("TCP", "TCP", "UDP")},
        optional={"appProtocol": pick("https", "http", "kubernetes.io/h2c", "mysql")},
    ),
    min_size=1,
    max_size=3,
    unique_by=(itemgetter("port", "protocol"), itemgetter("name")),
)
SPECS: dict[str, st.SearchStrategy[Json]] = {
    "GatewayClass": st.fixed_dictionaries(
        {"controllerName": pick(*[CONTROLLER] * 5, "other.test/controller")},
        optional={
            "parametersRef": st.fixed_dictionaries(
                {
                    "group": pick("legation.dev"),
                    "kind": pick("GatewayParameters"),
                    "name": names,
                    "namespace": namespaces,
                }
            )
        },
    ),
    "Gateway": st.fixed_dictionaries(
        {
            "gatewayClassName": pick("a", "a", "a", "b"),
            "listeners": some(listener, 1, 4).map(lambda them: list({x["name"]: x for x in them}.values())),
        },
        optional={
            "allowedListeners": st.fixed_dictionaries({"namespaces": source}),
            "addresses": pick([{"value": "198.18.0.9"}], [{"type": "Hostname", "value": "x.test"}]),
            "tls": gateway_tls,
            "defaultScope": pick("All", "None"),
            "infrastructure": st.fixed_dictionaries(
                {
                    "parametersRef": st.fixed_dictionaries(
                        {"group": pick("legation.dev"), "kind": pick("GatewayParameters"), "name": names}
                    )
                }
            ),
        },
    ),
    "ListenerSet": st.fixed_dictionaries(
        {
            "parentRef": st.fixed_dictionaries({"name": names, "namespace": namespaces}),
            "listeners": some(listener, 1, 2).map(lambda them: list({x["name"]: x for x in them}.values())),
        }
    ),
    "HTTPRoute": route(http_rule),
    "GRPCRoute": route(grpc_rule),
    "TLSRoute": route(stream_rule),
    "TCPRoute": route(stream_rule, hosted=False),
    "UDPRoute": route(stream_rule, hosted=False),
    "BackendTLSPolicy": st.fixed_dictionaries(
        {
            "targetRefs": some(
                merged(
                    {"group": "", "kind": "Service"},
                    pick({}, {}, IMPORT),
                    st.fixed_dictionaries({"name": names}, optional={"sectionName": names}),
                ),
                1,
            ),
            "validation": validation,
        },
        optional={
            "options": pick(
                {"legation.dev/min-tls-version": "1.3"},
                {"legation.dev/wrong": "1"},
                {"legation.dev/pinned-certificate-sha256": "ab" * 32},
                {"legation.dev/verification-mode": "SkipHostname"},
            )
        },
    ),
    "XBackend": merged(
        {},
        st.one_of(
            st.fixed_dictionaries(
                {
                    "type": pick("EndpointSelector"),
                    "endpointSelector": pick({"matchLabels": {"app": "a"}}, {"matchLabels": {"app": "b"}}),
                }
            ),
            st.fixed_dictionaries(
                {
                    "type": pick("ExternalHostname"),
                    "externalHostname": pick({"hostname": "pay.example.com"}, {"hostname": "a.localhost"}),
                }
            ),
        ),
        st.fixed_dictionaries({"port": pick({"number": 443}, {"number": 8443})}),
        optional(
            protocol=pick("TCP", "HTTP", "HTTP2", "H2C", "GRPC", "MCP"),
            tls=st.one_of(
                st.fixed_dictionaries({"mode": st.just("ServerOnly"), "validation": validation}),
                st.fixed_dictionaries(
                    {
                        "mode": st.just("ClientAndServer"),
                        "validation": validation,
                        "clientCertificateRef": st.fixed_dictionaries({"name": names}),
                    }
                ),
            ),
        ),
    ),
    "ReferenceGrant": st.fixed_dictionaries(
        {
            "from": some(
                st.fixed_dictionaries(
                    {
                        "group": st.just("gateway.networking.k8s.io"),
                        "kind": pick("HTTPRoute", "Gateway", "TLSRoute"),
                        "namespace": namespaces,
                    }
                ),
                1,
            ),
            "to": some(
                st.fixed_dictionaries(
                    {
                        "group": pick("", "", IMPORT["group"]),
                        "kind": pick("Service", "Secret", IMPORT["kind"]),
                    },
                    optional={"name": names},
                ),
                1,
            ),
        }
    ),
    "ServiceImport": st.fixed_dictionaries({"type": pick("ClusterSetIP", "Headless"), "ports": open_ports}),
    "Service": st.fixed_dictionaries(
        {"ports": open_ports},
        optional={
            "type": pick("ClusterIP", "ExternalName", "ExternalName"),
            "externalName": pick("pay.example.com", "pay.example.com", "admin.localhost", ""),
            "selector": pick({"app": "a"}, {"app": "b"}),
        },
    ),
    "GatewayParameters": st.fixed_dictionaries(
        {},
        optional={
            "externalNames": pick("Permit", "Permit", "Forbid"),
            "clients": pick({"maxConnections": 9}, {"proxyProtocol": "Required"}, {"http3": "On"}),
            "ports": pick([{"port": 443, "clients": {"requestRate": {"requests": 5}}}]),
            "backendTLS": pick(
                {"insecureVerification": "Permit"},
                {"insecureVerification": "Permit", "namespaceSelector": {"matchLabels": {"team": "x"}}},
                {"insecureVerification": "Forbid"},
            ),
        },
    ),
}


def _body(kind: str) -> st.SearchStrategy[Json]:
    """Draw what is in an object besides its metadata."""
    match kind:
        case "Secret":
            cert, key, pem = encoded("edge"), encoded("edge.key"), encoded("roots")
            return st.fixed_dictionaries(
                {
                    "type": pick("kubernetes.io/tls", "Opaque"),
                    "data": pick({"tls.crt": cert, "tls.key": key}, {"ca.crt": pem}, {"tls.crt": key}),
                }
            )
        case "ConfigMap":
            return pick({"data": {"ca.crt": pems()["roots"]}}, {"data": {"ca.crt": "nonsense"}}, {"data": {}})
        case "ClusterTrustBundle":
            return pick({"spec": {"trustBundle": pems()["roots"]}}, {"spec": {"trustBundle": "nonsense"}})
        case "Namespace":
            return st.just({})
        case "EndpointSlice":
            return st.fixed_dictionaries(
                {
                    "addressType": st.just("IPv4"),
                    "endpoints": some(
                        st.fixed_dictionaries(
                            {"addresses": pick(["198.18.0.1"], ["198.18.0.2"])},
                            optional={"conditions": pick({"ready": False}, {"ready": True})},
                        )
                    ),
                    "ports": some(
                        st.fixed_dictionaries({"name": names, "port": ports, "protocol": pick("TCP", "UDP")})
                    ),
                }
            )
        case _:
            return SPECS[kind].map(lambda spec: {"spec": spec})


@st.composite
def puts(draw: st.DrawFn) -> Put:
    """Draw one change."""
    info = draw(st.sampled_from(DRAWN))
    name = Name(
        draw(namespaces) if info.namespaced else "", draw(names if info.kind != "Namespace" else namespaces)
    )
    if draw(st.integers(0, 9)) == 7:  # a number in the middle: hypothesis likes the ends
        return Put(info.kind, name, None)
    labels = draw(
        pick(
            {},
            {"team": "x"},
            {"kubernetes.io/service-name": "a"},
            {"kubernetes.io/service-name": "b"},
            {"multicluster.kubernetes.io/service-name": "a"},
        )
    )
    metadata = {
        "name": name.name,
        "namespace": name.namespace,
        "labels": labels,
        "generation": draw(st.integers(1, 3)),
    }
    if born := draw(pick(None, "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z")):
        metadata["creationTimestamp"] = born
    if info.kind == "XBackend":
        metadata["annotations"] = draw(pick({}, {}, {"legation.dev/pinned-certificate-sha256": "ab" * 32}))
    written = {"metadata": metadata} | draw(_body(info.kind))
    thing: Object = msgspec.json.decode(msgspec.json.encode(written), type=info.type)
    return Put(info.kind, name, thing)


def thing(kind: str, namespace: str, name: str, **fields: Any) -> Put:  # noqa: ANN401  any JSON
    """Make one object as a user writes it."""
    written = {"metadata": {"name": name, "namespace": namespace, **fields.pop("metadata", {})}, **fields}
    return Put(
        kind, Name(namespace, name), msgspec.json.decode(msgspec.json.encode(written), type=TYPES[kind])
    )


@cache
def working() -> tuple[Put, ...]:
    """Make a world in which everything is served; changes are drawn from the same names, so they hit it."""
    return tuple(Put(type(each).__name__, name_of(each), each) for each in objects(WORKING))


def after(changes: Iterable[Put]) -> World:
    """Make the world in which everything is served, and change it."""
    world = World(INDEXES)
    for change in (*working(), *changes):
        change.into(world)
    return world


def worlds() -> st.SearchStrategy[World]:
    """Draw worlds some changes away from the one in which everything is served."""
    return st.lists(puts(), min_size=4, max_size=24).map(after)
