"""Asks the server what there is, to be certain that an informer told it: a quiet watch may be a dead one."""

import asyncio
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from k8s_watch.answers import Failed, Found
from k8s_watch.informer import Informer
from k8s_watch.kind import ObjectName
from k8s_watch.list_watch import FORBIDDEN, NOT_FOUND, List
from k8s_watch.reader import Reader, Where
from k8s_watch.versions import is_older

T = TypeVar("T")

ANSWERS = 10.0  # seconds within which a server that is well answers
CATCHES_UP = 1.0  # seconds in which a watch that is well tells what there is
STRUGGLES = 5.0  # the same for one that was begun anew: it is not dead, but somebody has too much to do


class Left(Struct, frozen=True):
    """What is not there, and in which version it was told before the server said so, if it was."""

    version: str | None


Versions = Mapping[ObjectName, str | Left]


class Inquiry(Generic[T]):
    """What is asked about one informer's kind."""

    def __init__(self, informer: Informer[T], reader: Reader) -> None:
        """Ask by this reader, and only for metadata."""
        self.failure: Failed | None = None  # why it is not certain, if the last answer left it so
        self.since = float("inf")  # when that began, by the event loop's clock
        self._informer = informer
        self._reader = reader

    async def is_told(self, names: Collection[ObjectName]) -> bool:
        """Say whether what is there now was told, of some objects.

        A namespace without a name stands for all that are in it, and neither for all that there are. What
        was not told is waited for a little. Then the watch is taken for dead and begun anew, and it is worth
        asking again: it has longer then.
        """
        found = await self._find(names)
        self.failure = found if isinstance(found, Failed) else await self._wait_for(found)
        now = asyncio.get_running_loop().time()
        self.since = min(self.since, now) if self.failure else float("inf")
        return self.failure is None

    async def _wait_for(self, found: Versions) -> Failed | None:
        with suppress(TimeoutError):
            async with asyncio.timeout(STRUGGLES if self.failure else CATCHES_UP):
                await self._informer.until(lambda: not self._lacks(found))
                return None
        self._informer.hurry(CATCHES_UP / 2)
        return Failed(0, "the watch does not tell all that there is")

    def _lacks(self, found: Versions) -> bool:
        return any(not self._has(*each) for each in found.items())

    def _has(self, name: ObjectName, found: str | Left) -> bool:
        """Say whether an object was told in this version or in a later one, or was told to be gone."""
        told = self._informer.version(name)
        if isinstance(found, Left):
            return told is None or told != found.version  # it may be there again
        return told is not None and (told == found or is_older(found, told))

    async def _find(self, names: Collection[ObjectName]) -> Versions | Failed:
        api_version = await self._api_version()
        if not isinstance(api_version, str):
            return api_version or {}
        versions: dict[ObjectName, str | Left] = {}
        answers = (self._ask(api_version, each) for each in self._places(names))
        for found in await asyncio.gather(*answers):
            if isinstance(found, Failed):
                return found
            versions |= found
        return versions

    def _places(self, names: Collection[ObjectName]) -> Collection[ObjectName]:
        """Return what has to be asked for; of namespaces that are not watched nothing is ever told."""
        watched = self._informer.scopes
        if "" in watched:
            return names
        if ObjectName("", "") in names:
            return [ObjectName(each, "") for each in watched]
        return [each for each in names if each.namespace in watched]

    async def _ask(self, api_version: str, name: ObjectName) -> Versions | Failed:
        """Ask what there is: the newest, for no version is asked for."""
        where = Where(replace(self._informer.kind, metadata_only=True), api_version, name.namespace)
        try:
            async with asyncio.timeout(ANSWERS):
                return await (self._get(where, name) if name.name else self._list(where))
        except TimeoutError:
            return Failed(0, f"no answer within {ANSWERS:.0f} s")

    async def _get(self, where: Where, name: ObjectName) -> Versions | Failed:
        """Ask about one object; where single ones may not be read, nothing can be waited for."""
        told = self._informer.version(name)
        found = await self._reader.get(where, name)
        if not isinstance(found, Failed):
            return {found.name: found.version}
        if found.code == NOT_FOUND:
            return {name: Left(told)}
        return {} if found.code == FORBIDDEN else found

    async def _list(self, where: Where) -> Versions | Failed:
        """Return what there is in another version than it was told, and what is not there any more."""
        told = dict(self._informer.versions(where.namespace))
        news: dict[ObjectName, str | Left] = {}
        ask: List | None = List()
        while ask is not None:
            page = await self._reader.page(where, ask)
            if isinstance(page, Failed):
                return page
            news |= {
                each.name: each.version for each in page.items if told.pop(each.name, None) != each.version
            }
            ask = List(page.token) if page.token else None
        return news | {name: Left(version) for name, version in told.items()}

    async def _api_version(self) -> str | Failed | None:
        """Return under which version the kind is found; where it was absent it may have come."""
        if not self._informer.absent:
            return self._informer.api_version
        found = await self._reader.find(self._informer.kind)
        return found.api_version if isinstance(found, Found) else found
