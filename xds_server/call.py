"""What we use of a gRPC call, and how an answer begins."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Protocol

import grpc

from xds_server.admission import Peer


class Call(Protocol):
    """What we use of a gRPC call."""

    async def read(self) -> bytes:
        """Wait for the next request, or the end."""

    async def send_initial_metadata(self, metadata: tuple[()]) -> None:
        """Begin to answer."""

    async def write(self, message: bytes) -> None:
        """Send as soon as the peer has room."""

    async def abort(self, code: grpc.StatusCode, details: str) -> None:
        """End with a status that is not OK."""

    def peer(self) -> str:
        """Say the other end's address."""

    def auth_context(self) -> Mapping[str, Iterable[bytes]]:
        """Say what the other end has proved."""


def peer_of(call: Call) -> Peer:
    """Say who is at the other end."""
    return Peer(call.peer(), {name: tuple(values) for name, values in call.auth_context().items()})


async def begin(call: Call) -> None:
    """Begin to answer before there is an answer: gRPC cannot end a call in the midst of its first message."""
    with suppress(grpc.aio.InternalError):  # the client has gone
        await call.send_initial_metadata(())
