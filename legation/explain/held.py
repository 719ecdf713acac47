"""What each Envoy holds of the resources that an explanation speaks of."""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from msgspec import structs

from legation.atlas.ways import destinations
from legation.explain.explanation import Explanation, Held, OfObject, Unknown, places
from xds_server.hub import Connected
from xds_server.snapshot import CDS, LDS, RDS, Snapshot

TYPES = MappingProxyType({LDS: "listener", RDS: "routes", CDS: "cluster"})


class Resource(NamedTuple):
    """One resource of one Gateway."""

    gateway: str
    type_url: str
    name: str


def held(
    explanation: Explanation, snapshots: Mapping[str, Snapshot], envoys: Iterable[Connected]
) -> tuple[Held, ...]:
    """Compare what each Envoy holds with what it is offered."""
    wanted = sorted(set(_resources(explanation, snapshots)))
    return tuple(
        _held(each, resource, snapshots.get(resource.gateway))
        for each in envoys
        for resource in wanted
        if resource.gateway == each.envoy.group
    )


def _resources(explanation: Explanation, snapshots: Mapping[str, Snapshot]) -> Iterator[Resource]:
    if isinstance(explanation, Unknown):
        return
    if isinstance(explanation, OfObject) and explanation.object.kind == "Gateway":
        group = str(explanation.object.ref.name)
        snapshot = snapshots.get(group)
        yield from (Resource(group, LDS, name) for name in (snapshot.names(LDS) if snapshot else ()))
    for place in places(explanation):
        group = str(place.gateway.ref.name)
        yield Resource(group, LDS, place.port)
        if place.table:
            yield Resource(group, RDS, place.table)
        yield from (Resource(group, CDS, each.cluster) for each in destinations(place.leads))


def _held(connected: Connected, resource: Resource, snapshot: Snapshot | None) -> Held:
    group, type_url, name = resource
    entry = snapshot.find(type_url, name) if snapshot else None
    offered = entry.version if entry else ""
    version = connected.versions.get(type_url, {}).get(name, "")
    told = Held(group, connected.envoy.node, TYPES[type_url], name, "newest", version, offered)
    if rejection := connected.rejections.get(type_url, {}).get(name):
        return structs.replace(told, state="refused", error=rejection.error)
    if not version:
        return structs.replace(told, state="absent")
    return told if version == offered else structs.replace(told, state="behind")
