"""Default Gateways: those that routes are attached to without naming them.  GEP-3793.

A route that uses them is read as if it named each of them, whole; its own parentRefs count beside.
"""

from typing import Any

from translator.memo import query
from translator.names import Name, Ref
from translator.objects.gateway import Gateway
from translator.objects.grpc_route import GRPCRoute
from translator.objects.http_route import HTTPRoute
from translator.objects.references import ParentReference
from translator.objects.tcp_route import TCPRoute
from translator.objects.tls_route import TLSRoute
from translator.objects.udp_route import UDPRoute
from translator.rules.gateways import GATEWAY, ours
from translator.verdict import Condition, holds
from translator.world import Index, World

Route = HTTPRoute | GRPCRoute | TLSRoute | TCPRoute | UDPRoute
KINDS = (HTTPRoute, GRPCRoute, TLSRoute, TCPRoute, UDPRoute)


def _scope(gateway: Gateway) -> list[str]:
    scope = gateway.spec.default_scope
    return [scope] if scope not in (None, "None") else []


def _wish(route: Route) -> list[str]:
    wish = route.spec.use_default_gateways
    return [wish] if wish not in (None, "None") else []


GATEWAYS_BY_SCOPE = Index(Gateway, _scope)
ROUTES_BY_WISH = {kind.__name__: Index[Any](kind, _wish) for kind in KINDS}


def implied(world: World, route: Route) -> tuple[ParentReference, ...]:
    """Return what a route's parentRefs leave out: the default Gateways that it does not name whole itself."""
    group, kind = GATEWAY
    named = {
        Name(ref.namespace or route.metadata.namespace, ref.name)
        for ref in route.spec.parent_refs
        if (ref.group, ref.kind, ref.section_name, ref.port) == (group, kind, None, None)
    }
    found = (name for wish in _wish(route) for name in _defaults(world, wish) if name not in named)
    return tuple(ParentReference(each.name, group, kind, each.namespace) for each in found)


def guests(world: World, kind: str, owner: Ref) -> tuple[Name, ...]:
    """Return the routes of a kind that a Gateway is implied by."""
    if owner.kind != "Gateway":
        return ()
    scopes = _scope(world.must(Gateway, owner.name))
    return tuple(name for scope in scopes for name in world.names_where(ROUTES_BY_WISH[kind], scope))


def default_condition(world: World, gateway: Name) -> Condition | None:
    """Tell a Gateway that it is a default one, with its scope."""
    scopes = _scope(world.must(Gateway, gateway))
    return holds("DefaultGateway", message=f"the default scope is {scopes[0]}") if scopes else None


@query
def _defaults(world: World, scope: str) -> tuple[Name, ...]:
    return tuple(name for name in world.names_where(GATEWAYS_BY_SCOPE, scope) if name in ours(world))
