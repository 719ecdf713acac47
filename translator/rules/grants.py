"""ReferenceGrant: which references may cross from one namespace into another."""

from collections.abc import Iterable
from typing import NamedTuple

from translator.memo import query
from translator.names import Name
from translator.objects.reference_grant import ReferenceGrant, ReferenceGrantFrom, ReferenceGrantTo
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


GRANTS_BY_NAMESPACE = Index(ReferenceGrant, lambda grant: [grant.metadata.namespace])


def permitted(world: World, pointer: Pointer, pointee: Pointee) -> bool:
    """Say whether a reference may be followed: always inside a namespace, by a grant across."""
    return pointer.namespace == pointee.name.namespace or _granted(world, pointer, pointee)


@query
def _granted(world: World, pointer: Pointer, pointee: Pointee) -> bool:
    return permits(world.where(GRANTS_BY_NAMESPACE, pointee.name.namespace), pointer, pointee)


def permits(grants: Iterable[ReferenceGrant], pointer: Pointer, pointee: Pointee) -> bool:
    """Say whether a reference may be followed by the grants that its target's namespace gives."""
    return pointer.namespace == pointee.name.namespace or any(
        any(comes_from(pointer, source) for source in grant.spec.from_)
        and any(leads_to(pointee, to) for to in grant.spec.to)
        for grant in grants
    )


def comes_from(pointer: Pointer, source: ReferenceGrantFrom) -> bool:
    """Say whether an entry of a grant is for references of an object."""
    return (source.group, source.kind, source.namespace) == pointer


def leads_to(pointee: Pointee, to: ReferenceGrantTo) -> bool:
    """Say whether an entry of a grant is for references to an object."""
    return (to.group, to.kind) == pointee[:2] and to.name in (None, pointee.name.name)
