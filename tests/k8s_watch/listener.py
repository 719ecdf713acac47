"""Whoever is told of changes in a test: keeps them, and waits for what should come."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Generic, TypeVar

from msgspec import Struct

from k8s_watch.api_server import ApiServer, kubeconfig
from k8s_watch.change import Absent, Change, Gone, Put, Synced, Unreadable
from k8s_watch.kind import Kind, ObjectName
from k8s_watch.list_watch import Pace
from k8s_watch.writer import Writer
from tests.k8s_watch.faulty_api import SOON, FaultyApi, serving, write_kubeconfig

T = TypeVar("T")

QUICK = Pace(first=0.002, longest=0.01, look=0.01)


class Widget(Struct, frozen=True):
    """An object of one of two kinds that the tests watch."""

    size: int


WIDGETS = Kind("example.com", ("v1",), "widgets", Widget)


def named(name: str, namespace: str = "shop") -> ObjectName:
    """Return a name."""
    return ObjectName(namespace, name)


class Listener(Generic[T]):
    """Everything that was told, and what there is by it."""

    def __init__(self) -> None:
        self.changes: list[Change[T]] = []
        self.batches: list[int] = []
        self.things: dict[str, T] = {}
        self.synced = 0
        self.absent = 0
        self.unreadable: dict[str, str] = {}
        self._news = asyncio.Condition()

    async def __call__(self, changes: Sequence[Change[T]]) -> None:
        async with self._news:
            self.batches.append(len(changes))
            for change in changes:
                self._note(change)
            self._news.notify_all()

    def _note(self, change: Change[T]) -> None:
        self.changes.append(change)
        match change:
            case Put(name=name, thing=thing):
                self.things[name.name] = thing
            case Gone(name=name):
                self.things.pop(name.name, None)
            case Unreadable(name=name, why=why):
                self.unreadable[name.name] = why
            case Synced():
                self.synced += 1
            case Absent():
                self.absent += 1

    async def until(self, holds: Callable[[], bool], within: float = SOON) -> None:
        """Wait until something holds; a change must make it hold."""
        async with asyncio.timeout(within), self._news:
            await self._news.wait_for(holds)


@asynccontextmanager
async def running(work: Coroutine[None, None, None]) -> AsyncIterator[None]:
    """Run something meanwhile; if it fails, so does the test."""
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(work)
        yield
        task.cancel()


@asynccontextmanager
async def reached(api: FaultyApi, folder: Path) -> AsyncIterator[ApiServer]:
    """Reach it by a kubeconfig, without TLS."""
    path = write_kubeconfig(folder, f"http://127.0.0.1:{api.port}", token="t0")  # noqa: S106  # proves nothing
    async with ApiServer(kubeconfig(str(path))) as server:
        yield server


@asynccontextmanager
async def writing(api: FaultyApi, folder: Path) -> AsyncIterator[Writer]:
    """Write to it, under our name."""
    async with serving(api), reached(api, folder) as server:
        yield Writer(server, "legation.dev/gateway-controller")
