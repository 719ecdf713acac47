"""What sources tell the translation: an object was put or is gone, a fact holds."""

from datetime import datetime
from typing import Generic, TypeVar

from msgspec import Struct

from translator.names import Name, Ref
from translator.world import Fact, World

T = TypeVar("T")


class Put(Struct, frozen=True, gc=False):
    """An object as it is now; None where it is gone."""

    kind: type
    name: Name
    thing: object | None
    version: str = ""  # of the API server, which nothing is made from

    def __str__(self) -> str:
        """Name it, and its version if there is one: `Service shop/pay@4711`."""
        return f"{Ref(self.kind.__name__, self.name)}{'@' if self.version else ''}{self.version}"


class Stated(Struct, Generic[T], frozen=True):
    """A fact that holds now."""

    fact: Fact[T]
    value: T

    def tell(self, world: World) -> None:
        """Put it into a world."""
        world.state(self.fact, self.value)


def written(moment: datetime) -> str:
    """Write a time as Kubernetes does, to the second: `2026-01-31T12:00:00Z`."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
