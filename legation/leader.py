"""The Lease: of all replicas, only its holder does what must be done once.

`kubernetes_asyncio` has an election of its own. It compares wall clocks of different machines, ends without
letting go of the Lease, and starts tasks that nobody waits for; so this one is ours.
"""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from datetime import UTC, datetime

import structlog

from k8s_watch.answers import Failed, Item
from k8s_watch.kind import Place
from k8s_watch.writer import Missing, Outcome, Unchanged, Writer, Written
from legation.lease import DURATION, RENEW_WITHIN, RETRY, Seen, first, held, released, seen

Duty = Callable[[], Coroutine[None, None, None]]

GOODBYE = 3.0  # seconds for letting go at the end


class Leader:
    """One candidate for one Lease."""

    def __init__(self, writer: Writer, place: Place, candidate: str) -> None:
        """Stand for election under a name that no other replica has."""
        self._writer = writer
        self._place = place
        self._candidate = candidate
        self._found: Seen | None = None
        self._renewed = float("-inf")
        self._log = structlog.get_logger().bind(lease=f"{place.namespace}/{place.name}")
        self.leads = False

    async def run(self, duty: Duty) -> None:
        """Do what is due whenever we hold the Lease, until cancelled; then let go of it."""
        try:
            while True:
                await self._until_held()
                await self._lead(duty)
        finally:
            with suppress(TimeoutError):
                async with asyncio.timeout(GOODBYE):
                    await self._let_go()

    async def _until_held(self) -> None:
        while True:
            if await self._try():
                return
            await asyncio.sleep(RETRY)

    async def _lead(self, duty: Duty) -> None:
        """Do it for as long as the Lease is renewed in time."""
        self._log.info("leads", candidate=self._candidate)
        self.leads = True
        try:
            async with asyncio.TaskGroup() as tasks:
                doing = tasks.create_task(duty())
                await self._renew()
                doing.cancel()
        finally:
            self.leads = False
            self._log.info("leads no longer", candidate=self._candidate)

    async def _renew(self) -> None:
        """Return when the Lease is somebody else's, or may soon be."""
        while self._is_ours() and self._now() < self._renewed + RENEW_WITHIN:
            await asyncio.sleep(RETRY)
            with suppress(TimeoutError):
                async with asyncio.timeout_at(self._renewed + RENEW_WITHIN):
                    await self._try()

    def _is_ours(self) -> bool:
        return self._found is not None and self._found.holder == self._candidate

    async def _try(self) -> bool:
        """Take the Lease or renew it, if it is free or ours."""
        began = self._now()
        read = await self._writer.read(self._place)
        match read:
            case Missing():
                self._found = None
                manifest = first(self._place.name, self._candidate, _time())
                return self._took(await self._writer.create(self._place, manifest), began)
            case Failed():
                self._log.warning("the Lease cannot be read", why=read.reason)
                return False
            case Item():
                self._found = seen(read.version, bytes(read.body), self._found, began)
                if not self._found.is_free_for(self._candidate, began):
                    return False
                manifest = held(self._found, self._candidate, _time())
                return self._took(await self._writer.replace(self._place, manifest), began)

    def _took(self, outcome: Outcome, began: float) -> bool:
        """Count from when we asked, not from when we were answered."""
        match outcome:
            case Written(version=version):
                self._found = Seen(version, self._candidate, DURATION, began, b"{}")
                self._renewed = began
                return True
            case Failed(reason=why):
                self._log.info("the Lease was not written", why=why)
                return False
            case Missing() | Unchanged():
                return False

    async def _let_go(self) -> None:
        if not self._is_ours():
            return
        read = await self._writer.read(self._place)
        if isinstance(read, Item):
            found = seen(read.version, bytes(read.body), None, self._now())
            if found.holder == self._candidate:
                await self._writer.replace(self._place, released(found, _time()))

    def _now(self) -> float:
        return asyncio.get_running_loop().time()


def _time() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
