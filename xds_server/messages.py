"""What is said on an ADS stream, without the protobuf."""

from collections.abc import Mapping

from msgspec import Struct

from xds_server import wire
from xds_server.snapshot import Entry


class Ask(Struct, frozen=True):
    """A state-of-the-world request: the whole list of names, each time."""

    type_url: str
    names: tuple[str, ...] = ()
    version: str = ""
    nonce: str = ""
    error: str | None = None


class DeltaAsk(Struct, frozen=True):
    """A delta request: what to add to the names and what to take away."""

    type_url: str
    subscribe: tuple[str, ...] = ()
    unsubscribe: tuple[str, ...] = ()
    versions: Mapping[str, str] = {}
    nonce: str = ""
    error: str | None = None


class Response(Struct, frozen=True):
    """What to send: a full set with its version, or a difference."""

    type_url: str
    nonce: str
    version: str
    entries: tuple[Entry, ...]
    removed: tuple[str, ...] = ()


def whole_frame(response: Response, control_plane: str) -> bytes:
    """A state-of-the-world response, joined from what was framed before."""
    return b"".join(
        (
            wire.text(1, response.version),
            *(entry.whole_frame for entry in response.entries),
            wire.text(4, response.type_url),
            wire.text(5, response.nonce),
            wire.field(6, wire.text(1, control_plane)),
        )
    )


def delta_frame(response: Response, control_plane: str) -> bytes:
    """A delta response, joined from what was framed before."""
    return b"".join(
        (
            wire.text(1, response.version),
            *(entry.delta_frame for entry in response.entries),
            wire.text(4, response.type_url),
            wire.text(5, response.nonce),
            wire.repeated(6, response.removed),
            wire.field(7, wire.text(1, control_plane)),
        )
    )
