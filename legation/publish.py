"""Translation -> snapshots: what did not change keeps its identity, and with it its version and its bytes."""

import asyncio
from collections.abc import Mapping
from types import MappingProxyType

from msgspec import Struct

from translator.envoy import resource
from translator.names import Name
from translator.translate import Resources
from xds_server.hub import Hub
from xds_server.report import Cause
from xds_server.snapshot import Resource, Snapshot


class Move(Struct, frozen=True, gc=False):
    """One resource of one Gateway, before and after; None where it was not there, or is not any more."""

    before: resource.Resource | None
    after: resource.Resource | None


Moves = Mapping[str, Mapping[str, Mapping[str, Move]]]  # by Gateway, type and name
NOTHING_MOVED: Moves = MappingProxyType({})


class Publisher:
    """The newest snapshot of each Gateway, made from the one before, and what differs between the two."""

    def __init__(self) -> None:
        """Begin with nothing published."""
        self._sources: Mapping[Name, Resources] = {}
        self._snapshots: dict[Name, Snapshot] = {}
        self.moves = NOTHING_MOVED

    def snapshots(self, gateways: Mapping[Name, Resources]) -> dict[str, Snapshot]:
        """Return every Gateway's snapshot under the name that its Envoys give as their cluster."""
        self.moves = {
            str(name): _moves(self._sources.get(name, {}), gateways.get(name, {}))
            for name in self._sources.keys() | gateways.keys()
            if self._sources.get(name) is not gateways.get(name)
        }
        self._snapshots = {name: self._successor(name) for name in gateways}
        self._sources = gateways
        return {str(name): snapshot for name, snapshot in self._snapshots.items()}

    def _successor(self, name: Name) -> Snapshot:
        before, moves = self._snapshots.get(name), self.moves.get(str(name))
        if before is not None and moves is None:
            return before
        news = {
            type_url: {each: _offer(move.after) for each, move in moved.items()}
            for type_url, moved in (moves or {}).items()
        }
        return (before or Snapshot.of({})).amended(news)


def _moves(before: Resources, after: Resources) -> dict[str, dict[str, Move]]:
    types = before.keys() | after.keys()
    return {each: _moved(before.get(each, {}), after.get(each, {})) for each in types}


def _moved(
    before: Mapping[str, resource.Resource], after: Mapping[str, resource.Resource]
) -> dict[str, Move]:
    if before is after:
        return {}
    gone = {name: Move(before[name], None) for name in before.keys() - after.keys()}
    news = {
        name: Move(before.get(name), made) for name, made in after.items() if made is not before.get(name)
    }
    return gone | news


def _offer(made: resource.Resource | None) -> Resource | None:
    if made is None:
        return None
    return Resource(made.body, targets=made.targets, secrets=made.secrets, endpoints=made.endpoints)


class Offers:
    """Hands the hub what differs from what it was handed before."""

    def __init__(self, hub: Hub) -> None:
        """Begin with nothing offered."""
        self._hub = hub
        self._offered: dict[str, Snapshot] = {}

    async def offer(self, snapshots: Mapping[str, Snapshot], cause: Cause | None = None) -> frozenset[str]:
        """Offer what is new, with turns for others between two Gateways; name those whose Envoys it concerns.

        Towards a Gateway that is gone, fall silent: its Envoys keep what they have.
        """
        for group in self._offered.keys() - snapshots.keys():
            self._hub.withdraw(group)
            del self._offered[group]
        concerned = set[str]()
        for group, snapshot in snapshots.items():
            if self._offered.get(group) is not snapshot:
                if self._hub.publish(group, snapshot, cause):
                    concerned.add(group)
                self._offered[group] = snapshot  # only now: what failed is offered again
                await asyncio.sleep(0)
        return frozenset(concerned)
