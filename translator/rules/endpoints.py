"""Where the pods behind a Service port are: queries of their own, so that a rolling pod touches no route.

Those of a ServiceImport are in all clusters. An XBackend that selects pods has those of Services that select
by the same labels, whoever made them: they are the same pods.
"""

from collections.abc import Iterator
from typing import NamedTuple

from translator.memo import query
from translator.names import Name, Ref, ServicePort
from translator.objects import service
from translator.objects.endpoint_slice import EndpointSlice
from translator.objects.service import Service
from translator.objects.x_backend import XBackend
from translator.rules.open_ports import IMPORT, SERVICE, entries
from translator.world import Index, World

SERVICE_LABEL = "kubernetes.io/service-name"
IMPORT_LABEL = "multicluster.kubernetes.io/service-name"


class Endpoint(NamedTuple):
    """One address that serves a Service port."""

    address: str
    port: int


def owners(one: EndpointSlice) -> list[Ref]:
    """Name the Service or ServiceImport that endpoints belong to."""
    found = (
        (SERVICE, one.metadata.labels.get(SERVICE_LABEL)),
        (IMPORT, one.metadata.labels.get(IMPORT_LABEL)),
    )
    return [Ref(kind, Name(one.metadata.namespace, name)) for kind, name in found if name]


class Stand(NamedTuple):
    """Ready addresses of one slice, and the number at which they take the traffic of a port."""

    addresses: tuple[str, ...]
    port: int


class Selection(NamedTuple):
    """Labels that select pods of a namespace."""

    namespace: str
    labels: frozenset[tuple[str, str]]


def _selection(one: Service) -> list[Selection]:
    if one.spec.type == "ExternalName" or one.spec.publish_not_ready_addresses or not one.spec.selector:
        return []
    return [Selection(one.metadata.namespace, frozenset(one.spec.selector.items()))]


SLICES_BY_OWNER = Index(EndpointSlice, owners)
SERVICES_BY_SELECTION = Index(Service, _selection)


def endpoints(world: World, port: ServicePort) -> tuple[Endpoint, ...]:
    """Return the ready addresses behind a port, sorted, each once."""
    if port.kind == "XBackend":
        selected = _selected_by(world, port.service)
        return tuple([Endpoint(each, port.port) for each in _pods(world, selected)]) if selected else ()
    written = service_port(world, port)
    if written is None:
        return ()
    stands = _stands(world, port.owner).get((written.name, written.protocol), ())
    return tuple(sorted({Endpoint(address, each.port) for each in stands for address in each.addresses}))


def selecting(world: World, x_backend: Name) -> tuple[Name, ...]:
    """Return the Services that select the pods of an XBackend, and no others."""
    selected = _selected_by(world, x_backend)
    return world.names_where(SERVICES_BY_SELECTION, selected) if selected else ()


def service_port(world: World, port: ServicePort) -> service.ServicePort | None:
    """Return a Service port as it was written, if it is there."""
    found = entries(world, port)
    return found[0] if found else None


def _selected_by(world: World, x_backend: Name) -> Selection | None:
    """Return the pods that an XBackend selects, if it does."""
    found = world.get(XBackend, x_backend)
    if found is None or found.spec.endpoint_selector is None:
        return None
    return Selection(x_backend.namespace, frozenset(found.spec.endpoint_selector.match_labels.items()))


@query
def _pods(world: World, selected: Selection) -> tuple[str, ...]:
    """Return the ready addresses of pods, whatever Services' ports are: found once for all XBackends."""
    owners = [Ref(SERVICE, name) for name in world.names_where(SERVICES_BY_SELECTION, selected)]
    slices = (one for owner in owners for one in world.where(SLICES_BY_OWNER, owner))
    return tuple(sorted({address for one in slices for address in ready_addresses(one)}))


@query
def _stands(world: World, owner: Ref) -> dict[tuple[str, str], tuple[Stand, ...]]:
    """Return what is ready by the name and the protocol of a port: slices are read once for all ports."""
    found: dict[tuple[str, str], list[Stand]] = {}
    for one in world.where(SLICES_BY_OWNER, owner):
        for port, stand in _ready(one):
            found.setdefault(port, []).append(stand)
    return {port: tuple(stands) for port, stands in found.items()}


def _ready(one: EndpointSlice) -> Iterator[tuple[tuple[str, str], Stand]]:
    """Name what is ready in a slice at each port."""
    addresses = tuple(ready_addresses(one))
    for each in one.ports or ():
        if each.port:
            yield (each.name, each.protocol), Stand(addresses, each.port)


def ready_addresses(one: EndpointSlice) -> Iterator[str]:
    """Name the addresses of a slice that take traffic; one that nobody calls unready is ready."""
    if one.address_type != "FQDN":
        for endpoint in one.endpoints or ():
            if endpoint.conditions.ready is not False:
                yield endpoint.addresses[0]  # the others are the same pod's
