"""Drains what sources say into the world, has one batch translated, and hands the result on.

The translation runs in a thread, so that the event loop goes on serving Envoys. One batch is translated at a
time: nothing is put while a query runs, and what arrives meanwhile is the next batch.
"""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import count
from typing import NamedTuple, TypeVar

from msgspec import structs

from legation.alarm import Alarm
from legation.change import Put, Stated
from legation.quarantined import Elsewhere
from legation.telemetry.overtime import Running
from legation.turns import aside, give_way, let_go
from legation.workbench import Batch, Change, Outcome, Workbench
from translator.names import Ref
from translator.objects.cluster_trust_bundle import ClusterTrustBundle
from translator.objects.config_map import ConfigMap
from translator.objects.secret import Secret
from translator.rules.certificates import NOW
from translator.world import World
from xds_server.report import Cause

T = TypeVar("T")

TICK = 60.0  # seconds between two looks at the clock

# What may hold a certificate that was made a moment ago, and is not valid by a look at the clock before that.
DATED = frozenset({Secret, ConfigMap, ClusterTrustBundle})

Taker = Callable[[Outcome], Awaitable[object] | None]  # at once, or with turns for others between


class Arrival(NamedTuple):
    """What was put at once, and when a source received it if it came from one."""

    batch: Batch
    received: float | None

    @property
    def begins(self) -> bool:
        """Whether a source may have told of a world: neither time nor other replicas know of one."""
        return not self.batch or any(not _is_aside(change) for change in self.batch)


class Pump:
    """Keeps what is served in step with what sources say."""

    def __init__(self, workbench: Workbench, takers: Sequence[Taker]) -> None:
        """Begin with nothing to do; every outcome goes to each taker, on the event loop."""
        self._workbench = workbench
        workbench.world.memory.between = give_way
        self._takers = takers
        self.waiting = 0  # changes
        self.running: Running | None = None
        self._waiting: asyncio.Queue[Arrival] = asyncio.Queue()
        self._numbers = count(1)
        self._alarm = Alarm()
        self._missed: frozenset[Ref] = frozenset()
        self._held: list[object] = []  # the parts of the newest outcome, which others replace all at once
        self._bench_is_free = asyncio.Lock()

    def put(self, batch: Batch, received: float | None = None) -> None:
        """Add to the next batch; what is news of a source says when it was received."""
        self._waiting.put_nowait(Arrival(batch, received))
        self.waiting += len(batch)

    async def run(self) -> None:
        """Translate whatever comes, until cancelled, once a source has told of a world."""
        arrivals: list[Arrival] = []
        begun = False
        while True:
            arrivals.append(await self._waiting.get())
            while not self._waiting.empty():
                arrivals.append(self._waiting.get_nowait())
            begun = begun or any(arrival.begins for arrival in arrivals)
            if not begun:
                continue
            batch = [change for arrival in arrivals for change in arrival.batch]
            self.waiting -= len(batch)
            if any(isinstance(change, Put) and change.kind in DATED for change in batch):
                batch.append(the_time())
            try:
                outcome = await self._alone(partial(self._work, batch))
            finally:
                self.running = None
            if times := [arrival.received for arrival in arrivals if arrival.received is not None]:
                outcome = structs.replace(outcome, cause=Cause(next(self._numbers), min(times)))
            arrivals.clear()
            await self._hand_on(outcome)
            before, self._held = self._held, list(structs.astuple(outcome))
            await let_go(before, self._held)

    async def _hand_on(self, outcome: Outcome) -> None:
        """Give an outcome to all takers; what one failed to take is news to it the next time."""
        known, news = frozenset(self._alarm.mistakes), outcome.news | self._missed
        for take in self._takers:
            broken = {**outcome.broken, **self._alarm.mistakes}
            with self._alarm.guarding(f"what became of a batch in {getattr(take, '__qualname__', take)}"):
                if (taking := take(structs.replace(outcome, broken=broken, news=news))) is not None:
                    await taking
            await asyncio.sleep(0)  # of what is large, each takes some milliseconds of the loop
        self._missed = news if self._alarm.mistakes else frozenset()
        if self._alarm.mistakes.keys() - known:
            self.put([])  # all have to be told

    async def ask(self, question: Callable[[World], T]) -> T:
        """Answer about the world between two batches; what was asked is forgotten with the next one."""
        return await self._alone(partial(question, self._workbench.world))

    async def _alone(self, work: Callable[[], T]) -> T:
        """Work in a thread while nobody else does; whoever is cancelled leaves when the thread has ended."""
        async with self._bench_is_free:
            working = asyncio.ensure_future(aside(work))
            try:
                return await asyncio.shield(working)
            finally:
                await asyncio.wait((working,))

    def _work(self, batch: Batch) -> Outcome:
        self.running = Running(time.monotonic(), threading.get_ident())
        return self._workbench.work(batch)

    async def tell_time(self) -> None:
        """State the time once a minute, until cancelled."""
        while True:
            await asyncio.sleep(TICK)
            self.put([the_time()])


def _is_aside(change: Change) -> bool:
    return isinstance(change, Elsewhere) or (isinstance(change, Stated) and change.fact is NOW)


def the_time() -> Stated[datetime]:
    """Say what time it is."""
    return Stated(NOW, datetime.now(UTC))
