"""The source in a cluster: an informer for each kind, and what they tell as batches for the pump."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType

import structlog
from msgspec import Struct, structs

from k8s_watch.answers import Failed
from k8s_watch.change import Change
from k8s_watch.fetcher import Fetcher
from k8s_watch.informer import Informer
from k8s_watch.inquiry import Inquiry
from k8s_watch.kind import ObjectName
from k8s_watch.list_watch import Pace
from k8s_watch.reader import Reader
from legation.change import Put, Stated
from legation.contact import Contact, Stale, Watching, contact
from legation.fence import Doubt
from legation.intake import Intake
from legation.kinds import PICKED, WATCHED
from legation.wanted import WANTING
from translator.objects.backend_tls_policy import BackendTLSPolicy
from translator.objects.kinds import Object

PATIENCE = 5.0  # seconds that a batch waits for what it refers to
PATIENT = 2  # questions in vain until only policies are waited for: the first begins dead watches anew
LOOK_AGAIN = 5.0  # seconds between two looks at what goes wrong

Told = Sequence[Change[Object]]
Batch = Sequence[Put | Stated[bool]]


class Ears(Struct, frozen=True):
    """Who is told: of batches to translate and when they began, and of every single change as it comes."""

    take: Callable[[Batch, float], None]
    overhear: Callable[[type, Told], None]


class Cluster:
    """All kinds, everywhere or in some namespaces."""

    def __init__(
        self, reader: Reader, ears: Ears, namespaces: Sequence[str] = (), pace: Pace | None = None
    ) -> None:
        """Watch by this reader; kinds that have no namespace are watched in any case."""
        self._ears = ears
        self._log = structlog.get_logger()
        self._intake = Intake(kind for kind, _ in WATCHED)
        self._news = asyncio.Event()
        self._doubtful = asyncio.Event()
        self._pace = pace or Pace()
        self._since: float | None = None  # when the first of what gathers was told
        self._said: Mapping[str, str] = MappingProxyType({})
        self._fetchers: dict[type, Fetcher[Object]] = {}
        self._informers: dict[type, Informer[Object]] = {}
        for kind, place in WATCHED:
            listen = self._listener(kind)
            if kind in PICKED:
                self._fetchers[kind] = Fetcher(place, reader, listen, namespaces, pace)
            else:
                self._informers[kind] = Informer(place, reader, listen, namespaces, pace)
        self._inquiries = {kind: Inquiry(each, reader) for kind, each in self._informers.items()}

    @property
    def lacks(self) -> str:
        """What stands in the way of a first translation, in words; empty once nothing does."""
        kinds = self._intake.unknown or (() if self._intake.is_certain else (BackendTLSPolicy,))
        waiting = (kind.__name__ + _in_brackets(self._because(kind)) for kind in kinds)
        unreadable = (f"{ref}{_in_brackets(why)}" for ref, why in self._intake.in_the_way.items())
        return ", ".join((*waiting, *unreadable))

    def contacts(self) -> tuple[Contact, ...]:
        """Say how the contact stands, for every kind."""
        now = asyncio.get_running_loop().time()
        return tuple(self._contact(kind, now) for kind, _ in WATCHED)

    def stale(self) -> tuple[Stale, ...]:
        """Say of which kinds nothing newer can be had than was told; what was never told is lacking."""
        unknown = {kind.__name__ for kind in self._intake.unknown}
        known = (each for each in self.contacts() if each.kind not in unknown)
        return tuple(each.stale for each in known if each.stale is not None)

    def api_version(self, kind: type) -> str:
        """Say under which version the objects of a kind were found."""
        return self._informers[kind].api_version

    async def run(self) -> None:
        """Go on until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for informer in self._informers.values():
                tasks.create_task(informer.run())
            for fetcher in self._fetchers.values():
                tasks.create_task(fetcher.run())
            tasks.create_task(self._hand_on())
            tasks.create_task(self._settle())
            tasks.create_task(self._tell_failures())

    def _listener(self, kind: type) -> Callable[[Told], Coroutine[None, None, None]]:
        async def listen(changes: Told) -> None:
            self._news.set()
            if not changes:
                return
            self._since = time.monotonic() if self._since is None else self._since
            self._ears.overhear(kind, changes)
            self._intake.take(kind, changes)
            if kind in WANTING:
                for picked, fetcher in self._fetchers.items():
                    self._pick(picked, fetcher)
            if self._intake.waits:
                self._doubtful.set()

        return listen

    @property
    def _is_amid(self) -> bool:
        return any(each.is_amid for each in self._informers.values())

    def _pick(self, kind: type, fetcher: Fetcher[Object]) -> None:
        """Have read what is wanted of a kind, if that is something else than before."""
        wishes = self._intake.wishes
        if anew := wishes.altered(kind):
            wanted = wishes.of(kind)
            fetcher.want({ObjectName(*name) for name in wanted}, {ObjectName(*name) for name in anew})

    async def _hand_on(self) -> None:
        """Pass on what gathers: what was received together, with what it refers to, if that comes in time."""
        while True:
            await self._news.wait()
            self._news.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(PATIENCE):
                    while self._is_amid or (self._intake.is_safe and not self._intake.is_answered):
                        await self._news.wait()
                        self._news.clear()
            if self._intake.is_safe and self._since is not None:
                batch = self._intake.hand_on()
                since, self._since = self._since, self._since if self._intake.holds else None
                if batch or not self._intake.holds:
                    self._ears.take(batch, since)

    async def _settle(self) -> None:
        """Let go on what waits for news, once all of it was told."""
        while True:
            await self._doubtful.wait()
            self._doubtful.clear()
            failures = 0
            while (doubt := self._intake.doubt) is not None:
                if await self._is_told(doubt):
                    self._intake.settle(doubt)
                    self._news.set()
                    failures = 0
                    continue
                failures += 1
                if failures == PATIENT:
                    self._intake.lose_patience()
                    self._news.set()
                await asyncio.sleep(self._pace.after(failures))

    async def _is_told(self, doubt: Doubt) -> bool:
        asked: dict[type, set[ObjectName]] = {}
        for kind, name in doubt.about:
            asked.setdefault(kind, set()).add(ObjectName(*name))
        answers = (self._inquiries[kind].is_told(names) for kind, names in asked.items())
        return all(await asyncio.gather(*answers))

    async def _tell_failures(self) -> None:
        """Say once what stands between us and the newest, and once that it is over."""
        while True:
            await asyncio.sleep(LOOK_AGAIN)
            now = {**self._failures(), **{str(ref): why for ref, why in self._intake.unreadable.items()}}
            for what, why in now.items():
                if self._said.get(what) != why:
                    self._log.warning("cannot be read", **_about(what), why=why)
            for what in self._said.keys() - now.keys():
                self._log.info("can be read again", **_about(what))
            self._said = now

    def _contact(self, kind: type, now: float) -> Contact:
        """Say how the contact stands, also where policies are not certain, or an object may not be read."""
        found = contact(kind.__name__, self._watching(kind), self._failure(kind), now)
        return structs.replace(found, lacking=max(0.0, now - self._lacking_since(kind)))

    def _lacking_since(self, kind: type) -> float:
        if (fetcher := self._fetchers.get(kind)) is not None:
            return fetcher.since
        return self._inquiries[kind].since if kind is BackendTLSPolicy else float("inf")

    def _failures(self) -> dict[str, str]:
        return {kind.__name__: why for kind, _ in WATCHED if (why := self._because(kind))}

    def _because(self, kind: type) -> str:
        failure = self._failure(kind)
        return "" if failure is None else str(failure)

    def _failure(self, kind: type) -> Failed | None:
        doubted = self._inquiries[kind].failure if kind is BackendTLSPolicy else None
        return (self._fetchers.get(kind) or self._informers[kind]).failure or doubted

    def _watching(self, kind: type) -> Watching:
        picked = self._fetchers.get(kind)
        return picked.metadata if picked else self._informers[kind]


def _about(what: str) -> dict[str, str]:
    """Say whether it is an object that is spoken of, or all of a kind."""
    return {"object": what} if " " in what else {"kind": what}


def _in_brackets(why: str) -> str:
    return f" ({why})" if why else ""
