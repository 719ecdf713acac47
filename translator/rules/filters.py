"""What a route does to a request on its way."""

from msgspec import Struct


class HeaderChanges(Struct, frozen=True):
    """Headers to set, to add and to remove, in this order of precedence."""

    set: tuple[tuple[str, str], ...] = ()
    add: tuple[tuple[str, str], ...] = ()
    remove: tuple[str, ...] = ()


class Redirect(Struct, frozen=True):
    """An answer that sends the client elsewhere; what is None stays as in the request."""

    status: int
    scheme: str | None = None
    hostname: str | None = None
    port: int | None = None
