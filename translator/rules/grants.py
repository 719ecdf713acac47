"""ReferenceGrant: which references may cross from one namespace into another."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from translator.memo import keyed
from translator.names import Name
from translator.objects.reference_grant import ReferenceGrant
from translator.world import Index, World


class Pointer(NamedTuple):
    """An object that refers to others, as a grant names it."""

    group: str
    kind: str
    namespace: str


class Pointee(NamedTuple):
    """An object that is referred to, as a grant names it."""

    group: str
    kind: str
    name: Name


Given = tuple[str, str, str | None]  # group, kind and name of what may be referred to; no name stands for all


def _sources(grant: ReferenceGrant) -> list[tuple[str, Pointer]]:
    """Name the namespace of a grant, with each of those whom it lets in."""
    home = grant.metadata.namespace
    return [(home, Pointer(each.group, each.kind, each.namespace)) for each in grant.spec.from_]


GRANTS_BY_SOURCE = Index(ReferenceGrant, _sources)


def permitted(world: World, pointer: Pointer, pointee: Pointee) -> bool:
    """Say whether a reference may be followed: always inside a namespace, by a grant across."""
    home = pointee.name.namespace
    return pointer.namespace == home or any(_given.at(world, each, home, pointer) for each in gifts(pointee))


def gifts(pointee: Pointee) -> tuple[Given, Given]:
    """Name what a grant may give so that an object can be referred to: all of its kind, or itself."""
    return (pointee.group, pointee.kind, None), (pointee.group, pointee.kind, pointee.name.name)


def given(grants: Iterable[ReferenceGrant]) -> Iterator[Given]:
    """Name what grants give to whomever they are for."""
    return ((to.group, to.kind, to.name) for grant in grants for to in grant.spec.to)


@keyed(rank=0)
def _given(world: World, namespace: str, pointer: Pointer) -> dict[Given, bool]:
    """Return what a namespace gives to somebody: found once, however many references ask."""
    return dict.fromkeys(given(world.where(GRANTS_BY_SOURCE, (namespace, pointer))), True)
