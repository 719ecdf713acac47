"""GRPCRoute: which gRPC calls go where, and what happens to them on the way."""

from typing import Annotated

from msgspec import Raw

from translator.objects.constraints import Between, Items, OneOf
from translator.objects.filters import HTTPHeaderFilter, HTTPRequestMirrorFilter
from translator.objects.meta import ObjectMeta, Part
from translator.objects.references import LocalObjectReference
from translator.objects.routes import DefaultScope, ParentRefs, SessionPersistence
from translator.objects.scalars import (
    Group,
    HeaderName,
    Hostname,
    Kind,
    MatchValue,
    Namespace,
    ObjectName,
    PathValue,
    PortNumber,
    SectionName,
)

_EXACT_OR_REGEX = OneOf(("Exact", "RegularExpression"))


class GRPCMethodMatch(Part, frozen=True):
    """Which service or method is called."""

    type: Annotated[str, _EXACT_OR_REGEX] = "Exact"
    service: PathValue | None = None
    method: PathValue | None = None


class GRPCHeaderMatch(Part, frozen=True):
    """What a header must say."""

    name: HeaderName
    value: MatchValue
    type: Annotated[str, _EXACT_OR_REGEX] = "Exact"


class GRPCRouteMatch(Part, frozen=True):
    """Demands on a call that must all be met."""

    method: GRPCMethodMatch | None = None
    headers: Annotated[tuple[GRPCHeaderMatch, ...], Items(most=16, key=("name",))] = ()


class GRPCRouteFilter(Part, frozen=True):
    """One thing that happens to a call or its answer: `type` says which field tells how."""

    type: Annotated[
        str, OneOf(("RequestHeaderModifier", "ResponseHeaderModifier", "RequestMirror", "ExtensionRef"))
    ]
    request_header_modifier: HTTPHeaderFilter | None = None
    response_header_modifier: HTTPHeaderFilter | None = None
    request_mirror: HTTPRequestMirrorFilter | None = None
    extension_ref: LocalObjectReference | None = None


class GRPCBackendRef(Part, frozen=True):
    """Where a rule sends its share of the calls, and what happens only to those."""

    name: ObjectName
    group: Group = ""
    kind: Kind = "Service"
    namespace: Namespace | None = None
    port: PortNumber | None = None
    weight: Annotated[int, Between(0, 1_000_000)] = 1
    filters: Annotated[tuple[GRPCRouteFilter, ...], Items(most=16)] = ()


class GRPCRouteRule(Part, frozen=True):
    """Calls that meet one of the matches, or all calls where there are none, and what becomes of them."""

    name: SectionName | None = None
    matches: Annotated[tuple[GRPCRouteMatch, ...], Items(most=64)] = ()
    filters: Annotated[tuple[GRPCRouteFilter, ...], Items(most=16)] = ()
    backend_refs: Annotated[tuple[GRPCBackendRef, ...], Items(most=16)] = ()
    session_persistence: SessionPersistence | None = None


class GRPCRouteSpec(Part, frozen=True):
    """Where a route is attached, for which hosts, and its rules."""

    parent_refs: ParentRefs = ()
    use_default_gateways: DefaultScope | None = None
    hostnames: Annotated[tuple[Hostname, ...], Items(most=16)] = ()
    rules: Annotated[tuple[GRPCRouteRule, ...], Items(most=16)] = ()


class GRPCRoute(Part, frozen=True):
    """Routing of gRPC calls."""

    metadata: ObjectMeta
    spec: GRPCRouteSpec
    api_version: str = "gateway.networking.k8s.io/v1"
    status: Raw = Raw()
