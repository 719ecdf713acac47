"""Keeps somebody told about the wanted ones of a kind's objects: watches metadata, reads what is wanted."""

import asyncio
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from typing import Generic, NamedTuple, TypeVar

from msgspec import Struct

from k8s_watch.answers import Failed, Item
from k8s_watch.change import Change
from k8s_watch.informer import Deliver, Informer, body_reader
from k8s_watch.inquiry import CATCHES_UP
from k8s_watch.kind import Kind, ObjectName
from k8s_watch.list_watch import FORBIDDEN, NOT_FOUND, Pace
from k8s_watch.reader import Reader, Where
from k8s_watch.wants import Errand, Wants

T = TypeVar("T")

AT_ONCE = 8  # objects read at the same time


class Lack(NamedTuple):
    """Why an object cannot be read, since when, by the event loop's clock, and how often that was tried."""

    failed: Failed
    since: float
    times: int


class Metadata(Struct, frozen=True):
    """What metadata is read as: its version, which comes with every change, is all that counts."""


class Fetcher(Generic[T]):
    """One kind of which only what is wanted is kept, such as Secrets that something refers to."""

    def __init__(
        self,
        kind: Kind[T],
        reader: Reader,
        deliver: Deliver[T],
        namespaces: Sequence[str] = (),
        pace: Pace | None = None,
    ) -> None:
        """Tell `deliver`, which is waited for; until something is wanted, only that all names are known."""
        self.kind = kind
        self._reader = reader
        self._deliver = deliver
        self._pace = pace or Pace()
        self._body = body_reader(kind)
        self._wants = Wants[T]()
        self._failed: dict[ObjectName, Lack] = {}
        self._wanted: AbstractSet[ObjectName] = frozenset()
        self._anew: AbstractSet[ObjectName] = frozenset()
        self._wish = asyncio.Event()
        self._work = asyncio.Event()
        self._turn = asyncio.Lock()  # what is decided first is told first
        metadata = Kind(kind.group, kind.versions, kind.plural, Metadata, kind.namespaced, metadata_only=True)
        self.metadata = Informer(metadata, reader, self._learn, namespaces, self._pace)

    @property
    def failure(self) -> Failed | None:
        """What stands between us and the newest, if anything: the metadata of all, or one object itself."""
        return self.metadata.failure or next((lack.failed for lack in self._lacking()), None)

    @property
    def since(self) -> float:
        """Since when an object itself cannot be read, by the event loop's clock; infinite if all can."""
        return min((lack.since for lack in self._lacking()), default=float("inf"))

    def _lacking(self) -> Iterator[Lack]:
        return (lack for name, lack in self._failed.items() if self._wants.lacks(name))

    def want(self, names: AbstractSet[ObjectName], anew: AbstractSet[ObjectName] = frozenset()) -> None:
        """Want these from now on, and no others; what `deliver` is told will answer for each new one.

        It will do so, too, for those that were told and are wanted for something else since.
        """
        self._wanted = frozenset(names)
        self._anew |= anew
        self._wish.set()

    async def run(self) -> None:
        """Go on until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.metadata.run())
            tasks.create_task(self._heed())
            for _ in range(AT_ONCE):
                tasks.create_task(self._run_errands(tasks))

    async def _learn(self, changes: Sequence[Change[Metadata]]) -> None:
        async with self._turn:
            await self._tell(self._wants.learn(changes))

    async def _heed(self) -> None:
        while await self._wish.wait():
            self._wish.clear()
            async with self._turn:
                anew, self._anew = self._anew, frozenset()
                await self._tell(self._wants.want(self._wanted, anew))

    async def _run_errands(self, tasks: asyncio.TaskGroup) -> None:
        """Read one after the other; all wait where the server fails, and others may be permitted."""
        failures = 0
        while True:
            errand = self._wants.next_errand()
            if errand is None:
                self._work.clear()
                await self._work.wait()
            elif (failed := await self._run(errand)) is None:
                failures = 0
            elif failed.code == FORBIDDEN:
                times = self._failed[errand.name].times
                pause = self._pace.after(times) * max(1.0, len(self._failed) / AT_ONCE)
                tasks.create_task(self._put_off(errand, pause))
            else:
                failures += 1
                await self._put_off(errand, self._pace.after(failures, failed.retry_after))

    async def _put_off(self, errand: Errand, seconds: float) -> None:
        await asyncio.sleep(seconds)
        self._wants.put_off(errand)
        self._work.set()

    async def _run(self, errand: Errand) -> Failed | None:
        found = await self._get(errand.name)
        if isinstance(found, Failed) and found.code != NOT_FOUND:
            self._note(errand.name, found)
            return found
        async with self._turn:
            body = None if isinstance(found, Failed) else self._body(found.name, found.version, found.body)
            await self._tell(self._wants.read(errand, body))
        if body is not None and not errand.version:
            await self._catch_up(errand.name)
        return None

    async def _catch_up(self, name: ObjectName) -> None:
        """Have what is there told by its metadata; a watch that does not is begun anew."""
        with suppress(TimeoutError):
            async with asyncio.timeout(CATCHES_UP):
                await self.metadata.until(lambda: self.metadata.version(name) is not None)
                return
        self.metadata.hurry(CATCHES_UP / 2)

    async def _get(self, name: ObjectName) -> Item | Failed:
        if not {"", name.namespace}.intersection(self.metadata.scopes):
            return Failed(NOT_FOUND, "not watched")
        return await self._reader.get(Where(self.kind, self.metadata.api_version), name)

    def _note(self, name: ObjectName, failed: Failed) -> None:
        _, since, times = self._failed.get(name) or Lack(failed, asyncio.get_running_loop().time(), 0)
        self._failed[name] = Lack(failed, since, times + 1)

    async def _tell(self, changes: Sequence[Change[T]]) -> None:
        self._work.set()
        self._failed = {name: lack for name, lack in self._failed.items() if self._wants.lacks(name)}
        if changes:
            await self._deliver(changes)
