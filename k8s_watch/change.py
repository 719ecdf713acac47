"""What an informer tells of its kind: an object as it is now or gone, and how complete the picture is."""

from typing import Generic, TypeVar

from msgspec import Struct

from k8s_watch.kind import ObjectName

T_co = TypeVar("T_co", covariant=True)


class Put(Struct, Generic[T_co], frozen=True, gc=False):
    """An object is now like this."""

    name: ObjectName
    version: str  # what a write must name to be sure that nothing came between
    thing: T_co


class Gone(Struct, frozen=True, gc=False):
    """An object is no longer there."""

    name: ObjectName


class Unreadable(Struct, frozen=True):
    """An object is there and does not fit the struct of its kind; what it was before may be out of date."""

    name: ObjectName
    version: str
    why: str


class Synced(Struct, frozen=True):
    """All objects that there were have been told; said once."""


class Absent(Struct, frozen=True):
    """The API has no such kind; said again each time it goes."""


Change = Put[T_co] | Gone | Unreadable | Synced | Absent
