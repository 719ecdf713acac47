"""The table of contents: everything that a world asks for."""

from collections.abc import Mapping

from msgspec import Struct

from translator.envoy.resource import Resource
from translator.names import Name, Ref
from translator.rules.status import Status
from translator.world import World

Resources = Mapping[str, Mapping[str, Resource]]  # by type and name


class Translation(Struct, frozen=True):
    """What Envoys are to have, by Gateway, and what the objects are to say about themselves."""

    gateways: Mapping[Name, Resources]
    statuses: Mapping[Ref, Status]
    broken: Mapping[str, Exception]  # our own mistakes: what stayed as it was, and why


def translate(world: World) -> Translation:
    """Bring everything up to date; what is equal to last time is the same object as last time."""
    raise NotImplementedError
