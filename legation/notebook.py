"""The statuses of a world without a cluster: kept in memory, as an API server would keep them."""

from collections.abc import Mapping

import msgspec
from msgspec import Raw, Struct

from legation.alarm import Alarm
from legation.statuses import Moment, merged
from legation.turns import give_way
from translator.names import Ref
from translator.objects.kinds import BY_KIND, Object
from translator.rules.status import Status
from translator.world import World

SAYING = "what {} says"


class Judged(Struct, frozen=True, gc=False):
    """What an object is to say about itself, and which generation of it was judged."""

    status: Status
    generation: int


class Notes(Struct, frozen=True, eq=False):
    """What is written after a batch, and of whom that is another thing than before, or nothing any more."""

    statuses: Mapping[Ref, bytes]
    judged: Mapping[Ref, Judged]  # for whoever writes it elsewhere; an equal verdict is the same object
    news: frozenset[Ref]


class Notebook:
    """What every object's status says now."""

    def __init__(self, alarm: Alarm) -> None:
        """Begin with nothing written; what fails of one object is named there."""
        self._alarm = alarm
        self._touched: set[Ref] = set()
        self._doubted: frozenset[Ref] = frozenset()
        self._judged: dict[Ref, Judged] = {}
        self._written: dict[Ref, bytes] = {}

    def touch(self, ref: Ref) -> None:
        """Look at an object next time: its status or its generation is another, or it is gone."""
        self._touched.add(ref)

    def keep(self, world: World, statuses: Mapping[Ref, Status], doubted: frozenset[Ref], now: str) -> Notes:
        """Write what is due, and return everything that is written; what nobody touched costs nothing.

        Of what is doubted, what is served may be an older generation: that one stays the one that was judged.
        """
        self._touched |= self._doubted - doubted
        self._doubted = doubted
        silent = {ref for ref in self._touched if ref not in statuses}
        for ref in silent:
            self._alarm.end(SAYING, ref)
        gone = {ref for ref in silent if ref in self._judged}
        for ref in gone:
            del self._judged[ref], self._written[ref]
        due = self._touched - silent
        news: set[Ref] = set()
        self._touched = set(due)
        for ref in due:
            give_way()
            with self._alarm.guarding(SAYING, ref):
                thing = world.get(BY_KIND[ref.kind].type, ref.name)
                if thing is not None and self._write(ref, thing, statuses[ref], now):
                    news.add(ref)
                self._touched.remove(ref)  # unless it failed: then it is tried again
        return Notes(dict(self._written), dict(self._judged), frozenset(gone | news))

    def _write(self, ref: Ref, thing: Object, status: Status, now: str) -> bool:
        """Write one status, unless it was written like that."""
        before = self._judged.get(ref)
        newest = thing.metadata.generation
        judged = Judged(status, before.generation if before and ref in self._doubted else newest)
        if before is not None and before.status is status and before.generation == judged.generation:
            return False
        existing = self._written[ref] if before else _as_found(thing)
        self._written[ref] = _merged(existing, status, Moment(now, judged.generation, newest))
        self._judged[ref] = judged
        return True


def _as_found(thing: Object) -> bytes:
    """Begin with the status that a manifest brings along, such as one that was copied out of a cluster."""
    return bytes(getattr(thing, "status", Raw()))


def _merged(existing: bytes, status: Status, moment: Moment) -> bytes:
    try:
        return merged(existing, status, moment)
    except msgspec.MsgspecError:  # no API server saw this status before: it may be anything
        return merged(b"", status, moment)
