"""Ports of Services, and of ServiceImports, which are Services of several clusters.  GEP-1748.

A reference to a Service means endpoints in this cluster, one to a ServiceImport those in all of them.
"""

from types import MappingProxyType

from translator import names
from translator.memo import keyed
from translator.names import Ref
from translator.objects.service import Service, ServicePort
from translator.objects.service_import import MULTICLUSTER_GROUP, ServiceImport
from translator.world import World

SERVICE, IMPORT = "Service", "ServiceImport"
GROUPS = MappingProxyType({SERVICE: "", IMPORT: MULTICLUSTER_GROUP})  # of what has ports, and policies


def open_ports(world: World, owner: Ref) -> tuple[ServicePort, ...] | None:
    """Return the ports of a Service or a ServiceImport as they are written; None where there is none."""
    if owner.kind == IMPORT:
        imported = world.get(ServiceImport, owner.name)
        return _as_a_service_has_them(imported) if imported else None
    service = world.get(Service, owner.name)
    return service.spec.ports if service else None


def entries(world: World, port: names.ServicePort) -> tuple[ServicePort, ...]:
    """Return a port as it was written: in more than one entry only by a file that opens it twice."""
    return _by_number.at(world, (port.port, port.transport), port.owner) or ()


def called(world: World, owner: Ref, name: str) -> tuple[ServicePort, ...]:
    """Return the ports of this name: one for each that carries it, such as TCP and UDP."""
    return _by_name.at(world, name, owner) or ()


@keyed(rank=0)
def _by_number(world: World, owner: Ref) -> dict[tuple[int, str], tuple[ServicePort, ...]]:
    """Return the ports of an object by number and transport: read once, however many are asked for."""
    found: dict[tuple[int, str], tuple[ServicePort, ...]] = {}
    for each in open_ports(world, owner) or ():
        key = (each.port, each.protocol)
        found[key] = (*found.get(key, ()), each)
    return found


@keyed(rank=0)
def _by_name(world: World, owner: Ref) -> dict[str, tuple[ServicePort, ...]]:
    found: dict[str, tuple[ServicePort, ...]] = {}
    for each in open_ports(world, owner) or ():
        found[each.name] = (*found.get(each.name, ()), each)
    return found


def _as_a_service_has_them(imported: ServiceImport) -> tuple[ServicePort, ...]:
    return tuple(
        ServicePort(each.port, each.name, each.protocol, each.app_protocol) for each in imported.spec.ports
    )
