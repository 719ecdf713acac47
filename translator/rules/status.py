"""The shape that each kind's status has: verdicts without times, without other controllers' entries."""

from msgspec import Struct

from translator.verdict import Condition


class Address(Struct, frozen=True):
    """An address of a Gateway."""

    type: str
    value: str
    routability: str | None = None  # None where the API has no field for it


class RouteKind(Struct, frozen=True):
    """A kind of route that a listener takes."""

    group: str
    kind: str


class ListenerStatus(Struct, frozen=True):
    """One listener's entry."""

    name: str
    supported_kinds: tuple[RouteKind, ...]
    attached_routes: int
    conditions: tuple[Condition, ...]


class GatewayClassStatus(Struct, frozen=True):
    """Ours to write whole, save foreign conditions."""

    conditions: tuple[Condition, ...]
    supported_features: tuple[str, ...] = ()


class GatewayStatus(Struct, frozen=True):
    """A Gateway's, save foreign conditions."""

    conditions: tuple[Condition, ...]
    listeners: tuple[ListenerStatus, ...]
    addresses: tuple[Address, ...] = ()
    attached_listener_sets: int = 0


class ListenerSetStatus(Struct, frozen=True):
    """A ListenerSet's, save foreign conditions."""

    conditions: tuple[Condition, ...]
    listeners: tuple[ListenerStatus, ...]


class ParentRef(Struct, frozen=True):
    """A parent as the route names it, or a policy's ancestor; what is None is not written."""

    group: str
    kind: str
    name: str
    namespace: str | None = None
    section_name: str | None = None
    port: int | None = None


class ParentStatus(Struct, frozen=True):
    """What one parent, or one ancestor, made of a route or a policy."""

    parent: ParentRef
    conditions: tuple[Condition, ...]


MOST_PARENTS = 32  # as all others of these: that the API server takes, other controllers' entries included
MOST_ANCESTORS = 16
MOST_BACKEND_ANCESTORS = 32


class RouteStatus(Struct, frozen=True):
    """Our entries of `status.parents`; other controllers' stay as they are."""

    parents: tuple[ParentStatus, ...]


class PolicyStatus(Struct, frozen=True):
    """Our entries of `status.ancestors`; other controllers' stay as they are."""

    ancestors: tuple[ParentStatus, ...]


class BackendStatus(Struct, frozen=True):
    """The same of an XBackend, which has room for more of them."""

    ancestors: tuple[ParentStatus, ...]


Status = GatewayClassStatus | GatewayStatus | ListenerSetStatus | RouteStatus | PolicyStatus | BackendStatus
