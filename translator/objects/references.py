"""How one object points at another."""

from typing import Annotated

from translator.objects.constraints import Between
from translator.objects.meta import Part
from translator.objects.scalars import Group, Kind, Namespace, ObjectName, PortNumber, SectionName

GATEWAY_GROUP = "gateway.networking.k8s.io"


class LocalObjectReference(Part, frozen=True):
    """An object of any kind in the same namespace."""

    group: Group
    kind: Kind
    name: ObjectName


class ObjectReference(Part, frozen=True):
    """An object of any kind, perhaps in another namespace."""

    group: Group
    kind: Kind
    name: ObjectName
    namespace: Namespace | None = None


class SecretObjectReference(Part, frozen=True):
    """A Secret unless it says otherwise."""

    name: ObjectName
    group: Group = ""
    kind: Kind = "Secret"
    namespace: Namespace | None = None


class ParentReference(Part, frozen=True):
    """The Gateway, ListenerSet or Service a route wants to be attached to, or one section of it."""

    name: ObjectName
    group: Group = GATEWAY_GROUP
    kind: Kind = "Gateway"
    namespace: Namespace | None = None
    section_name: SectionName | None = None
    port: PortNumber | None = None


class BackendObjectReference(Part, frozen=True):
    """Where a filter sends a request: a port of a Service unless it says otherwise."""

    name: ObjectName
    group: Group = ""
    kind: Kind = "Service"
    namespace: Namespace | None = None
    port: PortNumber | None = None


class BackendRef(Part, frozen=True):
    """Where a rule sends its share of the traffic: a port of a Service unless it says otherwise."""

    name: ObjectName
    group: Group = ""
    kind: Kind = "Service"
    namespace: Namespace | None = None
    port: PortNumber | None = None
    weight: Annotated[int, Between(0, 1_000_000)] = 1


class PolicyTargetReference(Part, frozen=True):
    """The object a policy is about, or one section of it."""

    group: Group
    kind: Kind
    name: ObjectName
    section_name: SectionName | None = None
