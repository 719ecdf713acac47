"""Where replicas of the control plane are: the endpoints of our own Service, ready or not.

An Envoy stays connected to a replica that is not ready, or is about to end. One of several addresses of an
endpoint is enough; a replica with addresses of two families is found, and followed, twice.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from k8s_watch.change import Absent, Change, Gone, Put, Synced, Unreadable
from k8s_watch.kind import Kind, ObjectName
from legation.addresses import HostPort
from legation.kinds import watched
from translator.objects.endpoint_slice import EndpointSlice
from translator.objects.kinds import BY_KIND
from translator.rules.endpoints import SERVICE_LABEL

PORT = "xds"  # as the Service names it


def slices_of(service: str) -> Kind[EndpointSlice]:
    """Say which slices are watched."""
    kind = watched(BY_KIND[EndpointSlice.__name__])
    return Kind(kind.group, kind.versions, kind.plural, EndpointSlice, selector=f"{SERVICE_LABEL}={service}")


class ReplicaSlices:
    """The slices of one Service, as they are told."""

    def __init__(self, default_port: int, find: Callable[[Iterable[str]], None]) -> None:
        """Pass on addresses once all slices are known; where a slice names no port, take the default."""
        self._default_port = default_port
        self._find = find
        self._slices: dict[ObjectName, EndpointSlice] = {}
        self._complete = False

    async def listen(self, changes: Sequence[Change[EndpointSlice]]) -> None:
        """Take in what an informer tells."""
        for change in changes:
            match change:
                case Put(name=name, thing=thing):
                    self._slices[name] = thing
                case Gone(name=name):
                    self._slices.pop(name, None)
                case Synced() | Absent():
                    self._complete = True
                case Unreadable():
                    pass
        if self._complete:
            self._find({str(each) for each in self._addresses()})

    def _addresses(self) -> Iterator[HostPort]:
        for each in self._slices.values():
            named = (port.port for port in each.ports or () if port.name == PORT and port.port)
            port = next(named, self._default_port)
            for endpoint in each.endpoints or ():
                yield HostPort(endpoint.addresses[0], port)
