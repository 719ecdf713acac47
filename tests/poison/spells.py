"""Words that hostile and careless people write, and references that mostly lead somewhere."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

TENANT = "evil"
GATEWAYS = "gateway.networking.k8s.io"

NAMES = ("a", "b", "door", "shared", "roots", "quiet", "a+b", "a:80", "quiet/a:443+a", "legation/refused")
PATTERNS = (
    "(",
    "[z-a]",
    "a{1001}",
    "((a{30}){30}){30}",
    "(a|b|c|d|e|f|g){20}",
    r"\pL{90}",
    r"\C",
    r"(?P<n>a)\1",
    "(?=a)",
    "[[:alpha:]]+",
    "^$",
    ".*" * 40,
    "(" * 500 + ")" * 500,
    "a" * 1024,
)
PATHS = ("/", "//", "/a", "/a/", "/a//b", "/a/../b", "/%00", "/%2e%2e", "/a?b", "/a#b", "*", "/" + "a" * 1023)
LETTERS = (
    "\0",
    "\n",
    "\r\nx: y",
    "\u202eevil",
    "e\u0301",
    "\U0001f4a9",
    "\ufeff",
    "%",
    "%REQ(x)%",
    "%%",
    "${x}",
    "{a}",
    "a" * 253,
)
HOSTS = (
    "a.test",
    "*.a.test",
    "*.test",
    "xn--nxasmq6b.test",
    "*.xn--nxasmq6b",
    "a." * 126 + "a",
    "*." + "a." * 125 + "a",
    "a.test.",
    "localhost",
    "1.2.3.4.test",
    "127.0.0.1",
    "kubernetes.default.svc.cluster.local",
)
HEADERS = (
    "host",
    "Host",
    ":authority",
    "x-a",
    "X-A",
    "content-length",
    "connection",
    "x-envoy-a",
    "grpc-timeout",
    "!",
)
TIMES = ("0s", "0h0m0s", "99999h", "1ms")
SPELLS = (*NAMES, *PATTERNS, *PATHS, *LETTERS, *HOSTS, *HEADERS, *TIMES, "https", "NULL", "")

#: What a field of a name mostly says, whatever object it is in.
BY_FIELD: Mapping[str, tuple[str | int, ...]] = MappingProxyType({
    "namespace": (TENANT, TENANT, TENANT, "infra", "quiet"),
    "name": NAMES,
    "kind": ("Service", "Gateway", "ListenerSet", "HTTPRoute", "Secret", "ConfigMap", "ServiceImport"),
    "group": ("", GATEWAYS, "multicluster.x-k8s.io", "gateway.networking.x-k8s.io"),
    "port": (80, 443, 8443),
    "protocol": ("HTTP", "HTTPS", "TLS", "TCP", "UDP"),
    "gatewayClassName": ("legation",),
    "wellKnownCACertificates": ("System", "legation.dev/pinned", "legation.dev/insecure-skip-verification"),
})  # fmt: skip

_SHARED = {"group": GATEWAYS, "kind": "Gateway", "name": "shared", "namespace": "infra"}
_OWN = {"group": GATEWAYS, "kind": "Gateway", "name": "a", "namespace": TENANT}
_SET = {"group": GATEWAYS, "kind": "ListenerSet", "name": "a", "namespace": TENANT}
_SERVICE = {"group": "", "kind": "Service", "name": "a", "namespace": TENANT}
_FOREIGN = {"group": "", "kind": "Service", "name": "a", "namespace": "quiet", "port": 443}
_X_BACKEND = {"group": "gateway.networking.x-k8s.io", "kind": "XBackend", "name": "a"}
_SECRET = {"group": "", "kind": "Secret", "name": "edge", "namespace": TENANT}

#: References that lead somewhere, by the field that holds them.
LEADING: Mapping[str, tuple[dict[str, Any], ...]] = MappingProxyType({
    "parentRefs": (_SHARED, _OWN, _SET),
    "parentRef": (_SHARED, _OWN),
    "backendRefs": (_SERVICE | {"port": 80}, _SERVICE | {"port": 443}, _FOREIGN, _X_BACKEND),
    "backendRef": (_SERVICE | {"port": 80},),
    "targetRefs": ({"group": "", "kind": "Service", "name": "a"},),
    "certificateRefs": (_SECRET,),
    "clientCertificateRef": (_SECRET,),
    "caCertificateRefs": ({"group": "", "kind": "ConfigMap", "name": "roots"},),
    "namespaces": ({"from": "All"},),
})  # fmt: skip
MISSES = frozenset({"sectionName", "port"})  # what most often makes a reference lead nowhere
