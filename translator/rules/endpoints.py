"""Where the pods behind a Service port are: queries of their own, so that a rolling pod touches no route."""

from collections.abc import Iterator
from typing import NamedTuple

from translator.memo import query
from translator.names import Name, ServicePort
from translator.objects import service
from translator.objects.endpoint_slice import EndpointSlice
from translator.objects.service import Service
from translator.world import Index, World

SERVICE_LABEL = "kubernetes.io/service-name"


class Endpoint(NamedTuple):
    """One address that serves a Service port."""

    address: str
    port: int


def _service(one: EndpointSlice) -> list[Name]:
    name = one.metadata.labels.get(SERVICE_LABEL)
    return [Name(one.metadata.namespace, name)] if name else []


SLICES_BY_SERVICE = Index(EndpointSlice, _service)


@query
def endpoints(world: World, port: ServicePort) -> tuple[Endpoint, ...]:
    """Return the ready addresses behind a Service port, sorted, each once."""
    written = service_port(world, port)
    if written is None:
        return ()
    slices = world.where(SLICES_BY_SERVICE, port.service)
    return tuple(sorted({each for one in slices for each in _ready(one, written)}))


@query
def service_port(world: World, port: ServicePort) -> service.ServicePort | None:
    """Return a Service port as it was written, if it is there."""
    found = world.get(Service, port.service)
    if found is None:
        return None
    return next((p for p in found.spec.ports if (p.port, p.protocol) == (port.port, port.transport)), None)


def _ready(one: EndpointSlice, port: service.ServicePort) -> Iterator[Endpoint]:
    """Name a slice's endpoints that take traffic; one that nobody calls unready is ready."""
    if one.address_type == "FQDN":
        return
    numbers = [
        p.port for p in one.ports or () if (p.name, p.protocol) == (port.name, port.protocol) and p.port
    ]
    for endpoint in one.endpoints or ():
        if endpoint.conditions.ready is not False and numbers:
            for number in numbers:
                yield Endpoint(endpoint.addresses[0], number)  # the others are the same pod's
