"""The API server over HTTP: ask, change, watch. Not the client that the tests are about."""

import asyncio
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from http import HTTPStatus
from ssl import create_default_context
from typing import Generic, TypeVar

import aiohttp
import msgspec
import structlog
from msgspec import Raw, Struct

from e2e.cluster.kubelet.objects.pods import Pod
from e2e.cluster.kubelet.objects.services import Service

JSON = "application/json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"  # lists of conditions are merged by type, not replaced
TRIES = 120  # an API server that has just begun may be busy with itself for a while
PAUSE = 0.5  # seconds
WITHIN = aiohttp.ClientTimeout(total=30)
AGAIN = frozenset(
    {
        HTTPStatus.TOO_MANY_REQUESTS,
        HTTPStatus.INTERNAL_SERVER_ERROR,
        HTTPStatus.SERVICE_UNAVAILABLE,
        HTTPStatus.GATEWAY_TIMEOUT,
    }
)
GONE = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT})  # or another has its name by now
ENDLESS = aiohttp.ClientTimeout(total=None, sock_connect=5)

T = TypeVar("T")
Watched = TypeVar("Watched", Pod, Service)
Body = Mapping[str, object]


class Access(Struct, frozen=True):
    """Where the API server is, and by what right it is asked."""

    server: str
    token: str
    authority: str  # path of a certificate


class ApiError(Exception):
    """The API server said no."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"{status}: {text[:300]}")
        self.status = status


class Put(Struct, Generic[T], frozen=True):
    """An object that is there, new or not."""

    object: T


class Gone(Struct, Generic[T], frozen=True):
    """An object that was deleted."""

    object: T


class Listed(Struct, frozen=True):
    """All that exists has been put; what has another uid is gone."""

    uids: frozenset[str]


class _ListMeta(Struct, rename="camel"):
    resource_version: str = ""


class _List(Struct, Generic[T]):
    metadata: _ListMeta
    items: list[T] = []


class _Line(Struct):
    type: str
    object: Raw


class Api:
    """An API server."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def get(self, path: str, of: type[T], **query: str) -> T:
        """Read one answer."""
        return msgspec.json.decode(await self._ask("GET", path, query=query), type=of)

    async def post(self, path: str, body: Body) -> bytes:
        """Create something."""
        return await self._ask("POST", path, body)

    async def patch(self, path: str, body: Body, how: str = STRATEGIC) -> bytes:
        """Change something."""
        return await self._ask("PATCH", path, body, how)

    async def delete(self, path: str, uid: str) -> None:
        """Remove what the kubelet alone may remove: an object whose end has come."""
        preconditions = {"uid": uid}
        await self._ask("DELETE", path, {"gracePeriodSeconds": 0, "preconditions": preconditions})

    async def watch(
        self, path: str, of: type[Watched]
    ) -> AsyncGenerator[Put[Watched] | Gone[Watched] | Listed]:
        """List, then watch, for ever."""
        log = structlog.get_logger().bind(path=path)
        while True:
            try:
                listed: _List[Watched] = await self.get(path, _List[of])  # type: ignore[valid-type]  # known at run time
                for item in listed.items:
                    yield Put(item)
                yield Listed(frozenset(item.metadata.uid for item in listed.items))
                async for change in self._changes(path, of, listed.metadata.resource_version):
                    yield change
            except (ApiError, aiohttp.ClientError, TimeoutError) as error:
                log.warning("watch begins again", error=str(error))
            await asyncio.sleep(PAUSE)

    async def _changes(
        self, path: str, of: type[Watched], version: str
    ) -> AsyncGenerator[Put[Watched] | Gone[Watched]]:
        """Watch until the API server ends it, which says nothing about the objects."""
        query = {"watch": "1", "allowWatchBookmarks": "true", "resourceVersion": version}
        async with self._session.get(path, params=query) as answer:
            if answer.status != HTTPStatus.OK:
                raise ApiError(answer.status, await answer.text())
            rest = b""
            async for chunk in answer.content.iter_any():
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    event = msgspec.json.decode(line, type=_Line)
                    if event.type == "ERROR":
                        raise ApiError(HTTPStatus.GONE, bytes(event.object).decode())
                    if event.type != "BOOKMARK":
                        thing = msgspec.json.decode(event.object, type=of)
                        yield Gone(thing) if event.type == "DELETED" else Put(thing)

    async def _ask(
        self,
        method: str,
        path: str,
        body: Body | None = None,
        how: str = JSON,
        query: Mapping[str, str] | None = None,
    ) -> bytes:
        """Ask, and ask again where the API server was not reached or too busy."""
        content = None if body is None else msgspec.json.encode(body)
        tries = 0
        while True:
            try:
                async with self._session.request(
                    method, path, data=content, params=query, headers={"Content-Type": how}, timeout=WITHIN
                ) as answer:
                    text = await answer.read()
            except (
                aiohttp.ClientError,
                TimeoutError,
            ) as error:  # it may be on its way up: pods go on without
                structlog.get_logger().warning("asks again", path=path, error=str(error))
            else:
                if answer.ok:
                    return text
                tries += 1
                if answer.status not in AGAIN or tries == TRIES:
                    raise ApiError(answer.status, text.decode(errors="replace"))
            await asyncio.sleep(PAUSE)


@contextmanager
def unless_gone() -> Generator[None]:
    """Do something to an object, which may have gone in the meantime."""
    try:
        yield
    except ApiError as error:
        if error.status not in GONE:
            raise


@asynccontextmanager
async def connected(access: Access) -> AsyncGenerator[Api]:
    """Open connections to the API server for the length of a block."""
    async with aiohttp.ClientSession(
        access.server,
        headers={"Authorization": f"Bearer {access.token}"},
        connector=aiohttp.TCPConnector(ssl=create_default_context(cafile=access.authority), limit=0),
        timeout=ENDLESS,
    ) as session:
        yield Api(session)
