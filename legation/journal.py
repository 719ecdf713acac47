"""What one replica tells others, as it goes over the wire: first everything, then what changed."""

import asyncio
from collections.abc import AsyncGenerator, Iterator, Mapping
from secrets import token_hex
from types import MappingProxyType
from typing import TypeVar

import msgspec
from msgspec import Struct

from legation.quarantined import Held
from legation.telling import Telling

T = TypeVar("T")

LONG = 1 << 20  # bytes; a message is ended once it is as long as this
NOTHING: Mapping[str, Telling] = MappingProxyType({})
NOBODY: Mapping[str, Held] = MappingProxyType({})


class News(Struct, frozen=True, omit_defaults=True):
    """What differs from what was told before; fields that somebody adds later are passed over."""

    teller: str = ""  # a name that no other replica has
    told: Mapping[str, Telling] = {}  # by Gateway
    gone: tuple[str, ...] = ()  # Gateways without an Envoy there
    held: Mapping[str, Held] = {}  # by object, what is held back there
    let_go: tuple[str, ...] = ()  # objects that are not held back any more
    complete: bool = False  # what was told so far makes one moment


class NotUnderstoodError(Exception):
    """What another replica said is no news."""


class Journal:
    """The newest, for whoever follows it; a slow follower misses what is no longer true."""

    def __init__(self) -> None:
        """Begin with nothing to tell, as no Envoy is connected before there is somewhere to connect to."""
        self.teller = token_hex(8)
        self.tellings = NOTHING
        self.held = NOBODY
        self._news = asyncio.Event()

    def keep(self, tellings: Mapping[str, Telling], held: Mapping[str, Held] = NOBODY) -> None:
        """Tell this from now on: of Envoys by Gateway, and what is held back by object."""
        if (tellings, held) != (self.tellings, self.held):
            self.tellings, self.held = tellings, held
            news, self._news = self._news, asyncio.Event()
            news.set()

    async def follow(self) -> AsyncGenerator[bytes]:
        """Tell one follower everything, and then what changes."""
        told, held = NOTHING, NOBODY
        while True:
            news, now, holds = self._news, self.tellings, self.held
            for message in messages(told, now, self.teller, (held, holds)):
                yield message
            told, held = now, holds
            await news.wait()


class Copy:
    """What another replica has told, put together again."""

    def __init__(self) -> None:
        """Begin in the middle of a first moment."""
        self.teller = ""
        self.tellings: Mapping[str, Telling] | None = None  # unless a whole moment was told
        self.held = NOBODY
        self._coming: dict[str, Telling] = {}
        self._held: dict[str, Held] = {}

    def take(self, message: bytes) -> None:
        """Take in the next message."""
        try:
            news = msgspec.json.decode(message, type=News)
        except msgspec.MsgspecError as error:
            raise NotUnderstoodError(str(error)) from error
        self.teller = news.teller
        self._coming |= news.told
        self._held |= news.held
        for gateway in news.gone:
            self._coming.pop(gateway, None)
        for about in news.let_go:
            self._held.pop(about, None)
        if news.complete:
            self.tellings, self.held = dict(self._coming), dict(self._held)


def messages(
    before: Mapping[str, Telling],
    after: Mapping[str, Telling],
    teller: str = "",
    held: tuple[Mapping[str, Held], Mapping[str, Held]] = (NOBODY, NOBODY),
) -> Iterator[bytes]:
    """Write what leads from one moment to another: one message at the least, none of them huge."""
    told, kept, size = dict[str, Telling](), dict[str, Held](), 0
    for gateway, telling in _differing(before, after):
        told[gateway] = telling
        size += len(msgspec.json.encode(telling))
        if size >= LONG:
            yield msgspec.json.encode(News(teller, told))
            told, size = {}, 0
    for about, each in _differing(*held):
        kept[about] = each
        size += len(msgspec.json.encode(each))
        if size >= LONG:
            yield msgspec.json.encode(News(teller, told, held=kept))
            told, kept, size = {}, {}, 0
    gone, let_go = (tuple(sorted(old.keys() - new.keys())) for old, new in ((before, after), held))
    yield msgspec.json.encode(News(teller, told, gone, kept, let_go, complete=True))


def _differing(before: Mapping[str, T], after: Mapping[str, T]) -> Iterator[tuple[str, T]]:
    return ((key, value) for key, value in after.items() if before.get(key) != value)
