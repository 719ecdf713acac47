"""Filters that more than one kind of object can ask for."""

from typing import Annotated

from translator.objects.constraints import Between, Items, OneOf
from translator.objects.meta import Part
from translator.objects.references import BackendObjectReference
from translator.objects.scalars import AuthPath, HeaderName, HeaderValue

AUTH_PROTOCOLS = ("HTTP", "GRPC")
_MOST = 2**31 - 1


class HTTPHeader(Part, frozen=True):
    """A header to set or to add."""

    name: HeaderName
    value: HeaderValue


class HTTPHeaderFilter(Part, frozen=True):
    """Headers to set, to add and to take away."""

    set: Annotated[tuple[HTTPHeader, ...], Items(most=16, key=("name",))] = ()
    add: Annotated[tuple[HTTPHeader, ...], Items(most=16, key=("name",))] = ()
    remove: Annotated[tuple[str, ...], Items(most=16, distinct=True)] = ()


class Fraction(Part, frozen=True):
    """A share that need not be a whole percentage."""

    numerator: Annotated[int, Between(0, _MOST)]
    denominator: Annotated[int, Between(1, _MOST)] = 100


class HTTPRequestMirrorFilter(Part, frozen=True):
    """A backend that gets a copy of the request, and whose answer nobody reads."""

    backend_ref: BackendObjectReference
    percent: Annotated[int, Between(0, 100)] | None = None
    fraction: Fraction | None = None


class GRPCAuthConfig(Part, frozen=True):
    """Which headers a gRPC authorization service is shown."""

    allowed_headers: Annotated[tuple[str, ...], Items(most=64, distinct=True)] = ()


class HTTPAuthConfig(Part, frozen=True):
    """How an HTTP authorization service is asked, and what of its answer is passed on."""

    path: AuthPath | None = None
    allowed_headers: Annotated[tuple[str, ...], Items(most=64, distinct=True)] = ()
    allowed_response_headers: Annotated[tuple[str, ...], Items(most=64, distinct=True)] = ()


class ForwardBodyConfig(Part, frozen=True):
    """How much of the body an authorization service is shown."""

    max_size: Annotated[int, Between(0, _MOST)] = 0


class HTTPExternalAuthFilter(Part, frozen=True):
    """A service that is asked whether a request may pass."""

    protocol: Annotated[str, OneOf(AUTH_PROTOCOLS)]
    backend_ref: BackendObjectReference
    grpc: GRPCAuthConfig | None = None
    http: HTTPAuthConfig | None = None
    forward_body: ForwardBodyConfig | None = None
