"""What became of what was offered, for logs, metrics and the status of objects."""

from msgspec import Struct


class Envoy(Struct, frozen=True):
    """Who is at the other end: the group decides what it gets, the node id tells instances apart."""

    group: str
    node: str


class Cause(Struct, frozen=True):
    """Why something is offered, by a number, and since when it is due, by the hub's clock."""

    number: int
    since: float


class Sent(Struct, frozen=True):
    """A response is on its way to an Envoy."""

    envoy: Envoy
    type_url: str
    resources: int
    size: int  # bytes


class Accepted(Struct, frozen=True):
    """An Envoy took these versions; a name without a version was removed."""

    envoy: Envoy
    type_url: str
    versions: dict[str, str]
    removed: tuple[str, ...] = ()
    waited: float = 0.0  # seconds, from the response to its answer


class Rejected(Struct, frozen=True):
    """An Envoy refused these versions; while not isolated, the culprit is only known to be among them."""

    envoy: Envoy
    type_url: str
    versions: dict[str, str]
    error: str
    isolated: bool
    waited: float = 0.0


class Overdue(Struct, frozen=True):
    """A change went ahead although what it waited for never came, because waits are bounded."""

    envoy: Envoy
    type_url: str
    name: str
    waited: float


class TurnedAway(Struct, frozen=True):
    """A stream was ended by us, for its own fault or for asking too much."""

    group: str
    node: str
    reason: str


class Begun(Struct, frozen=True):
    """The first response that brings a change is on its way to an Envoy of a group."""

    group: str
    cause: Cause


class Arrived(Struct, frozen=True):
    """Every connected Envoy of a group has answered all that came of a change; one may have refused some."""

    group: str
    cause: Cause
    refused: bool


Report = Sent | Accepted | Rejected | Overdue | TurnedAway | Begun | Arrived
