"""HTTPRoute: which HTTP requests go where, and what happens to them on the way."""

from typing import Annotated

from msgspec import Raw

from translator.objects.constraints import Between, Items, OneOf
from translator.objects.filters import HTTPExternalAuthFilter, HTTPHeaderFilter, HTTPRequestMirrorFilter
from translator.objects.meta import ObjectMeta, Part
from translator.objects.references import LocalObjectReference
from translator.objects.routes import DefaultScope, ParentRefs, SessionPersistence
from translator.objects.scalars import (
    CORSOrigin,
    Duration,
    Group,
    HeaderName,
    HeaderValue,
    Hostname,
    Kind,
    Namespace,
    ObjectName,
    PathValue,
    PortNumber,
    PreciseHostname,
    QueryValue,
    SectionName,
)

METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH")
PATH_TYPES = ("Exact", "PathPrefix", "RegularExpression")
PATH_MODIFIERS = ("ReplaceFullPath", "ReplacePrefixMatch")
SCHEMES = ("http", "https")
REDIRECT_CODES = (301, 302, 303, 307, 308)
_EXACT_OR_REGEX = OneOf(("Exact", "RegularExpression"))


class HTTPPathMatch(Part, frozen=True):
    """What the path of a request must be, or begin with."""

    type: Annotated[str, OneOf(PATH_TYPES)] = "PathPrefix"
    value: PathValue = "/"


class HTTPHeaderMatch(Part, frozen=True):
    """What a header must say."""

    name: HeaderName
    value: HeaderValue
    type: Annotated[str, _EXACT_OR_REGEX] = "Exact"


class HTTPQueryParamMatch(Part, frozen=True):
    """What a parameter in the query must say."""

    name: HeaderName
    value: QueryValue
    type: Annotated[str, _EXACT_OR_REGEX] = "Exact"


class HTTPRouteMatch(Part, frozen=True):
    """Demands on a request that must all be met."""

    path: HTTPPathMatch = HTTPPathMatch()
    headers: Annotated[tuple[HTTPHeaderMatch, ...], Items(most=16, key=("name",))] = ()
    query_params: Annotated[tuple[HTTPQueryParamMatch, ...], Items(most=16, key=("name",))] = ()
    method: Annotated[str, OneOf(METHODS)] | None = None


class HTTPPathModifier(Part, frozen=True):
    """How a path is changed: as a whole, or in the part that matched."""

    type: Annotated[str, OneOf(PATH_MODIFIERS)]
    replace_full_path: PathValue | None = None
    replace_prefix_match: PathValue | None = None


class HTTPRequestRedirectFilter(Part, frozen=True):
    """An answer that sends the client elsewhere."""

    scheme: Annotated[str, OneOf(SCHEMES)] | None = None
    hostname: PreciseHostname | None = None
    path: HTTPPathModifier | None = None
    port: PortNumber | None = None
    status_code: Annotated[int, OneOf(REDIRECT_CODES)] = 302


class HTTPURLRewriteFilter(Part, frozen=True):
    """A host or a path that the backend sees instead of the client's."""

    hostname: PreciseHostname | None = None
    path: HTTPPathModifier | None = None


class HTTPCORSFilter(Part, frozen=True):
    """What a browser lets pages of other origins do."""

    allow_origins: Annotated[tuple[CORSOrigin, ...], Items(most=64, distinct=True)] = ()
    allow_credentials: bool = False
    allow_methods: Annotated[
        tuple[Annotated[str, OneOf((*METHODS, "*"))], ...], Items(most=9, distinct=True)
    ] = ()
    allow_headers: Annotated[tuple[HeaderName, ...], Items(most=64, distinct=True)] = ()
    expose_headers: Annotated[tuple[HeaderName, ...], Items(most=64, distinct=True)] = ()
    max_age: Annotated[int, Between(1, 2**31 - 1)] = 5


class HTTPRouteFilter(Part, frozen=True):
    """One thing that happens to a request or its answer: `type` says which field tells how."""

    type: Annotated[
        str,
        OneOf((
            "RequestHeaderModifier",
            "ResponseHeaderModifier",
            "RequestMirror",
            "RequestRedirect",
            "URLRewrite",
            "ExtensionRef",
            "CORS",
            "ExternalAuth",
        )),
    ]  # fmt: skip
    request_header_modifier: HTTPHeaderFilter | None = None
    response_header_modifier: HTTPHeaderFilter | None = None
    request_mirror: HTTPRequestMirrorFilter | None = None
    request_redirect: HTTPRequestRedirectFilter | None = None
    url_rewrite: HTTPURLRewriteFilter | None = None
    cors: HTTPCORSFilter | None = None
    external_auth: HTTPExternalAuthFilter | None = None
    extension_ref: LocalObjectReference | None = None


class HTTPBackendRef(Part, frozen=True):
    """Where a rule sends its share of the requests, and what happens only to those."""

    name: ObjectName
    group: Group = ""
    kind: Kind = "Service"
    namespace: Namespace | None = None
    port: PortNumber | None = None
    weight: Annotated[int, Between(0, 1_000_000)] = 1
    filters: Annotated[tuple[HTTPRouteFilter, ...], Items(most=16)] = ()


class HTTPRouteTimeouts(Part, frozen=True):
    """How long a request may take as a whole, and each try of it."""

    request: Duration | None = None
    backend_request: Duration | None = None


class HTTPRouteRetry(Part, frozen=True):
    """When a failed request is tried again."""

    codes: Annotated[tuple[Annotated[int, Between(400, 599)], ...], Items(distinct=True)] = ()
    attempts: Annotated[int, Between(0, 2**63 - 1)] = 1
    backoff: Duration | None = None


class HTTPRouteRule(Part, frozen=True):
    """Requests that meet one of the matches, and what becomes of them."""

    name: SectionName | None = None
    matches: Annotated[tuple[HTTPRouteMatch, ...], Items(most=64)] = (HTTPRouteMatch(),)
    filters: Annotated[tuple[HTTPRouteFilter, ...], Items(most=16)] = ()
    backend_refs: Annotated[tuple[HTTPBackendRef, ...], Items(most=16)] = ()
    timeouts: HTTPRouteTimeouts | None = None
    retry: HTTPRouteRetry | None = None
    session_persistence: SessionPersistence | None = None


class HTTPRouteSpec(Part, frozen=True):
    """Where a route is attached, for which hosts, and its rules."""

    parent_refs: ParentRefs = ()
    use_default_gateways: DefaultScope | None = None
    hostnames: Annotated[tuple[Hostname, ...], Items(most=16)] = ()
    rules: Annotated[tuple[HTTPRouteRule, ...], Items(1, 16)] = (HTTPRouteRule(),)


class HTTPRoute(Part, frozen=True):
    """Routing of HTTP requests."""

    metadata: ObjectMeta
    spec: HTTPRouteSpec
    api_version: str = "gateway.networking.k8s.io/v1"
    status: Raw = Raw()
