"""Ports of Services, and of ServiceImports, which are Services of several clusters.  GEP-1748.

A reference to a Service means endpoints in this cluster, one to a ServiceImport those in all of them.
"""

from types import MappingProxyType

from translator import names
from translator.memo import query
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


@query
def entries(world: World, port: names.ServicePort) -> tuple[ServicePort, ...]:
    """Return a port as it was written: in more than one entry only by a file that opens it twice."""
    found = open_ports(world, port.owner) or ()
    return tuple([each for each in found if (each.port, each.protocol) == (port.port, port.transport)])


def _as_a_service_has_them(imported: ServiceImport) -> tuple[ServicePort, ...]:
    return tuple(
        ServicePort(each.port, each.name, each.protocol, each.app_protocol) for each in imported.spec.ports
    )
