"""What an Envoy takes at a replica: to come, to come again, to be told of changes; without its connection."""

import os
from collections.abc import Mapping
from time import process_time
from types import MappingProxyType

from envoy.service.discovery.v3 import discovery_pb2
from msgspec import Struct

from bench.cluster.usage import usage
from xds_server.hub import Hub, Seat
from xds_server.messages import DeltaAsk, delta_frame
from xds_server.report import Envoy
from xds_server.snapshot import CDS, LDS, SERVED, Snapshot

GROUP = "shop/g0"
Versions = Mapping[str, Mapping[str, str]]  # by type and name
NOTHING: Versions = MappingProxyType({})


class Visits(Struct, frozen=True):
    """What one Envoy takes at a replica, without its connection."""

    memory: int
    full: int  # bytes that a new one is sent
    join: float  # seconds of processor for that
    asked: int  # bytes that one says that comes again
    again: float  # seconds for one that comes again and has everything
    told: Mapping[str, float]  # seconds for it to have a change of a kind
    news: Mapping[str, int]  # bytes that it is sent then


class Visitor:
    """An Envoy of the first Gateway, as far as the hub sees it."""

    def __init__(self, hub: Hub, held: Versions = NOTHING) -> None:
        """Come, with what is held, and take everything else."""
        seat = hub.join(Envoy(GROUP, "envoy"), "here", whole=False, wake=lambda: None)
        assert isinstance(seat, Seat)
        self._hub, self._seat, self.received, self.resources = hub, seat, 0, 0
        for type_url in SERVED:
            names = () if type_url in (CDS, LDS) else tuple(hub.offered()[GROUP].names(type_url))
            hub.receive(seat, DeltaAsk(type_url, names, versions=held.get(type_url, {})))
        self.take()

    def take(self) -> None:
        """Take whatever there is, as Envoy does."""
        while (response := self._hub.next(self._seat)) is not None:
            self.received += len(delta_frame(response, "legation"))
            self.resources += len(response.entries)
            self._hub.receive(self._seat, DeltaAsk(response.type_url, nonce=response.nonce))


def visit(hub: Hub, changed: Mapping[str, Snapshot], number: int) -> Visits:
    """Have so many Envoys come to the first Gateway, come again, and be told of changes in turn."""
    Visitor(hub)  # whatever is made once is made now
    before, began = usage(os.getpid()).memory, process_time()
    visitors = [Visitor(hub) for _ in range(number)]
    join, memory = process_time() - began, usage(os.getpid()).memory - before
    full, held = visitors[0].received, hub.connected_of(GROUP)[0].versions
    began = process_time()
    visitors += (Visitor(hub, held) for _ in range(number))
    again = process_time() - began
    assert not visitors[-1].resources, "what an Envoy has was sent again"
    told, news = dict[str, float](), dict[str, int]()
    for what, snapshot in changed.items():
        before, began = sum(each.received for each in visitors), process_time()
        hub.publish(GROUP, snapshot)
        for each in visitors:
            each.take()
        told[what] = (process_time() - began) / len(visitors)
        news[what] = (sum(each.received for each in visitors) - before) // len(visitors)
    return Visits(memory // number, full, join / number, opening(held), again / number, told, news)


def opening(held: Versions) -> int:
    """Return how many bytes an Envoy says that comes again: what it asks for by name, and what it has."""
    asked = (
        discovery_pb2.DeltaDiscoveryRequest(
            type_url=type_url,
            resource_names_subscribe=() if type_url in (CDS, LDS) else named,
            initial_resource_versions=named,
        )
        for type_url, named in held.items()
    )
    return sum(each.ByteSize() for each in asked)
