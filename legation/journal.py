"""What one replica tells others, as it goes over the wire: first everything, then what changed."""

import asyncio
from collections.abc import AsyncGenerator, Iterator, Mapping
from secrets import token_hex
from types import MappingProxyType

import msgspec
from msgspec import Struct

from legation.telling import Telling

LONG = 1 << 20  # bytes; a message is ended once it is as long as this
NOTHING: Mapping[str, Telling] = MappingProxyType({})


class News(Struct, frozen=True, omit_defaults=True):
    """What differs from what was told before; fields that somebody adds later are passed over."""

    teller: str = ""  # a name that no other replica has
    told: Mapping[str, Telling] = {}  # by Gateway
    gone: tuple[str, ...] = ()  # Gateways without an Envoy there
    complete: bool = False  # what was told so far makes one moment


class NotUnderstoodError(Exception):
    """What another replica said is no news."""


class Journal:
    """The newest, for whoever follows it; a slow follower misses what is no longer true."""

    def __init__(self) -> None:
        """Begin with nothing to tell, as no Envoy is connected before there is somewhere to connect to."""
        self.teller = token_hex(8)
        self.tellings = NOTHING
        self._news = asyncio.Event()

    def keep(self, tellings: Mapping[str, Telling]) -> None:
        """Tell this from now on."""
        if tellings != self.tellings:
            self.tellings = tellings
            news, self._news = self._news, asyncio.Event()
            news.set()

    async def follow(self) -> AsyncGenerator[bytes]:
        """Tell one follower everything, and then what changes."""
        told = NOTHING
        while True:
            news, now = self._news, self.tellings
            for message in messages(told, now, self.teller):
                yield message
            told = now
            await news.wait()


class Copy:
    """What another replica has told, put together again."""

    def __init__(self) -> None:
        """Begin in the middle of a first moment."""
        self.teller = ""
        self.tellings: Mapping[str, Telling] | None = None  # unless a whole moment was told
        self._coming: dict[str, Telling] = {}

    def take(self, message: bytes) -> None:
        """Take in the next message."""
        try:
            news = msgspec.json.decode(message, type=News)
        except msgspec.MsgspecError as error:
            raise NotUnderstoodError(str(error)) from error
        self.teller = news.teller
        self._coming |= news.told
        for gateway in news.gone:
            self._coming.pop(gateway, None)
        if news.complete:
            self.tellings = dict(self._coming)


def messages(
    before: Mapping[str, Telling], after: Mapping[str, Telling], teller: str = ""
) -> Iterator[bytes]:
    """Write what leads from one moment to another: one message at the least, none of them huge."""
    told: dict[str, Telling] = {}
    size = 0
    for gateway, telling in after.items():
        if before.get(gateway) != telling:
            told[gateway] = telling
            size += len(msgspec.json.encode(telling))
        if size >= LONG:
            yield msgspec.json.encode(News(teller, told))
            told, size = {}, 0
    gone = tuple(sorted(before.keys() - after.keys()))
    yield msgspec.json.encode(News(teller, told, gone, complete=True))
