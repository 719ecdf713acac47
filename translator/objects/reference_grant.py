"""ReferenceGrant: which objects of other namespaces may point at objects of this one."""

from typing import Annotated

from msgspec import Raw, field

from translator.objects.constraints import Items
from translator.objects.meta import ObjectMeta, Part
from translator.objects.scalars import Group, Kind, Namespace, ObjectName


class ReferenceGrantFrom(Part, frozen=True):
    """Who may point here."""

    group: Group
    kind: Kind
    namespace: Namespace


class ReferenceGrantTo(Part, frozen=True):
    """What may be pointed at; without a name, every object of the kind."""

    group: Group
    kind: Kind
    name: ObjectName | None = None


class ReferenceGrantSpec(Part, frozen=True):
    """Every pair of one `from` and one `to` is allowed."""

    from_: Annotated[tuple[ReferenceGrantFrom, ...], Items(1, 16)] = field(name="from")
    to: Annotated[tuple[ReferenceGrantTo, ...], Items(1, 16)]


class ReferenceGrant(Part, frozen=True):
    """A permission that the owner of a namespace gives."""

    metadata: ObjectMeta
    spec: ReferenceGrantSpec
    api_version: str = "gateway.networking.k8s.io/v1"
    status: Raw = Raw()
