"""Which objects of a kind are worth reading, when most are nobody's business: no IO.

All that is watched is metadata. An object is read when it is wanted and its metadata says that it is new.
Every name that becomes wanted is answered by a Put, an Unreadable or a Gone; one that was there and is wanted
no more is answered by a Gone, so that nobody keeps it. Who wants an object may be told of sooner than it is:
one that is not known is looked for, and if it is there, its metadata is waited for.
"""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import Generic, TypeVar

from msgspec import Struct

from k8s_watch.change import Absent, Change, Gone, Put, Synced, Unreadable
from k8s_watch.kind import ObjectName

T = TypeVar("T")


class Errand(Struct, frozen=True):
    """An object to be read, which had this version when that was decided, or none: it may not be there."""

    name: ObjectName
    version: str


class Wants(Generic[T]):
    """What is wanted, what there is, and what has been told of it."""

    def __init__(self) -> None:
        """Begin wanting nothing and knowing nothing."""
        self._wanted: AbstractSet[ObjectName] = frozenset()
        self._versions: dict[ObjectName, str] = {}  # newest, by the metadata
        self._told: dict[ObjectName, str] = {}  # the version, or nothing where it was told to be gone
        self._due: dict[ObjectName, None] = {}
        self._running: dict[ObjectName, str] = {}
        self._complete = False
        self._absent = False

    def want(
        self, names: AbstractSet[ObjectName], anew: AbstractSet[ObjectName] = frozenset()
    ) -> list[Change[T]]:
        """Want these from now on, and no others; those to be told anew are answered for once more."""
        came, went = names - self._wanted, self._wanted - names
        self._wanted = names
        for name in anew & names - came:
            self._told.pop(name, None)
        for name in went:
            self._due.pop(name, None)
        told = [name for name in sorted(went) if self._told.pop(name, "")]
        return [*map(Gone, told), *self._look(came | (anew & names))]

    def learn(self, changes: Sequence[Change[object]]) -> list[Change[T]]:
        """Take in what the metadata says."""
        answers: list[Change[T]] = []
        for change in changes:
            match change:
                case Put() | Unreadable():
                    self._absent = False
                    self._versions[change.name] = change.version
                    self._ask_for(change.name)
                case Gone():
                    answers += self._lose(change.name)
                case Synced() | Absent():
                    self._complete, self._absent = True, isinstance(change, Absent)
                    answers += [change, *self._look(self._wanted)]
        return answers

    def next_errand(self) -> Errand | None:
        """Return an object to be read now, if there is one; `read` or `put_off` must follow."""
        if not self._due:
            return None
        name = next(iter(self._due))
        del self._due[name]
        self._running[name] = version = self._versions.get(name, "")
        return Errand(name, version)

    def read(self, errand: Errand, found: Put[T] | Unreadable | None) -> list[Change[T]]:
        """Take in what an errand brought, unless it is out of date."""
        name = errand.name
        self._return(errand)
        if name not in self._wanted or self._versions.get(name, "") != errand.version:
            return []
        if found is None:
            return self._tell_gone(name)
        if not errand.version:
            return []  # its metadata is on its way, and will say once it is gone
        if self._told.get(name) == found.version:
            return []
        self._told[name] = found.version
        return [found]

    def lacks(self, name: ObjectName) -> bool:
        """Say whether an object that is there, and wanted, is still to be read in its newest version."""
        version = self._versions.get(name)
        return name in self._wanted and version is not None and self._told.get(name) != version

    def put_off(self, errand: Errand) -> None:
        """The errand came to nothing, so it is to be done again."""
        self._return(errand)
        self._ask_for(errand.name)

    def _return(self, errand: Errand) -> None:
        if self._running.get(errand.name) == errand.version:
            del self._running[errand.name]

    def _look(self, names: Iterable[ObjectName]) -> list[Change[T]]:
        """Have objects read; once all are known, others are looked for, unless the kind is absent."""
        answers: list[Change[T]] = []
        for name in sorted(names):
            if name in self._versions or (self._complete and not self._absent):
                self._ask_for(name)
            elif self._complete:
                answers += self._tell_gone(name)
        return answers

    def _ask_for(self, name: ObjectName) -> None:
        version = self._versions.get(name, "")
        if name in self._wanted and version not in (self._told.get(name), self._running.get(name)):
            self._due[name] = None

    def _lose(self, name: ObjectName) -> list[Change[T]]:
        del self._versions[name]
        self._due.pop(name, None)
        return self._tell_gone(name) if name in self._wanted else []

    def _tell_gone(self, name: ObjectName) -> list[Change[T]]:
        if self._told.get(name) == "":
            return []
        self._told[name] = ""
        return [Gone(name)]
