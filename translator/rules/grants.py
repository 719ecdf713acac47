"""ReferenceGrant: which references may cross from one namespace into another."""

from collections.abc import Iterable
from typing import NamedTuple

from translator.memo import query
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
        any((source.group, source.kind, source.namespace) == pointer for source in grant.spec.from_)
        and any(
            (to.group, to.kind) == pointee[:2] and to.name in (None, pointee.name.name)
            for to in grant.spec.to
        )
        for grant in grants
    )
