"""Translation -> snapshots: what did not change keeps its identity, and with it its version and its bytes."""

from collections.abc import Mapping

from translator.envoy import resource
from translator.names import Name
from translator.translate import Resources
from xds_server.hub import Hub
from xds_server.report import Cause
from xds_server.snapshot import Resource, Snapshot


class Publisher:
    """The newest snapshot of each Gateway, made from the one before."""

    def __init__(self) -> None:
        """Begin with nothing published."""
        self._sources: Mapping[Name, Resources] = {}
        self._snapshots: dict[Name, Snapshot] = {}

    def snapshots(self, gateways: Mapping[Name, Resources]) -> dict[str, Snapshot]:
        """Return every Gateway's snapshot under the name that its Envoys give as their cluster."""
        self._snapshots = {name: self._successor(name, resources) for name, resources in gateways.items()}
        self._sources = gateways
        return {str(name): snapshot for name, snapshot in self._snapshots.items()}

    def _successor(self, name: Name, resources: Resources) -> Snapshot:
        before = self._sources.get(name)
        if before is None:
            return Snapshot.of({type_url: _offered({}, named) for type_url, named in resources.items()})
        if before is resources:
            return self._snapshots[name]
        types = before.keys() | resources.keys()
        changes = {each: _changes(before.get(each, {}), resources.get(each, {})) for each in types}
        return self._snapshots[name].amended(changes)


def _changes(
    before: Mapping[str, resource.Resource], after: Mapping[str, resource.Resource]
) -> dict[str, Resource | None]:
    gone: dict[str, Resource | None] = dict.fromkeys(before.keys() - after.keys())
    return gone | _offered(before, after)


def _offered(
    before: Mapping[str, resource.Resource], after: Mapping[str, resource.Resource]
) -> dict[str, Resource]:
    return {name: _offer(made) for name, made in after.items() if made is not before.get(name)}


def _offer(made: resource.Resource) -> Resource:
    return Resource(made.body, targets=made.targets, secrets=made.secrets, endpoints=made.endpoints)


class Offers:
    """Hands the hub what differs from what it was handed before."""

    def __init__(self, hub: Hub) -> None:
        """Begin with nothing offered."""
        self._hub = hub
        self._offered: Mapping[str, Snapshot] = {}

    def offer(self, snapshots: Mapping[str, Snapshot], cause: Cause | None = None) -> None:
        """Offer what is new; towards a Gateway that is gone, fall silent: its Envoys keep what they have."""
        for group in self._offered.keys() - snapshots.keys():
            self._hub.withdraw(group)
        for group, snapshot in snapshots.items():
            if self._offered.get(group) is not snapshot:
                self._hub.publish(group, snapshot, cause)
        self._offered = snapshots
