"""Which requests a rule takes, and which of several rules comes first."""

from msgspec import Struct


class PathExact(Struct, frozen=True):
    """Takes exactly this path."""

    path: str


class PathPrefix(Struct, frozen=True):
    """Takes this path and what lies below it, by whole elements: `/a` takes `/a` and `/a/b`, not `/ab`."""

    path: str


class PathPattern(Struct, frozen=True):
    """Takes paths that match a regular expression as a whole; the GRPCRoute methods without a service use it."""

    regex: str


class HttpMatch(Struct, frozen=True):
    """One way in which a request can match: all parts must."""

    path: PathExact | PathPrefix | PathPattern
    headers: tuple[tuple[str, str], ...] = ()  # name and exact value
    grpc: bool = False  # only gRPC requests
