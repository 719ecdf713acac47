"""Where in Gateways traffic meets an object: at each port and name, match by match."""

from collections.abc import Iterator

from legation.atlas.landscape import Forwards, Lane, Leads, Port, Thing
from legation.atlas.survey import CLOSES, entries, survey, tables
from legation.atlas.ways import destinations
from legation.explain.explanation import Place
from translator.names import Name, Ref
from translator.rules.attachment import parents
from translator.rules.hostnames import covers
from translator.rules.reach import ROUTES_BY_TARGET
from translator.rules.tables import hostnames, owner
from translator.world import World

EVERYTHING = "every connection"
AS_BEFORE = "HTTP/3"  # whatever comes that way is answered as over TLS


def of_route(world: World, route: Ref) -> Iterator[Place]:
    """Return where requests or connections come to a route."""
    attached = [each for parent in parents(world, route) for each in parent.attached]
    wanted = {host.hostname for each in attached for host in each.hosts}
    for gateway in dict.fromkeys(each.slot.gateway for each in attached):
        for place in _of_gateway(world, gateway, wanted):
            if place.leads.route is not None and place.leads.route.ref == route:
                yield place


def of_backend(world: World, backend: Ref) -> Iterator[Place]:
    """Return where routes lead to a backend."""
    for route in naming(world, backend):
        for place in of_route(world, route):
            if any(each.service.ref == backend for each in destinations(place.leads)):
                yield place


def naming(world: World, backend: Ref) -> list[Ref]:
    """Return the routes that name a backend, whether or not they get there."""
    return [
        Ref(kind, name)
        for kind, index in ROUTES_BY_TARGET.items()
        for name in world.names_where(index, backend)
    ]


def of_lane(gateway: Thing, port: Port, lane: Lane) -> Place:
    """Return where connections are relayed without a look at what is in them."""
    action = lane.action or Forwards((), CLOSES)
    leads = Leads(EVERYTHING, lane.route, None, str(lane.route or "no route"), action)
    return Place(gateway, port.name, port.speaks, lane.listener, lane.server_name, leads)


def _of_gateway(world: World, gateway: Name, wanted: set[str]) -> Iterator[Place]:
    """Return every place of a Gateway at the names that are wanted, or below them."""
    found = survey(world, gateway)
    by_name = tables(world, gateway)
    for port in found.ports:
        for lane in port.lanes if port.speaks != AS_BEFORE else ():
            if not lane.table:
                yield of_lane(found.gateway, port, lane)
                continue
            table = by_name[lane.table]
            for hostname in hostnames(world, table):
                if any(covers(each, hostname) for each in wanted):
                    listener = str(owner(world, gateway, table.port, hostname) or "")
                    for leads in entries(world, table, hostname):
                        yield Place(
                            found.gateway, port.name, port.speaks, listener, hostname, leads, lane.table
                        )
