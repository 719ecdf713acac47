"""What a client says before anything is encrypted: RFC 8446, section 4.1.2, as far as tests ask."""

from collections.abc import Iterator

from msgspec import Struct

SERVER_NAME, GROUPS, ALPN, RESUMPTION, VERSIONS = 0, 10, 16, 41, 43
HANDSHAKE_HEADER = 4
RANDOM = 32


class Hello(Struct, frozen=True):
    """One ClientHello."""

    server_name: str
    alpn: tuple[str, ...]
    versions: tuple[int, ...]  # 0x0303 is TLS 1.2, 0x0304 is TLS 1.3
    ciphers: tuple[int, ...]
    groups: tuple[int, ...]
    resumes: bool  # offers to go on with an earlier session


class Cursor:
    """A place in a message."""

    def __init__(self, message: bytes) -> None:
        """Begin at the first byte."""
        self._left = message

    def __bool__(self) -> bool:
        """Tell whether anything is left."""
        return bool(self._left)

    def take(self, size: int) -> bytes:
        """Return so many bytes and go on behind them."""
        taken, self._left = self._left[:size], self._left[size:]
        assert len(taken) == size, "the message ends too early"
        return taken

    def number(self, size: int) -> int:
        """Return a number of so many bytes."""
        return int.from_bytes(self.take(size))

    def vector(self, size: int) -> "Cursor":
        """Return what follows its own length, which has so many bytes."""
        return Cursor(self.take(self.number(size)))

    def numbers(self) -> tuple[int, ...]:
        """Return all that is left as numbers of two bytes."""
        return tuple(iter(lambda: self.number(2) if self else -1, -1))


def read_hello(message: bytes) -> Hello:
    """Read a handshake message that is a ClientHello."""
    assert message[0] == 1, "not a ClientHello"
    rest = Cursor(message[HANDSHAKE_HEADER:])
    rest.take(2 + RANDOM)
    session = rest.vector(1)
    ciphers = rest.vector(2).numbers()
    rest.vector(1)
    said = dict(_extensions(rest.vector(2)))
    return Hello(
        server_name=_server_name(said[SERVER_NAME]) if SERVER_NAME in said else "",
        alpn=tuple(_protocols(said[ALPN])) if ALPN in said else (),
        versions=Cursor(said[VERSIONS]).vector(1).numbers() if VERSIONS in said else (0x0303,),
        ciphers=ciphers,
        groups=Cursor(said[GROUPS]).vector(2).numbers() if GROUPS in said else (),
        resumes=RESUMPTION in said or (VERSIONS not in said and bool(session)),
    )


def _extensions(rest: Cursor) -> Iterator[tuple[int, bytes]]:
    while rest:
        number = rest.number(2)
        yield number, rest.take(rest.number(2))


def _server_name(body: bytes) -> str:
    names = Cursor(body).vector(2)
    names.take(1)
    return names.take(names.number(2)).decode()


def _protocols(body: bytes) -> Iterator[str]:
    names = Cursor(body).vector(2)
    while names:
        yield names.take(names.number(1)).decode()
