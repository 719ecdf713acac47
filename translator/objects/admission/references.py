"""What is asked of references to parents and to backends."""

from collections.abc import Iterator

from translator.objects.admission.finding import Finding, rules_of
from translator.objects.grpc_route import GRPCBackendRef, GRPCRouteSpec
from translator.objects.http_route import HTTPBackendRef, HTTPRouteSpec
from translator.objects.references import BackendObjectReference, BackendRef
from translator.objects.tcp_route import TCPRouteSpec
from translator.objects.tls_route import TLSRouteSpec
from translator.objects.udp_route import UDPRouteSpec

AnyBackendRef = BackendObjectReference | BackendRef | HTTPBackendRef | GRPCBackendRef
AnyRouteSpec = HTTPRouteSpec | GRPCRouteSpec | TLSRouteSpec | TCPRouteSpec | UDPRouteSpec


def a_service_has_a_port(ref: AnyBackendRef) -> Iterator[Finding]:
    """A Service has many ports: say which."""
    if (ref.group, ref.kind) == ("", "Service") and ref.port is None:
        yield Finding("port", "is required for a Service: add the number of the Service's port")


def an_xbackend_has_no_port(ref: AnyBackendRef) -> Iterator[Finding]:
    """An XBackend knows its port itself."""
    if (ref.group, ref.kind) == ("gateway.networking.x-k8s.io", "XBackend") and ref.port is not None:
        yield Finding("port", "must be left out for an XBackend")


def one_parent_is_told_apart_alike(spec: AnyRouteSpec) -> Iterator[Finding]:
    """Where a parent is named twice, all of the references name a section or none does; likewise a port."""
    first: dict[tuple[str, ...], tuple[bool, bool]] = {}
    for index, ref in enumerate(spec.parent_refs):
        parent = (ref.group, ref.kind, ref.namespace or "", ref.name)
        says = (bool(ref.section_name), bool(ref.port))
        if first.setdefault(parent, says) != says:
            yield Finding(
                f"parentRefs[{index}]",
                "names a parent again: give sectionName or port in each reference to that parent",
            )


def one_section_is_named_once(spec: AnyRouteSpec) -> Iterator[Finding]:
    """The same section and port of the same parent is named by one reference only."""
    seen: set[tuple[str | int, ...]] = set()
    for index, ref in enumerate(spec.parent_refs):
        section = (ref.group, ref.kind, ref.namespace or "", ref.name, ref.section_name or "", ref.port or 0)
        if section in seen:
            yield Finding(
                f"parentRefs[{index}]", "repeats an earlier reference: remove it, or name another section"
            )
        seen.add(section)


CHECKS = (
    rules_of(BackendObjectReference, a_service_has_a_port, an_xbackend_has_no_port),
    rules_of(BackendRef, a_service_has_a_port, an_xbackend_has_no_port),
    rules_of(HTTPBackendRef, a_service_has_a_port, an_xbackend_has_no_port),
    rules_of(GRPCBackendRef, a_service_has_a_port, an_xbackend_has_no_port),
    rules_of(HTTPRouteSpec, one_parent_is_told_apart_alike, one_section_is_named_once),
    rules_of(GRPCRouteSpec, one_parent_is_told_apart_alike, one_section_is_named_once),
    rules_of(TLSRouteSpec, one_parent_is_told_apart_alike, one_section_is_named_once),
    rules_of(TCPRouteSpec, one_parent_is_told_apart_alike, one_section_is_named_once),
    rules_of(UDPRouteSpec, one_parent_is_told_apart_alike, one_section_is_named_once),
)
