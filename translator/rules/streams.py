"""TLSRoute, TCPRoute and UDPRoute: where the connections and datagrams of a listener go."""

from msgspec import Struct

from translator.memo import query, steady
from translator.names import Ref
from translator.objects.tcp_route import TCPRoute
from translator.objects.tls_route import TLSRoute
from translator.objects.udp_route import UDPRoute
from translator.rules.backends import Share, Traffic, shares
from translator.verdict import Refused
from translator.world import World


class Streams(Struct, frozen=True):
    """Connections or datagrams go to backends by weight; refused or missing shares are closed or dropped."""

    shares: tuple[Share, ...]
    route: Ref | None = None  # that says so


NOWHERE = Streams(())
KINDS: dict[str, type[TLSRoute | TCPRoute | UDPRoute]] = {
    "TLSRoute": TLSRoute,
    "TCPRoute": TCPRoute,
    "UDPRoute": UDPRoute,
}


@steady(lambda route, _traffic: Streams((), route))
def streams(world: World, route: Ref, traffic: Traffic) -> Streams:
    """Read where a route of connections or datagrams leads; its first rule takes everything."""
    rules = world.must(KINDS[route.kind], route.name).spec.rules
    return Streams(shares(world, route, rules[0].backend_refs, traffic), route)


@query
def surplus(world: World, route: Ref) -> Refused | None:
    """Refuse rules behind the first: nothing could ever reach them."""
    rules = world.must(KINDS[route.kind], route.name).spec.rules
    if len(rules) == 1:
        return None
    return Refused(
        "UnsupportedValue", f"rules: the first takes everything, so the other {len(rules) - 1} are not served"
    )
