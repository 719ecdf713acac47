"""What a route does to a request on its way, and to its answer."""

from functools import lru_cache

from msgspec import Struct, structs

from translator.objects.filters import HTTPExternalAuthFilter, HTTPRequestMirrorFilter
from translator.objects.grpc_route import GRPCRouteFilter
from translator.objects.http_route import (
    REDIRECT_CODES,
    SCHEMES,
    HTTPRequestRedirectFilter,
    HTTPRouteFilter,
    HTTPURLRewriteFilter,
)
from translator.rules.cors import Cors, cors
from translator.rules.headers import UNCHANGED, HeaderChanges, changes
from translator.rules.paths import FullPath, NewPrefix, new_path
from translator.rules.questions import strange
from translator.verdict import Refused, listed


class Redirect(Struct, frozen=True):
    """An answer that sends the client elsewhere; what is None stays as in the request."""

    status: int
    scheme: str | None = None
    hostname: str | None = None
    port: int | None = None
    path: FullPath | NewPrefix | None = None


class Rewrite(Struct, frozen=True):
    """A host or a path that the backend sees; what is None stays as in the request."""

    hostname: str | None = None
    path: FullPath | NewPrefix | None = None


class Filters(Struct, frozen=True):
    """All filters of one rule or of one backend, read together."""

    request_headers: HeaderChanges = UNCHANGED
    response_headers: HeaderChanges = UNCHANGED
    redirect: Redirect | None = None
    rewrite: Rewrite | None = None
    cors: Cors | None = None
    mirrors: tuple[HTTPRequestMirrorFilter, ...] = ()  # as they are written
    asks: tuple[HTTPExternalAuthFilter, ...] = ()  # the same: the rule's, then the backend's

    @property
    def replaces_prefix(self) -> bool:
        """Whether the prefix of the path is replaced, which only a match by prefix has."""
        changed = self.redirect or self.rewrite  # never both
        return changed is not None and isinstance(changed.path, NewPrefix)


NOTHING = Filters()
ALIKE = 256  # lists of filters that are remembered: rules of one route, and of many, often have the same
Written = HTTPRouteFilter | GRPCRouteFilter
Value = (
    HeaderChanges
    | Redirect
    | Rewrite
    | Cors
    | tuple[HTTPRequestMirrorFilter, ...]
    | tuple[HTTPExternalAuthFilter, ...]
)


@lru_cache(maxsize=ALIKE)
def read(written: tuple[HTTPRouteFilter, ...] | tuple[GRPCRouteFilter, ...]) -> Filters | Refused:
    """Read the filters of a rule or of a backend; one that cannot be honoured refuses the rule."""
    found = NOTHING
    seen: set[str] = set()
    for each in written:
        if each.type in seen:
            return Refused("IncompatibleFilters", f"filters: {each.type} can stand only once")
        if each.type != "RequestMirror":
            seen.add(each.type)
        added = _with(found, each)
        if isinstance(added, Refused):
            return added
        found = added
    return _contradiction(found) or found


def both(first: Filters, then: Filters) -> Filters | Refused:
    """Join the filters of a rule with those of one of its backends, which come after them."""
    old, new = first.rewrite or Rewrite(), then.rewrite or Rewrite()
    joined = Filters(
        request_headers=first.request_headers.then(then.request_headers),
        response_headers=first.response_headers.then(then.response_headers),
        redirect=first.redirect or then.redirect,
        rewrite=Rewrite(new.hostname or old.hostname, new.path or old.path),
        cors=then.cors or first.cors,
        mirrors=first.mirrors + then.mirrors,
        asks=first.asks + then.asks,
    )
    if first.rewrite is None and then.rewrite is None:
        joined = structs.replace(joined, rewrite=None)
    return _contradiction(joined) or joined


def _contradiction(found: Filters) -> Refused | None:
    """Refuse what asks for something that a redirected request never comes to."""
    if found.redirect is None:
        return None
    if found.rewrite is not None:
        return Refused("IncompatibleFilters", "filters: a request that is redirected cannot be rewritten")
    if found.mirrors:
        return Refused("IncompatibleFilters", "filters: a request that is redirected cannot be mirrored")
    if found.cors is not None:
        return Refused("IncompatibleFilters", "filters: CORS is for answers of backends, not for redirects")
    return None


def _with(found: Filters, each: Written) -> Filters | Refused:
    """Read one more filter."""
    value: Value | Refused
    match each.type:
        case "RequestHeaderModifier" if each.request_header_modifier is not None:
            field, value = "request_headers", changes(each.request_header_modifier)
        case "ResponseHeaderModifier" if each.response_header_modifier is not None:
            field, value = "response_headers", changes(each.response_header_modifier)
        case "RequestMirror" if each.request_mirror is not None:
            field, value = "mirrors", (*found.mirrors, each.request_mirror)
        case "RequestRedirect" if isinstance(each, HTTPRouteFilter) and each.request_redirect is not None:
            field, value = "redirect", _redirect(each.request_redirect)
        case "URLRewrite" if isinstance(each, HTTPRouteFilter) and each.url_rewrite is not None:
            field, value = "rewrite", _rewrite(each.url_rewrite)
        case "CORS" if isinstance(each, HTTPRouteFilter) and each.cors is not None:
            field, value = "cors", cors(each.cors)
        case "ExternalAuth" if isinstance(each, HTTPRouteFilter) and each.external_auth is not None:
            field, value = "asks", _asks(each.external_auth)
        case unknown:
            return Refused("UnsupportedValue", f"filters: filters of type {unknown} are not supported")
    return value if isinstance(value, Refused) else structs.replace(found, **{field: value})


def _asks(written: HTTPExternalAuthFilter) -> tuple[HTTPExternalAuthFilter, ...] | Refused:
    wrong = strange(written)
    return Refused("UnsupportedValue", f"filters: ExternalAuth: {wrong}") if wrong else (written,)


def _redirect(written: HTTPRequestRedirectFilter) -> Redirect | Refused:
    if written.status_code not in REDIRECT_CODES:
        known = ", ".join(map(str, REDIRECT_CODES))
        wrong = f"filters: statusCode {written.status_code} is none to redirect by: use one of {known}"
        return Refused("UnsupportedValue", wrong)
    if written.scheme not in (None, *SCHEMES):
        return Refused("UnsupportedValue", f"filters: scheme {listed([written.scheme or ''])} is not known")
    path = new_path(written.path) if written.path is not None else None
    if isinstance(path, Refused):
        return path
    return Redirect(written.status_code, written.scheme, written.hostname, written.port, path)


def _rewrite(written: HTTPURLRewriteFilter) -> Rewrite | Refused:
    path = new_path(written.path) if written.path is not None else None
    return path if isinstance(path, Refused) else Rewrite(written.hostname, path)
