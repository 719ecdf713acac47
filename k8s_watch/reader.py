"""HTTP: finds, lists, watches and reads objects of a kind; what goes wrong is a value."""

import random
import time
from collections.abc import AsyncGenerator, Callable
from typing import TypeVar

from aiohttp import StreamReader
from msgspec import Struct
from msgspec.structs import replace

from k8s_watch.answers import (
    BROKEN,
    Ended,
    Failed,
    Found,
    Item,
    Opened,
    Page,
    Received,
    read_events,
    read_item,
    read_page,
    read_resources,
)
from k8s_watch.api_server import ApiServer, Call, RequestError
from k8s_watch.kind import Kind, ObjectName, Place, api_root
from k8s_watch.lines import Lines, TooLongError
from k8s_watch.list_watch import NOT_FOUND, List, Watch

T = TypeVar("T")

SLICE = 256  # events read before others have their turn on the event loop
MIB = 2**20


class Limits(Struct, frozen=True):
    """How long and how large an answer may be; times in seconds."""

    connect: float = 5.0
    answer: float = 120.0  # for a page or an object, as a whole
    silence: float = 30.0  # within such an answer
    watch_silence: float = 150.0  # API servers send a bookmark every minute or so
    watch: tuple[int, int] = (300, 600)  # between these a watch ends, at random: not all of them at once
    page: int = 500  # objects
    light_page: int = 2000  # objects of which only metadata is read
    line: int = 16 * MIB  # etcd takes objects of 1.5 MiB unless it is told otherwise


class Where(Struct, frozen=True):
    """Objects of one kind, under one version, everywhere or in one namespace."""

    kind: Kind[object]
    api_version: str
    namespace: str = ""

    def place(self, name: ObjectName | None = None) -> Place:
        """Return where they are in the API, or one of them."""
        if name is None:
            return Place(self.api_version, self.kind.plural, self.namespace)
        return Place(self.api_version, self.kind.plural, *name)


class Reader:
    """Reads from one API server."""

    def __init__(self, server: ApiServer, limits: Limits | None = None) -> None:
        """Read within limits."""
        self._server = server
        self._limits = limits or Limits()

    async def find(self, kind: Kind[T]) -> Found | Failed:
        """Look under which of its versions the kind is served: the first that is."""
        for api_version in kind.api_versions():
            names = await self._read(api_root(api_version), read_resources)
            if isinstance(names, Failed) and names.code != NOT_FOUND:
                return names
            if isinstance(names, frozenset) and kind.plural in names:
                return Found(api_version)
        return Found(None)

    async def page(self, where: Where, ask: List) -> Page | Failed:
        """Read one page of a list."""
        most = self._limits.light_page if where.kind.metadata_only else self._limits.page
        query = _selecting(where) if ask.whole else {**_selecting(where), "limit": str(most)}
        if ask.token:
            query["continue"] = ask.token
        return await self._read(where.place().path(), read_page, _accept(where, "List"), query)

    async def get(self, where: Where, name: ObjectName) -> Item | Failed:
        """Read one object."""
        return await self._read(where.place(name).path(), read_item, _accept(where))

    async def watch(self, where: Where, ask: Watch) -> AsyncGenerator[list[Received]]:
        """Yield that it stands, then events as they come; the last of all tells how it ended."""
        began = float("inf")
        try:
            async with self._server.send(self._watch_call(where, ask)) as response:
                began = time.monotonic()
                yield [Opened()]
                async for events in _events(response.content, self._limits.line):
                    yield events
        except RequestError as error:
            yield [replace(error.failed, lasted=_since(began))]
        except TooLongError:
            yield [Failed(0, "a line that is too long", lasted=_since(began))]
        else:
            yield [Ended(_since(began))]

    def _watch_call(self, where: Where, ask: Watch) -> Call:
        seconds = random.randint(*self._limits.watch)  # noqa: S311  # only spreads load
        query = {"watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": str(seconds)}
        query |= _selecting(where)
        if ask.version:
            query["resourceVersion"] = ask.version
        else:
            query |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        return Call(
            "GET",
            where.place().path(),
            query,
            accept=_accept(where),
            connect=self._limits.connect,
            silence=self._limits.watch_silence,
        )

    async def _read(
        self,
        path: str,
        read: Callable[[bytes], T],
        accept: str = "application/json",
        query: dict[str, str] | None = None,
    ) -> T | Failed:
        limits = self._limits
        call = Call(
            "GET",
            path,
            query or {},
            accept,
            connect=limits.connect,
            silence=limits.silence,
            total=limits.answer,
        )
        try:
            async with self._server.send(call) as response:
                return read(await response.read())
        except RequestError as error:
            return error.failed
        except BROKEN as error:
            return Failed(0, f"an answer that cannot be read: {error}")


async def _events(content: StreamReader, longest: int) -> AsyncGenerator[list[Received]]:
    lines = Lines(longest)
    async for chunk in content.iter_any():
        whole = lines.feed(chunk)
        for start in range(0, len(whole), SLICE):
            yield list(read_events(whole[start : start + SLICE]))


def _selecting(where: Where) -> dict[str, str]:
    return {"labelSelector": where.kind.selector} if where.kind.selector else {}


def _since(began: float) -> float:
    """Return for how long it went well; to wait in vain for an answer is not to go well."""
    return max(0.0, time.monotonic() - began)


def _accept(where: Where, suffix: str = "") -> str:
    """Ask for JSON; for the metadata alone where that is all we need and the server can do it."""
    if not where.kind.metadata_only:
        return "application/json"
    return f"application/json;as=PartialObjectMetadata{suffix};g=meta.k8s.io;v=v1, application/json"
