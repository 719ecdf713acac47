"""Which policy governs a port of a backend, and why others do not."""

from collections.abc import Iterable, Iterator

from legation.atlas.landscape import Thing, thing
from legation.atlas.ways import destinations
from legation.explain.explanation import Contest, Lost, Place
from translator.names import Name, Ref, ServicePort
from translator.objects.kinds import name_of
from translator.rules.backend_tls import POLICIES_BY_TARGET, Target, winner
from translator.rules.listener_sets import age
from translator.rules.open_ports import GROUPS, open_ports
from translator.world import World

KIND = "BackendTLSPolicy"


def contests(world: World, owner: Ref) -> tuple[Contest, ...]:
    """Say of each TCP port of a backend who governs it."""
    ports = open_ports(world, owner) if owner.kind in GROUPS else None
    return tuple(
        _contest(world, ServicePort(owner.name, each.port, each.protocol, owner.kind), each.name)
        for each in ports or ()
        if each.protocol == "TCP"
    )


def contests_at(world: World, places: Iterable[Place]) -> tuple[Contest, ...]:
    """Say of each port that places lead to who governs it."""
    led_to = {each.port: each.service for place in places for each in destinations(place.leads)}
    owners = sorted({service.ref for service in led_to.values()})
    found = (each for owner in owners for each in contests(world, owner))
    return tuple(each for each in found if each.port in led_to)


def _contest(world: World, port: ServicePort, section: str) -> Contest:
    best = winner(world, port)
    lost = tuple(_lost(world, port, section, best)) if best else ()
    return Contest(str(port), _policy(best) if best else None, lost)


def _lost(world: World, port: ServicePort, section: str, best: Name) -> Iterator[Lost]:
    """Name those that target the port, too: first who names it, then who targets all of the Service."""
    holder = best
    for target in dict.fromkeys((section, "")):
        rivals = sorted(world.where(POLICIES_BY_TARGET, Target(port.service, target, port.kind)), key=age)
        names = [name_of(each) for each in rivals]
        for name in names:
            if name == best:
                continue
            precise = bool(section) and not target and best not in names
            why = (
                f"{holder} names the port, and it does not"
                if precise
                else f"{holder} is older, or first by name"
            )
            yield Lost(_policy(name), why)


def _policy(name: Name) -> Thing:
    return thing(Ref(KIND, name))
