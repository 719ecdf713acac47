"""The statuses of a world without a cluster: kept in memory, as an API server would keep them."""

from collections.abc import Mapping
from types import MappingProxyType

import msgspec
from msgspec import Raw, Struct

from legation.statuses import Moment, merged
from translator.names import Ref
from translator.objects.kinds import KINDS, Object
from translator.rules.status import Status
from translator.world import World

_TYPES = MappingProxyType({info.kind: info.type for info in KINDS})


class Judged(Struct, frozen=True):
    """What an object is to say about itself, and which generation of it was judged."""

    status: Status
    generation: int


class Notebook:
    """What every object's status says now."""

    def __init__(self) -> None:
        """Begin with nothing written."""
        self._statuses: Mapping[Ref, Status] = {}
        self._touched: set[Ref] = set()
        self._judged: dict[Ref, Judged] = {}
        self._written: dict[Ref, bytes] = {}

    def touch(self, ref: Ref) -> None:
        """Look at an object next time although its status is the same: its generation may be another."""
        self._touched.add(ref)

    def keep(self, world: World, statuses: Mapping[Ref, Status], now: str) -> Mapping[Ref, bytes]:
        """Write what is due, and return everything that is written; what nobody touched costs nothing."""
        for ref in self._due(statuses):
            thing = world.get(_TYPES[ref.kind], ref.name)
            if thing is not None:
                self._write(ref, thing, statuses[ref], now)
        self._statuses = statuses
        self._touched.clear()
        return dict(self._written)

    def judged(self) -> Mapping[Ref, Judged]:
        """Return what was judged, for whoever writes it elsewhere; an equal verdict is the same object."""
        return dict(self._judged)

    def _due(self, statuses: Mapping[Ref, Status]) -> set[Ref]:
        """Name what was touched or has another status, having let go of what has none any more."""
        if statuses is self._statuses:
            return {ref for ref in self._touched if ref in statuses}
        for ref in self._judged.keys() - statuses.keys():
            del self._judged[ref], self._written[ref]
        other = {ref for ref, status in statuses.items() if self._statuses.get(ref) is not status}
        return other | {ref for ref in self._touched if ref in statuses}

    def _write(self, ref: Ref, thing: Object, status: Status, now: str) -> None:
        judged = Judged(status, thing.metadata.generation)
        before = self._judged.get(ref)
        if before is not None and before.status is status and before.generation == judged.generation:
            return
        self._judged[ref] = judged
        existing = self._written[ref] if before else _as_found(thing)
        self._written[ref] = _merged(existing, status, Moment(now, judged.generation))


def _as_found(thing: Object) -> bytes:
    """Begin with the status that a manifest brings along, such as one that was copied out of a cluster."""
    return bytes(getattr(thing, "status", Raw()))


def _merged(existing: bytes, status: Status, moment: Moment) -> bytes:
    try:
        return merged(existing, status, moment)
    except msgspec.MsgspecError:  # no API server saw this status before: it may be anything
        return merged(b"", status, moment)
