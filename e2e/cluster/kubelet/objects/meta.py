"""What every object says of itself."""

from msgspec import Struct, field

Labels = dict[str, str]


class ObjectMeta(Struct, frozen=True, rename="camel"):
    """What every object says of itself."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    generation: int = 0
    labels: Labels = field(default_factory=dict)
    annotations: Labels = field(default_factory=dict)
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int = 0
