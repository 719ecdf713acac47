"""Where a request goes: by which port, listener, name, rule and match, and why by no other."""

from collections.abc import Iterable, Iterator
from itertools import islice

from msgspec import structs

from legation.atlas.landscape import Lane, Port, thing
from legation.atlas.survey import entries, survey, tables
from legation.atlas.ways import failures, in_short
from legation.explain.explanation import Absent, Door, OfRequest, Place
from legation.explain.places import of_lane
from legation.explain.policies import contests_at
from legation.explain.requests import Request, why_not
from legation.explain.told import Statuses, about
from translator.names import Name, Ref
from translator.objects.scalars import is_address
from translator.rules.attachment import ROUTES, written_hostnames
from translator.rules.gateways import ours, refusal
from translator.rules.hostnames import EVERY, covers, narrowest
from translator.rules.listener_sets import slots
from translator.rules.listeners import HTTP_KINDS, judge
from translator.rules.tables import Table, answers, hostnames, owner
from translator.world import World

MOST_ABSENT = 10
OVER_TCP = ("HTTP", "TLS", "TCP")
WRONG_SCHEME = {
    ("HTTP", "https"): "speaks cleartext HTTP at port {port}, so no TLS handshake comes about",
    ("TLS", "http"): "speaks TLS at port {port}, and the request comes in cleartext",
}


def trace(world: World, statuses: Statuses, request: Request) -> OfRequest:
    """Follow a request to every Gateway: to which of them it comes, the address of its name decides."""
    found = (_door(world, name, request) for name in sorted(ours(world)))
    doors = sorted((_with_reasons(each, statuses) for each in found), key=_rank)
    served = any(door.served for door in doors)
    asked = {door.place.leads.route.ref for door in doors if door.place and door.place.leads.route}
    absent = () if served else tuple(islice(_absent(world, statuses, request, asked), MOST_ABSENT))
    return OfRequest(
        str(request),
        served,
        _in_words(doors),
        tuple(doors),
        contests_at(world, [door.place for door in doors if door.place]),
        absent,
    )


def _rank(door: Door) -> tuple[bool, bool]:
    return not door.served, door.place is None


def _with_reasons(door: Door, statuses: Statuses) -> Door:
    """Add what a route says of itself that takes the request and does not serve it."""
    route = door.place.leads.route if door.place and not door.served else None
    return structs.replace(door, about=about(statuses, route.ref)) if route else door


def _in_words(doors: list[Door]) -> str:
    if not doors:
        return "there is no Gateway of ours"
    taking = [door for door in doors if door.served] or [door for door in doors if door.place]
    if not taking:
        return "no Gateway takes it"
    return "; ".join(f"{door.gateway}: {door.words}" for door in taking)


def _door(world: World, gateway: Name, request: Request) -> Door:
    """Say what one Gateway makes of it."""
    itself = thing(Ref("Gateway", gateway))
    if (wrong := refusal(world, gateway)) is not None:
        return Door(itself, f"is not served: {wrong.message}")
    ports = [each for each in survey(world, gateway).ports if each.speaks in OVER_TCP]
    here = next((each for each in ports if request.port in _numbers(each)), None)
    if here is None:
        return Door(itself, _closed(world, gateway, ports, request.port))
    if (wrong_scheme := WRONG_SCHEME.get((here.speaks, request.scheme))) is not None:
        return Door(itself, wrong_scheme.format(port=here.number))
    lane = _lane(here.lanes, request.server)
    if lane is None:
        return Door(itself, f"no listener at port {here.number} is for {request.server}: the connection ends")
    if not lane.table:
        return _taken(of_lane(itself, here, lane), ())
    return _in_table(world, here, tables(world, gateway)[lane.table], request)


def _closed(world: World, gateway: Name, ports: list[Port], port: int) -> str:
    """Say why nobody listens at a port: a listener that cannot be served, or none that has it."""
    for slot in slots(world, gateway):
        judged = judge(world, slot)
        why = judged.conflict or judged.refusal or next(iter(judged.unresolved), None)
        if judged.port == port and not judged.served and why is not None:
            return f"listener {slot} at port {port} is not served: {why.message}"
    numbers = ", ".join(str(each.number) for each in ports)
    return f"listens at {numbers}, not at {port}" if numbers else "listens nowhere"


def _numbers(port: Port) -> tuple[int, int]:
    """Return the number that is bound, and the one that the Gateway has, which an offset may tell apart."""
    return port.number, int(port.name.rpartition(":")[2])


def _lane(lanes: tuple[Lane, ...], server: str) -> Lane | None:
    """Find the lane for a server name; nobody asks for an address by TLS."""
    by_name = {lane.server_name or EVERY: lane for lane in lanes}
    found = EVERY if is_address(server) and EVERY in by_name else narrowest(by_name, server)
    return by_name[found] if found is not None else None


def _in_table(world: World, port: Port, table: Table, request: Request) -> Door:
    """Find the name, and the first match that takes the request."""
    itself = thing(Ref("Gateway", table.gateway))
    hostname = narrowest(hostnames(world, table), request.host)
    if hostname is None:
        return Door(itself, f"404: nothing at port {port.number} is for {request.host}")
    passed: list[str] = []
    for number, entry in enumerate(answers(world, table, hostname)):
        if (why := why_not(entry.match, request)) == "":
            [leads] = islice(entries(world, table, hostname), number, number + 1)
            slot = owner(world, table.gateway, table.port, hostname)
            place = Place(itself, port.name, port.speaks, str(slot or ""), hostname, leads, str(table))
            return _taken(place, tuple(passed))
        passed.append(f"{entry.name}: {why}")
    words = f"404: no match of {hostname} at port {port.number} takes it"
    return Door(itself, words, passed_over=tuple(passed))


def _taken(place: Place, passed: tuple[str, ...]) -> Door:
    wrong = [*failures(place.leads)]
    words = "; ".join(wrong) if wrong else in_short(place.leads.action)
    return Door(place.gateway, words, not wrong, place, passed)


def _absent(world: World, statuses: Statuses, request: Request, asked: Iterable[Ref]) -> Iterator[Absent]:
    """Name routes that write the host of the request, and took no part."""
    refs = (Ref(kind, name) for kind in HTTP_KINDS for name in sorted(world.names(ROUTES[kind])))
    for ref in refs:
        written = written_hostnames(world, ref)
        if ref not in asked and any(covers(each, request.host) for each in written):
            yield Absent(thing(ref), about(statuses, ref))
