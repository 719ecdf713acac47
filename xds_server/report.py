"""What became of what was offered, for logs, metrics and the status of objects."""

from msgspec import Struct


class Envoy(Struct, frozen=True):
    """Who is at the other end: the group decides what it gets, the node id tells instances apart."""

    group: str
    node: str


class Accepted(Struct, frozen=True):
    """An Envoy took these versions; a name without a version was removed."""

    envoy: Envoy
    type_url: str
    versions: dict[str, str]
    removed: tuple[str, ...] = ()


class Rejected(Struct, frozen=True):
    """An Envoy refused these versions; while not isolated, the culprit is only known to be among them."""

    envoy: Envoy
    type_url: str
    versions: dict[str, str]
    error: str
    isolated: bool


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


Report = Accepted | Rejected | Overdue | TurnedAway
