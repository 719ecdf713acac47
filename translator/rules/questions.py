"""Questions: what a service is asked about requests before they may pass.  GEP-1494.

Listeners ask before any route is chosen, rules and their backends once their own was. Whoever is asked is
reached as any backend is: by a grant across namespaces, and as a policy says.
"""

from msgspec import Struct

from translator.names import Name
from translator.objects.filters import AUTH_PROTOCOLS, HTTPExternalAuthFilter
from translator.objects.grpc_route import GRPCRouteRule
from translator.objects.http_route import HTTPRouteRule
from translator.rules.backends import Backend, Traffic, resolve
from translator.rules.grants import Pointee, Pointer
from translator.verdict import Refused, listed
from translator.world import World


class Question(Struct, frozen=True):
    """What a service is asked about a request."""

    whom: Backend | Refused
    by_grpc: bool
    path: str = ""  # goes before the request's own
    shown: tuple[str, ...] = ()  # headers that the service sees besides those that it always does
    taken: tuple[str, ...] = ()  # headers of its answer that requests get; none means all but the host's
    body: int = 0  # how many bytes of the request it sees; requests with more are refused
    name: str = ""  # of the listener that asks, and the place there; routes have none


def question(world: World, pointer: Pointer, written: HTTPExternalAuthFilter) -> Question:
    """Read what an object asks, and whom."""
    by_grpc, ref = written.protocol == "GRPC", written.backend_ref
    pointee = Pointee(ref.group, ref.kind, Name(ref.namespace or pointer.namespace, ref.name))
    http = None if by_grpc else written.http
    shown = written.grpc.allowed_headers if by_grpc and written.grpc else http.allowed_headers if http else ()
    return Question(
        whom=resolve(world, pointer, pointee, ref.port, Traffic.GRPC if by_grpc else Traffic.HTTP),
        by_grpc=by_grpc,
        path=_prefix(http.path if http else None),
        shown=shown,
        taken=http.allowed_response_headers if http else (),
        body=written.forward_body.max_size if written.forward_body else 0,
    )


def strange(written: HTTPExternalAuthFilter) -> str | None:
    """Say what is wrong with a question as it is written, such as a path that requests may climb out of."""
    if written.protocol not in AUTH_PROTOCOLS:
        return f"protocol {listed([written.protocol])} is not known"
    path = written.http.path if written.http else None
    if path and any(part in (".", "..") or "%" in part for part in path.split("/")):
        return f"path {path} must be plain: no dots, nothing escaped"
    return None


def asked(rule: HTTPRouteRule | GRPCRouteRule) -> tuple[HTTPExternalAuthFilter, ...]:
    """Return every question that is written in a rule, those of single backends included; calls have none."""
    if not isinstance(rule, HTTPRouteRule):
        return ()
    written = [*rule.filters, *[each for ref in rule.backend_refs if ref.filters for each in ref.filters]]
    return tuple([each.external_auth for each in written if each.external_auth is not None])


def _prefix(path: str | None) -> str:
    inner = (path or "").strip("/")
    return f"/{inner}" if inner else ""
