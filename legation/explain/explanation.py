"""What is said of an object or of a request: what `legation explain` shows, and machines read."""

from typing import Literal

import msgspec
from msgspec import Struct, structs

from legation.atlas.landscape import Leads, Thing
from legation.atlas.portraits import Said


class About(Struct, frozen=True, rename="camel"):
    """What an object says of itself: in respect of a parent, an ancestor or a listener, or as a whole."""

    where: str
    said: tuple[Said, ...]
    attached_routes: int | None = None


class Place(Struct, frozen=True, rename="camel"):
    """Where in a Gateway traffic meets something."""

    gateway: Thing
    port: str
    speaks: str
    listener: str
    hostname: str
    leads: Leads
    table: str = ""


class Lost(Struct, frozen=True):
    """A policy that would govern a port, and why another one does."""

    policy: Thing
    why: str


class Contest(Struct, frozen=True):
    """Which policy governs a port, and which do not."""

    port: str
    winner: Thing | None
    lost: tuple[Lost, ...]


class Door(Struct, frozen=True, rename="camel"):
    """What a Gateway makes of a request."""

    gateway: Thing
    words: str
    served: bool = False
    place: Place | None = None  # that takes it
    passed_over: tuple[str, ...] = ()  # matches that come before, and what they want
    about: tuple[About, ...] = ()  # what the route says that takes it and does not serve it


class Absent(Struct, frozen=True):
    """A route that names the host of a request, and is not asked about it."""

    route: Thing
    about: tuple[About, ...]


class Held(Struct, frozen=True, rename="camel"):
    """What an Envoy holds of a resource that takes part."""

    gateway: str
    node: str
    type: str
    resource: str
    state: Literal["newest", "behind", "refused", "absent"]
    version: str = ""
    offered: str = ""
    error: str = ""
    replica: str = ""


class OfObject(Struct, frozen=True, tag_field="explains", tag="object", rename="camel"):
    """Why an object is or is not served."""

    object: Thing
    served: bool
    words: str
    about: tuple[About, ...] = ()
    places: tuple[Place, ...] = ()
    contests: tuple[Contest, ...] = ()
    attached: tuple[Thing, ...] = ()  # routes to a Gateway or a ListenerSet
    users: tuple[Thing, ...] = ()  # who refers to it
    envoys: tuple[Held, ...] = ()


class OfRequest(Struct, frozen=True, tag_field="explains", tag="request", rename="camel"):
    """Where a request goes, and why no other way."""

    request: str
    served: bool
    words: str
    doors: tuple[Door, ...]
    contests: tuple[Contest, ...] = ()
    absent: tuple[Absent, ...] = ()
    envoys: tuple[Held, ...] = ()


class Unknown(Struct, frozen=True, tag_field="explains", tag="nothing"):
    """What was asked about is not there, or cannot be read."""

    words: str
    similar: tuple[str, ...] = ()


Explanation = OfObject | OfRequest | Unknown


def as_json(explanation: Explanation) -> bytes:
    """Write it for machines."""
    return msgspec.json.encode(explanation)


def read_explanation(written: bytes) -> Explanation:
    """Read what a running process answered."""
    return msgspec.json.decode(written, type=OfObject | OfRequest | Unknown)


def places(explanation: OfObject | OfRequest) -> tuple[Place, ...]:
    """Return every place that takes part."""
    match explanation:
        case OfObject():
            return explanation.places
        case OfRequest():
            return tuple(door.place for door in explanation.doors if door.place)


def held_by(explanation: Explanation, envoys: tuple[Held, ...]) -> Explanation:
    """Add what Envoys hold."""
    match explanation:
        case OfObject() | OfRequest():
            return structs.replace(explanation, envoys=(*explanation.envoys, *envoys))
        case Unknown():
            return explanation
