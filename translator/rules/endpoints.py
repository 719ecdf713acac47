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


@query
def endpoints(world: World, port: ServicePort) -> tuple[Endpoint, ...]:
    """Return the ready addresses behind a port, sorted, each once."""
    if port.kind == "XBackend":
        return tuple(
            sorted({each for name in selecting(world, port.service) for each in _at(world, name, port)})
        )
    written = service_port(world, port)
    if written is None:
        return ()
    slices = world.where(SLICES_BY_OWNER, port.owner)
    return tuple(sorted({each for one in slices for each in _ready(one, written)}))


@query
def selecting(world: World, x_backend: Name) -> tuple[Name, ...]:
    """Return the Services that select the pods of an XBackend, and no others."""
    found = world.get(XBackend, x_backend)
    if found is None or found.spec.endpoint_selector is None:
        return ()
    labels = frozenset(found.spec.endpoint_selector.match_labels.items())
    return world.names_where(SERVICES_BY_SELECTION, Selection(x_backend.namespace, labels))


def service_port(world: World, port: ServicePort) -> service.ServicePort | None:
    """Return a Service port as it was written, if it is there."""
    found = entries(world, port)
    return found[0] if found else None


def _at(world: World, service: Name, port: ServicePort) -> Iterator[Endpoint]:
    """Name the pods behind a Service, whatever its own ports are."""
    for one in world.where(SLICES_BY_OWNER, Ref(SERVICE, service)):
        yield from (Endpoint(address, port.port) for address in ready_addresses(one))


def _ready(one: EndpointSlice, port: service.ServicePort) -> Iterator[Endpoint]:
    """Name a slice's endpoints that take traffic at a Service port."""
    numbers = [
        p.port for p in one.ports or () if (p.name, p.protocol) == (port.name, port.protocol) and p.port
    ]
    for address in ready_addresses(one):
        yield from (Endpoint(address, number) for number in numbers)


def ready_addresses(one: EndpointSlice) -> Iterator[str]:
    """Name the addresses of a slice that take traffic; one that nobody calls unready is ready."""
    if one.address_type != "FQDN":
        for endpoint in one.endpoints or ():
            if endpoint.conditions.ready is not False:
                yield endpoint.addresses[0]  # the others are the same pod's
