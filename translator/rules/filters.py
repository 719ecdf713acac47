"""What a route does to a request on its way."""

from msgspec import Struct

from translator.objects.filters import HTTPHeaderFilter
from translator.objects.grpc_route import GRPCRouteFilter
from translator.objects.http_route import HTTPRequestRedirectFilter, HTTPRouteFilter
from translator.verdict import Refused


class HeaderChanges(Struct, frozen=True):
    """Headers to set, to add and to remove."""

    set: tuple[tuple[str, str], ...] = ()
    add: tuple[tuple[str, str], ...] = ()
    remove: tuple[str, ...] = ()


class Redirect(Struct, frozen=True):
    """An answer that sends the client elsewhere; what is None stays as in the request."""

    status: int
    scheme: str | None = None
    hostname: str | None = None
    port: int | None = None


class Filters(Struct, frozen=True):
    """All filters of one rule, read together."""

    request_headers: HeaderChanges = HeaderChanges()
    redirect: Redirect | None = None


NOTHING = Filters()


def read(written: tuple[HTTPRouteFilter, ...] | tuple[GRPCRouteFilter, ...]) -> Filters | Refused:
    """Read the filters of a rule; one that cannot be honoured refuses the rule."""
    headers, redirect = HeaderChanges(), None
    for each in written:
        match each.type:
            case "RequestHeaderModifier" if each.request_header_modifier is not None:
                changes = _header_changes(each.request_header_modifier)
                if isinstance(changes, Refused):
                    return changes
                headers = changes
            case "RequestRedirect" if isinstance(each, HTTPRouteFilter) and each.request_redirect is not None:
                found = _redirect(each.request_redirect)
                if isinstance(found, Refused):
                    return found
                redirect = found
            case unknown:
                return Refused("UnsupportedValue", f"filters: {unknown} is not supported yet")
    return Filters(headers, redirect)


def _header_changes(written: HTTPHeaderFilter) -> HeaderChanges | Refused:
    """Read changes of headers; Envoy takes no table with one that would break a request's own frame."""
    changes = HeaderChanges(
        set=tuple((header.name, header.value) for header in written.set),
        add=tuple((header.name, header.value) for header in written.add),
        remove=written.remove,
    )
    for name in (*dict(changes.set), *dict(changes.add), *changes.remove):
        if name.startswith(":") or name.lower() == "host":
            return Refused("UnsupportedValue", f"filters: header {name} cannot be changed; use a URL rewrite")
    for name, value in (*changes.set, *changes.add):
        if any(char in value for char in "\0\r\n"):
            return Refused("UnsupportedValue", f"filters: the value for header {name} has a line break in it")
    return changes


def _redirect(written: HTTPRequestRedirectFilter) -> Redirect | Refused:
    if written.path is not None:
        return Refused("UnsupportedValue", "filters: a redirect to another path is not supported yet")
    if written.status_code not in (301, 302):
        return Refused(
            "UnsupportedValue", f"filters: a redirect by {written.status_code} is not supported yet"
        )
    return Redirect(written.status_code, written.scheme, written.hostname, written.port)
