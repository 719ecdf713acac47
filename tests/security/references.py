"""Every field by which an object can point at another, found in the structs, and how a stranger would use it.

The stranger writes in namespace `mallory` and points at what is called `coffer` in namespace `vault`.
"""

import typing
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from translator.objects.kinds import KINDS

SERVICE = '{group: "", kind: Service, name: coffer, namespace: vault, port: 80}'
IMPORT = "{group: multicluster.x-k8s.io, kind: ServiceImport, name: coffer, namespace: vault, port: 80}"
X_BACKEND = "{group: gateway.networking.x-k8s.io, kind: XBackend, name: coffer, namespace: vault}"
KEYS = '{group: "", kind: Secret, name: coffer, namespace: vault}'
CONFIG_MAP = '{group: "", kind: ConfigMap, name: coffer, namespace: vault}'
COLLECTOR = "{name: coffer, namespace: vault, port: 80}"
BACKENDS = (SERVICE, IMPORT, X_BACKEND)
AUTHORITIES = (KEYS, CONFIG_MAP)

_HTTPS = "name: web, port: 443, protocol: HTTPS"
_HTTP = "name: web, port: 80, protocol: HTTP"
_OWN = "tls: {certificateRefs: [{name: own}]}"
_ASKS = (
    "filters: {requests: [{type: ExternalAuth, externalAuth: {protocol: HTTP, http: {}, backendRef: REF}}]}"
)
_OF_GATE = "parentRefs: [{name: gate}]"
_TO_OWN = "{name: own, port: 80, filters: [FILTER]}"
_MIRROR = "{type: RequestMirror, requestMirror: {backendRef: REF}}"
_QUESTION = "{type: ExternalAuth, externalAuth: {protocol: HTTP, http: {}, backendRef: REF}}"
_VALIDATION = "{validation: {caCertificateRefs: [REF]}}"


class Attack(NamedTuple):
    """A spec that points where it may not, REF standing for the reference, and what REF may be."""

    spec: str
    pointees: tuple[str, ...]


def _gateway(listener: str, more: str = "") -> str:
    return f"{{gatewayClassName: legation, listeners: [{{{listener}}}]{more}}}"


def _set(listener: str) -> str:
    return f"{{parentRef: {{name: gate}}, listeners: [{{{listener}}}]}}"


def _route(rule: str) -> str:
    return f"{{{_OF_GATE}, rules: [{{{rule}}}]}}"


def _filtered(each: str) -> str:
    return _route(f"filters: [{each}], backendRefs: [{{name: own, port: 80}}]")


def _filtered_backend(each: str) -> str:
    return _route(f"backendRefs: [{_TO_OWN.replace('FILTER', each)}]")


CROSSING: Mapping[str, Attack] = MappingProxyType({
    "Gateway.spec.listeners.tls.certificateRefs": Attack(
        _gateway(f"{_HTTPS}, tls: {{certificateRefs: [REF]}}"), (KEYS,)
    ),
    "Gateway.spec.listeners.filters.requests.externalAuth.backendRef": Attack(
        _gateway(f"{_HTTP}, {_ASKS}"), BACKENDS
    ),
    "Gateway.spec.tls.backend.clientCertificateRef": Attack(
        _gateway(_HTTP, ", tls: {backend: {clientCertificateRef: REF}}"), (KEYS,)
    ),
    "Gateway.spec.tls.frontend.default.validation.caCertificateRefs": Attack(
        _gateway(f"{_HTTPS}, {_OWN}", f", tls: {{frontend: {{default: {_VALIDATION}}}}}"), AUTHORITIES
    ),
    "Gateway.spec.tls.frontend.perPort.tls.validation.caCertificateRefs": Attack(
        _gateway(
            f"{_HTTPS}, {_OWN}",
            f", tls: {{frontend: {{default: {{}}, perPort: [{{port: 443, tls: {_VALIDATION}}}]}}}}",
        ),
        AUTHORITIES,
    ),
    "ListenerSet.spec.listeners.tls.certificateRefs": Attack(
        _set(f"{_HTTPS}, tls: {{certificateRefs: [REF]}}"), (KEYS,)
    ),
    "ListenerSet.spec.listeners.filters.requests.externalAuth.backendRef": Attack(
        _set(f"name: web, port: 8080, protocol: HTTP, {_ASKS}"), BACKENDS
    ),
    "HTTPRoute.spec.rules.backendRefs": Attack(_route("backendRefs: [REF]"), BACKENDS),
    "HTTPRoute.spec.rules.filters.requestMirror.backendRef": Attack(_filtered(_MIRROR), BACKENDS),
    "HTTPRoute.spec.rules.filters.externalAuth.backendRef": Attack(_filtered(_QUESTION), BACKENDS),
    "HTTPRoute.spec.rules.backendRefs.filters.requestMirror.backendRef": Attack(
        _filtered_backend(_MIRROR), BACKENDS
    ),
    "HTTPRoute.spec.rules.backendRefs.filters.externalAuth.backendRef": Attack(
        _filtered_backend(_QUESTION), BACKENDS
    ),
    "GRPCRoute.spec.rules.backendRefs": Attack(_route("backendRefs: [REF]"), BACKENDS),
    "GRPCRoute.spec.rules.filters.requestMirror.backendRef": Attack(_filtered(_MIRROR), BACKENDS),
    "GRPCRoute.spec.rules.backendRefs.filters.requestMirror.backendRef": Attack(
        _filtered_backend(_MIRROR), BACKENDS
    ),
    "TLSRoute.spec.rules.backendRefs": Attack(
        f"{{hostnames: [vault.test], {_OF_GATE}, rules: [{{backendRefs: [REF]}}]}}", BACKENDS
    ),
    "TCPRoute.spec.rules.backendRefs": Attack(_route("backendRefs: [REF]"), BACKENDS),
    "UDPRoute.spec.rules.backendRefs": Attack(_route("backendRefs: [REF]"), BACKENDS),
    "XBackend.spec.tls.clientCertificateRef": Attack(
        "{type: EndpointSelector, port: {number: 443}, endpointSelector: {matchLabels: {app: own}}, tls: "
        "{mode: ClientAndServer, clientCertificateRef: REF, "
        "validation: {hostname: own.test, wellKnownCACertificates: System}}}",
        (KEYS,),
    ),
    "GatewayParameters.spec.accessLogs.collector": Attack("{accessLogs: {collector: REF}}", (COLLECTOR,)),
    "GatewayParameters.spec.tracing.collector": Attack("{tracing: {collector: REF}}", (COLLECTOR,)),
})  # fmt: skip

# References that have no field for a namespace, so that they mean the namespace they are written in.
LOCAL: Mapping[str, Attack] = MappingProxyType({
    "Gateway.spec.infrastructure.parametersRef": Attack(
        _gateway(_HTTP, ", infrastructure: {parametersRef: REF}"),
        ("{group: legation.dev, kind: GatewayParameters, name: coffer}",),
    ),
    "BackendTLSPolicy.spec.validation.caCertificateRefs": Attack(
        '{targetRefs: [{group: "", kind: Service, name: own}], '
        "validation: {hostname: own.test, caCertificateRefs: [REF]}}",
        ('{group: "", kind: Secret, name: coffer}', '{group: "", kind: ConfigMap, name: coffer}'),
    ),
    "XBackend.spec.tls.validation.caCertificateRefs": Attack(
        "{type: EndpointSelector, port: {number: 443}, endpointSelector: {matchLabels: {app: own}}, tls: "
        "{mode: ServerOnly, validation: {hostname: own.test, caCertificateRefs: [REF]}}}",
        ('{group: "", kind: Secret, name: coffer}', '{group: "", kind: ConfigMap, name: coffer}'),
    ),
})  # fmt: skip

# Where the other side decides by a field of its own, and not by a ReferenceGrant.
INVITED = frozenset({"ListenerSet.spec.parentRef"}) | {
    f"{kind}Route.spec.parentRefs" for kind in ("HTTP", "GRPC", "TLS", "TCP", "UDP")
}
TARGETS = frozenset({"BackendTLSPolicy.spec.targetRefs"})
UNREAD = frozenset(  # of another implementation: the filter refuses its rule, whatever it names
    f"{place}.extensionRef"
    for place in (
        "Gateway.spec.listeners.filters.requests",
        "ListenerSet.spec.listeners.filters.requests",
        *(
            f"{kind}Route.spec.rules.{filters}"
            for kind in ("HTTP", "GRPC")
            for filters in ("filters", "backendRefs.filters")
        ),
    )
)
OF_OPERATORS = frozenset({"GatewayClass.spec.parametersRef"})  # who may write a class may name any parameters
GRANTS = frozenset({"ReferenceGrant.spec.to"})  # permits, and follows nothing


def fields() -> Iterator[str]:
    """Name every field, of whatever kind, that holds the name of another object."""
    for info in KINDS:
        yield from _fields(info.type, info.kind, (info.type,))


def _fields(kind: type, path: str, above: tuple[type, ...]) -> Iterator[str]:
    names = {field.name for field in msgspec.structs.fields(kind)}
    if "name" in names and names & {"namespace", "kind"}:
        yield path
    hints = typing.get_type_hints(kind)
    for field in msgspec.structs.fields(kind):
        for part in _structs(hints[field.name]):
            if part not in above and field.name != "metadata":  # by which an object names itself
                yield from _fields(part, f"{path}.{field.encode_name}", (*above, part))


def _structs(hint: object) -> Iterator[type[msgspec.Struct]]:
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        yield hint
    for part in typing.get_args(hint):
        yield from _structs(part)
