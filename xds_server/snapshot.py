"""Everything offered to one group of Envoys at one moment, and the difference between two moments."""

from collections.abc import Iterable, Mapping
from functools import cached_property

from msgspec import Struct
from xxhash import xxh3_128_hexdigest

from xds_server import wire

TYPE = "type.googleapis.com/envoy."
CDS = f"{TYPE}config.cluster.v3.Cluster"
EDS = f"{TYPE}config.endpoint.v3.ClusterLoadAssignment"
SDS = f"{TYPE}extensions.transport_sockets.tls.v3.Secret"
LDS = f"{TYPE}config.listener.v3.Listener"
RDS = f"{TYPE}config.route.v3.RouteConfiguration"
SERVED = (CDS, EDS, SDS, LDS, RDS)  # also the order in which one change is sent
EMPTY = (  # Envoy may ask for these; we know them and have none
    f"{TYPE}config.route.v3.ScopedRouteConfiguration",
    f"{TYPE}config.route.v3.VirtualHost",
    f"{TYPE}config.core.v3.TypedExtensionConfig",
    f"{TYPE}service.runtime.v3.Runtime",
)
RESOURCES_FIELD = 2  # of both kinds of discovery response


def content_version(content: bytes) -> str:
    """Equal for equal content, over streams, replicas and restarts."""
    return xxh3_128_hexdigest(content)


class Resource(Struct, frozen=True):
    """One serialized Envoy message, with what it says about others, so that nobody here parses it."""

    body: bytes
    targets: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    endpoints: str | None = None

    @property
    def children(self) -> list[tuple[str, str]]:
        """What it waits for when it comes, by type and name."""
        secrets = [(SDS, name) for name in self.secrets]
        return secrets if self.endpoints is None else [(EDS, self.endpoints), *secrets]


class Entry(Struct, frozen=True, eq=False, dict=True):
    """A resource under its name; version and wire form are made once, for however many Envoys."""

    type_url: str
    name: str
    resource: Resource

    @cached_property
    def version(self) -> str:
        """Of the bytes alone."""
        return content_version(self.resource.body)

    @cached_property
    def whole_frame(self) -> bytes:
        """Its place in a state-of-the-world response."""
        return wire.field(RESOURCES_FIELD, wire.packed(self.type_url, self.resource.body))

    @cached_property
    def delta_frame(self) -> bytes:
        """Its place in a delta response."""
        framed = wire.named(self.name, self.version, self.type_url, self.resource.body)
        return wire.field(RESOURCES_FIELD, framed)

    @cached_property
    def leads_to_nobody(self) -> bool:
        """Whether these are endpoints, of which there are none."""
        return self.type_url == EDS and self.resource.body == _nobody(self.name)


def _nobody(name: str) -> bytes:
    return wire.text(1, name)


def no_endpoints(name: str) -> Entry:
    """An empty ClusterLoadAssignment: an answer, where silence would keep a cluster cold."""
    return Entry(EDS, name, Resource(_nobody(name)))


class Snapshot(Struct, frozen=True, eq=False, dict=True):
    """Entries by type and name; nobody changes one, a successor shares what stays."""

    entries: Mapping[str, Mapping[str, Entry]]

    @classmethod
    def of(
        cls, resources: Mapping[str, Mapping[str, Resource]], previous: "Snapshot | None" = None
    ) -> "Snapshot":
        """The whole offer; entries of the previous one whose content is equal are kept."""
        before = previous or cls({type_url: {} for type_url in SERVED})
        changes: dict[str, dict[str, Resource | None]] = {
            type_url: dict.fromkeys(before.entries[type_url].keys() - resources.get(type_url, {}).keys())
            for type_url in SERVED
        }
        for type_url, named in resources.items():
            changes[type_url].update(named)
        return before.amended(changes)

    def amended(self, changes: Mapping[str, Mapping[str, Resource | None]]) -> "Snapshot":
        """The successor in which some names have another resource, or None; costs what changed."""
        touched = {type_url: self._amend(type_url, named) for type_url, named in changes.items()}
        if all(touched[type_url] is self.entries[type_url] for type_url in touched):
            return self
        return Snapshot({**self.entries, **touched})

    def _amend(self, type_url: str, named: Mapping[str, Resource | None]) -> Mapping[str, Entry]:
        before = self.entries[type_url]
        after = dict(before)
        for name, resource in named.items():
            if resource is None:
                after.pop(name, None)
            elif name not in before or before[name].resource != resource:
                after[name] = Entry(type_url, name, resource)
        unchanged = len(after) == len(before) and all(after.get(name) is before.get(name) for name in named)
        return before if unchanged else after

    def find(self, type_url: str, name: str) -> Entry | None:
        """What a client gets for a name; a cluster whose endpoints nobody gave has none, not silence."""
        entry = self.entries.get(type_url, {}).get(name)
        if entry is None and type_url == EDS and name in self._endpoint_names:
            return no_endpoints(name)
        return entry

    @cached_property
    def _endpoint_names(self) -> frozenset[str]:
        clusters = self.entries[CDS].values()
        return frozenset(entry.resource.endpoints for entry in clusters if entry.resource.endpoints)

    def names(self, type_url: str) -> frozenset[str]:
        """Every name of a type of which a client gets something."""
        given = self.entries.get(type_url, {}).keys()
        return self._endpoint_names | given if type_url == EDS else frozenset(given)


def changed(before: Snapshot | None, after: Snapshot) -> dict[str, set[str]]:
    """The names of each type of which a client gets something now, nothing any more, or something else."""
    if before is None:
        return {type_url: set(after.names(type_url)) for type_url in after.entries}
    differing = {
        type_url: _differing(before.entries[type_url], named)
        for type_url, named in after.entries.items()
        if named is not before.entries[type_url]
    }
    differing[EDS] = differing.get(EDS, set()) | _implied(differing.get(CDS, ()), before, after)
    return {type_url: names for type_url, names in differing.items() if names}


def _differing(before: Mapping[str, Entry], after: Mapping[str, Entry]) -> set[str]:
    gone = before.keys() - after.keys()
    return gone | {name for name, entry in after.items() if before.get(name) is not entry}


def _implied(clusters: Iterable[str], before: Snapshot, after: Snapshot) -> set[str]:
    """Endpoints of which there are none, or were none, only because a cluster names them, or named them."""
    users = (offer.find(CDS, name) for name in clusters for offer in (before, after))
    named = {user.resource.endpoints for user in users if user}
    return {
        name for name in named if name and (before.find(EDS, name) is None) != (after.find(EDS, name) is None)
    }
