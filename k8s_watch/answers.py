"""What an API server answers, read from raw bytes: only the heads of objects, whose bodies stay as they are.

Most bodies need no reading: after a relist nearly all are known already. A body is read by whoever knows its
kind.
"""

from collections.abc import Iterable
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Raw, Struct, field

from k8s_watch.kind import ObjectName

INITIAL_EVENTS_END = "k8s.io/initial-events-end"
BROKEN = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class Item(Struct, frozen=True, gc=False):
    """One object: who it is, in which version, and its JSON."""

    name: ObjectName
    version: str
    body: Raw


class Removed(Struct, frozen=True, gc=False):
    """An object was deleted; this is the version of the deletion."""

    name: ObjectName
    version: str


class Bookmark(Struct, frozen=True):
    """Everything up to this version has been sent; perhaps it also ends the list that a watch began with."""

    version: str
    ends_list: bool = False


class Page(Struct, frozen=True):
    """Some objects of a list at one version; the rest is had by the token, if there is one."""

    items: tuple[Item, ...]
    version: str
    token: str = ""


class Part(Struct, frozen=True):
    """Some objects of a page whose other objects follow."""

    items: tuple[Item, ...]


class Found(Struct, frozen=True):
    """The API version under which the kind is served, if it is."""

    api_version: str | None


class Failed(Struct, frozen=True):
    """A request came to nothing; the code is HTTP's, or 0 where the server did not get to say one."""

    code: int
    reason: str
    retry_after: float = 0.0
    lasted: float = 0.0  # seconds for which it went well before

    def __str__(self) -> str:
        """Say it in words."""
        return f"{self.code or 'no answer'}: {self.reason}"


class Opened(Struct, frozen=True):
    """The server agreed to a watch, and says what happens from now on."""


class Ended(Struct, frozen=True):
    """The server ended a watch in good order."""

    lasted: float


class Waited(Struct, frozen=True):
    """The time to wait is over."""


Event = Item | Removed | Bookmark
Received = Event | Part | Page | Found | Opened | Failed | Ended | Waited


Text = Annotated[str, Meta(min_length=1)]


class _Metadata(Struct, frozen=True, rename="camel", gc=False):
    name: Text
    resource_version: Text
    namespace: str = ""


class _Head(Struct, frozen=True, gc=False):
    metadata: _Metadata


class _BookmarkMetadata(Struct, frozen=True, rename="camel"):
    resource_version: Text
    annotations: dict[str, str] = field(default_factory=dict)


class _Bookmark(Struct, frozen=True):
    metadata: _BookmarkMetadata


class _Line(Struct, frozen=True, gc=False):
    type: Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"]
    object: Raw


class _ListMetadata(Struct, frozen=True, rename="camel"):
    resource_version: Text
    token: str = field(default="", name="continue")


class _List(Struct, frozen=True):
    metadata: _ListMetadata
    items: list[Raw] | None = None  # Go writes an empty list as null, too


class _Details(Struct, frozen=True, rename="camel"):
    retry_after_seconds: float = 0.0


class _Status(Struct, frozen=True):
    code: int = 0
    reason: str = ""
    message: str = ""
    details: _Details | None = None


class _Resource(Struct, frozen=True):
    name: str


class _Resources(Struct, frozen=True):
    resources: list[_Resource] | None = None


_LINE = msgspec.json.Decoder(_Line)
_HEAD = msgspec.json.Decoder(_Head)
_LIST = msgspec.json.Decoder(_List)


def read_item(body: bytes | Raw) -> Item:
    """Read one object's head."""
    head = _HEAD.decode(body).metadata
    return Item(ObjectName(head.namespace, head.name), head.resource_version, Raw(body))


def read_page(body: bytes) -> Page:
    """Read one page of a list."""
    page = _LIST.decode(body)
    return Page(tuple(map(read_item, page.items or ())), page.metadata.resource_version, page.metadata.token)


def read_events(lines: Iterable[bytes]) -> list[Event | Failed]:
    """Read lines of a watch, up to one that nobody can read."""
    events: list[Event | Failed] = []
    try:
        for line in lines:
            events.append(read_event(line))  # noqa: PERF401  # what was read before a broken line counts
    except BROKEN as error:
        events.append(Failed(0, f"a line that cannot be read: {error}"))
    return events


def read_event(line: bytes) -> Event | Failed:
    """Read one line of a watch; the server may also say there that it failed."""
    event = _LINE.decode(line)
    match event.type:
        case "ADDED" | "MODIFIED":
            return read_item(event.object)
        case "DELETED":
            item = read_item(event.object)
            return Removed(item.name, item.version)
        case "BOOKMARK":
            return _bookmark(event.object)
        case "ERROR":
            return read_failure(0, bytes(event.object))


def _bookmark(body: Raw) -> Bookmark:
    metadata = msgspec.json.decode(body, type=_Bookmark).metadata
    return Bookmark(metadata.resource_version, metadata.annotations.get(INITIAL_EVENTS_END) == "true")


def read_failure(code: int, body: bytes, retry_after: str = "") -> Failed:
    """Read why the server refused; what stands between us and it may answer in other ways than the server."""
    try:
        status = msgspec.json.decode(body, type=_Status)
    except BROKEN:
        status = _Status()
    details = status.details or _Details()
    seconds = float(retry_after) if retry_after.isdecimal() else details.retry_after_seconds
    reason = status.message or status.reason or f"HTTP {code}"
    return Failed(code or status.code, reason, seconds)


def read_resources(body: bytes) -> frozenset[str]:
    """Read which kinds a version of a group has, by their plural names."""
    return frozenset(each.name for each in msgspec.json.decode(body, type=_Resources).resources or ())
