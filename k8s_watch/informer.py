"""Keeps somebody told about all objects of a kind: does what list_watch asks for, reads bodies, waits."""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from typing import Generic, NamedTuple, TypeVar

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from k8s_watch.answers import BROKEN, Failed, Page, Part, Received, Waited
from k8s_watch.change import Absent, Change, Gone, Put, Synced, Unreadable
from k8s_watch.kind import Kind, ObjectName
from k8s_watch.list_watch import List, ListWatch, Pace, Probe, Wait, Watch
from k8s_watch.reader import Reader, Where

T = TypeVar("T")
R = TypeVar("R")

PORTION = 16  # objects that are told before others have their turn

Deliver = Callable[[Sequence[Change[T]]], Awaitable[None]]


class Waiting(NamedTuple):
    """Since when the next piece of an answer is waited for, and how to wait no longer."""

    since: float
    limit: asyncio.Timeout


class Informer(Generic[T]):
    """One kind, everywhere or in some namespaces: a list-watch in each, told as one."""

    def __init__(
        self,
        kind: Kind[T],
        reader: Reader,
        deliver: Deliver[T],
        namespaces: Sequence[str] = (),
        pace: Pace | None = None,
    ) -> None:
        """Tell `deliver`, which is waited for; without namespaces, of all objects there are.

        Nothing is told where what was received together had more to tell, and now has no more.
        """
        self.kind = kind
        self.told = 0  # changes
        self.changed = float("-inf")  # when the last of them was told, by the event loop's clock
        self._reader = reader
        self._deliver = deliver
        scopes = namespaces if namespaces and kind.namespaced else ("",)
        self._machines = {namespace: ListWatch(pace) for namespace in scopes}
        self._heard = dict.fromkeys(scopes, float("-inf"))
        self._waits: dict[str, Waiting] = {}
        self._news = asyncio.Event()
        self._unsynced = set(self._machines)
        self._amid: set[str] = set()
        self._body = body_reader(kind)

    @property
    def api_version(self) -> str:
        """The version under which the kind was last found; empty before that."""
        return next((each.api_version for each in self._machines.values() if each.api_version), "")

    @property
    def failure(self) -> Failed | None:
        """What stands between us and the newest, if anything."""
        return next((each.failure for each in self._machines.values() if each.failure), None)

    @property
    def absent(self) -> bool:
        """Whether the API has no such kind, as far as was looked."""
        return all(machine.absent for machine in self._machines.values())

    @property
    def scopes(self) -> tuple[str, ...]:
        """The namespaces that are watched; one without a name stands for all."""
        return tuple(self._machines)

    @property
    def is_amid(self) -> bool:
        """Whether more of what was received together is about to be told."""
        return bool(self._amid)

    @property
    def heard(self) -> float:
        """When the server last said anything, by the event loop's clock; about the quietest namespace."""
        return min(self._heard.values())

    @property
    def held(self) -> int:
        """How many objects were told and are there."""
        return sum(each.held for each in self._machines.values())

    @property
    def failures(self) -> Mapping[int, int]:
        """How many requests have come to nothing so far, by HTTP's code, or 0 where there was no answer."""
        return sum((each.failures for each in self._machines.values()), Counter[int]())

    @property
    def lists(self) -> int:
        """How many lists were begun so far: one each, unless the server forgot where we were."""
        return sum(each.lists for each in self._machines.values())

    def version(self, name: ObjectName) -> str | None:
        """In which version an object was told last; None if it is not there."""
        return next((found for each in self._machines.values() if (found := each.version(name))), None)

    def versions(self, namespace: str) -> Mapping[ObjectName, str]:
        """In which versions the objects of a namespace were told last; of all where it is empty."""
        told = (each for machine in self._machines.values() for each in machine.versions.items())
        return {name: version for name, version in told if namespace in ("", name.namespace)}

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds of what was told."""
        while not holds():
            self._news.clear()
            await self._news.wait()

    def hurry(self, quiet: float) -> None:
        """Ask again at once, on other connections, where a watch was quiet for so long, or nothing is asked.

        It goes on from where it was. A list is left alone: it comes to an end.
        """
        now = asyncio.get_running_loop().time()
        for namespace, waiting in self._waits.items():
            doing = self._machines[namespace].next
            lasts = isinstance(doing, Wait) or (isinstance(doing, Watch) and doing.version)
            if lasts and now - waiting.since >= quiet and waiting.limit.when() is None:
                waiting.limit.reschedule(now)

    async def run(self) -> None:
        """Go on until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for namespace in self._machines:
                tasks.create_task(self._follow(namespace))

    async def _follow(self, namespace: str) -> None:
        machine = self._machines[namespace]
        while True:
            doing = machine.next
            async with aclosing(self._do(namespace, doing)) as answers:
                while (received := await self._next(namespace, answers)) is not None:
                    await self._take(namespace, received)
                    if not _goes_on(doing, machine.next):
                        break

    async def _next(
        self, namespace: str, answers: AsyncGenerator[list[Received]]
    ) -> Sequence[Received] | None:
        """Wait for the next piece of an answer, unless somebody is in a hurry."""
        limit = asyncio.timeout(None)
        self._waits[namespace] = Waiting(asyncio.get_running_loop().time(), limit)
        try:
            async with limit:
                return await anext(answers, None)
        except TimeoutError:
            if isinstance(self._machines[namespace].next, Wait):
                return [Waited()]
            return [Failed(0, "the watch was quiet for too long")]
        finally:
            del self._waits[namespace]

    async def _do(
        self, namespace: str, action: Probe | List | Watch | Wait
    ) -> AsyncGenerator[list[Received]]:
        where = Where(self.kind, self._machines[namespace].api_version, namespace)
        match action:
            case Probe():
                yield [await self._reader.find(self.kind)]
            case List():
                yield [await self._reader.page(where, action)]
            case Watch():
                async with aclosing(self._reader.watch(where, action)) as answers:
                    async for received in answers:
                        yield received
            case Wait(seconds=seconds):
                await asyncio.sleep(seconds)
                yield [Waited()]

    async def _take(self, namespace: str, received: Sequence[Received]) -> None:
        """Tell what was received: between two portions others have their turn, and never within one."""
        machine, left = self._machines[namespace], deque(portions(received))
        doing = machine.next
        while left:
            changes: list[Change[T]] = []
            for each in left.popleft():
                changes.extend(self._read(machine.receive(each), namespace))
                if isinstance(doing, Watch) and not _goes_on(doing, machine.next):
                    left.clear()
                    break
            if not isinstance(doing, Wait) and machine.failure is None:
                self._heard[namespace] = asyncio.get_running_loop().time()
            await self._tell(namespace, changes, is_all=not left)
            await asyncio.sleep(0)

    async def _tell(self, namespace: str, changes: Sequence[Change[T]], *, is_all: bool) -> None:
        """Tell changes, and also if there are none after all that more of them come no more."""
        was_amid = namespace in self._amid
        (self._amid.discard if is_all else self._amid.add)(namespace)
        if changes:
            self.told, self.changed = self.told + len(changes), asyncio.get_running_loop().time()
        if changes or (was_amid and is_all):
            await self._deliver(changes)
            self._news.set()

    def _read(self, changes: Sequence[Change[Raw]], namespace: str) -> Iterator[Change[T]]:
        for change in changes:
            match change:
                case Put():
                    yield self._body(change.name, change.version, change.thing)
                case Gone() | Unreadable():
                    yield change
                case Synced():
                    if self._completes(namespace):
                        yield change
                case Absent():
                    if self.absent:
                        yield change

    def _completes(self, namespace: str) -> bool:
        self._unsynced.discard(namespace)
        return not self._unsynced


def body_reader(kind: Kind[T]) -> Callable[[ObjectName, str, Raw], Put[T] | Unreadable]:
    """Return what reads objects of a kind."""
    decoder = msgspec.json.Decoder(kind.struct)

    def read(name: ObjectName, version: str, body: Raw) -> Put[T] | Unreadable:
        try:
            return Put(name, version, decoder.decode(body))
        except BROKEN as error:
            return Unreadable(name, version, str(error))

    return read


def portions(received: Sequence[Received]) -> list[Sequence[Received]]:
    """Part what was received together, a page of a list as well as events of a watch."""
    if len(received) == 1 and isinstance(page := received[0], Page) and len(page.items) > PORTION:
        *parts, last = _cut(page.items)
        return [*([Part(tuple(each))] for each in parts), [replace(page, items=tuple(last))]]
    return _cut(received)


def _cut(things: Sequence[R]) -> list[Sequence[R]]:
    return [things[at : at + PORTION] for at in range(0, len(things), PORTION)]


def _goes_on(doing: Probe | List | Watch | Wait, then: Probe | List | Watch | Wait) -> bool:
    """Say whether one request is still being answered: a watch that began with a list goes on as a watch."""
    return isinstance(doing, Watch) and isinstance(then, Watch)
