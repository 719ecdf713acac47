"""ListenerSet: listeners that others add to a Gateway."""

from msgspec import Raw

from translator.objects.listeners import Listeners
from translator.objects.meta import ObjectMeta, Part
from translator.objects.references import GATEWAY_GROUP
from translator.objects.scalars import Group, Kind, Namespace, ObjectName


class ParentGatewayReference(Part, frozen=True):
    """The Gateway that listeners are added to."""

    name: ObjectName
    group: Group = GATEWAY_GROUP
    kind: Kind = "Gateway"
    namespace: Namespace | None = None


class ListenerSetSpec(Part, frozen=True):
    """The Gateway and what is added to it."""

    parent_ref: ParentGatewayReference
    listeners: Listeners


class ListenerSet(Part, frozen=True):
    """More listeners for a Gateway."""

    metadata: ObjectMeta
    spec: ListenerSetSpec
    api_version: str = "gateway.networking.k8s.io/v1"
    status: Raw = Raw()
