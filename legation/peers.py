"""The other replicas: follows what each of them tells of its Envoys, and says what is known of all of them.

A replica that is lost is believed for a while: its Envoys go on with what they have, and soon connect to
another. Then it is forgotten, so that no status waits for ever. One that was never heard is waited for that
long, too.
"""

import asyncio
import random
from collections.abc import Callable, Iterable, Mapping
from contextlib import aclosing, suppress
from time import monotonic

import structlog
from msgspec import Struct

from legation.journal import NOBODY, NOTHING, Copy, NotUnderstoodError
from legation.quarantined import Held
from legation.telling import Telling
from xds_server.feed import Identity, LostError, followed

PATIENCE = 10.0  # seconds for which a replica that cannot be heard counts
RETRY = 0.5  # seconds to the next try, at least; at most twice as long


class Others(Struct, frozen=True):
    """What each replica tells of Envoys elsewhere; it is incomplete while one is still to be heard."""

    tellings: tuple[Mapping[str, Telling], ...] = ()
    incomplete: bool = False
    held: tuple[Held, ...] = ()  # what they hold back

    def about(self, gateway: str) -> list[Telling]:
        """Say what is told of one Gateway's Envoys."""
        return [each[gateway] for each in self.tellings if gateway in each]


def alone() -> Others:
    """Say what is known where there is no other replica."""
    return Others()


class Peer:
    """One other replica, as far as it was heard."""

    def __init__(self, address: str, now: float) -> None:
        """Begin without a word of it."""
        self.address = address
        self.why = ""  # it is not heard
        self.is_us = False
        self.silent_since: float | None = now
        self.tellings: Mapping[str, Telling] | None = None
        self.held = NOBODY

    def is_waited_for(self, now: float) -> bool:
        """Say whether it may still turn out to be there."""
        return self.silent_since is not None and now < self.silent_since + PATIENCE


class Peers:
    """Every replica that was found, each followed by a task of its own."""

    def __init__(
        self,
        own: str,
        identity: Callable[[], Identity | None],
        noted: Callable[[], None],
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """Follow by what there is to show at the time, if anything; who tells by our own name is us."""
        self._identity = identity
        self._noted = noted
        self._own = own
        self._clock = clock
        self._log = structlog.get_logger()
        self._begun = clock()
        self._found: frozenset[str] | None = None
        self._peers: dict[str, Peer] = {}
        self._changed = asyncio.Event()
        self._news = asyncio.Event()

    def find(self, addresses: Iterable[str]) -> None:
        """Follow the replicas at these addresses, and no others."""
        self._found = frozenset(addresses)
        for gone in self._peers.keys() - self._found:
            del self._peers[gone]
        for new in self._found - self._peers.keys():
            self._peers[new] = Peer(new, self._clock())
        self._changed.set()
        self._note()

    def others(self) -> Others:
        """Say what is known now."""
        now = self._clock()
        if self._found is None:
            return Others(incomplete=now < self._begun + PATIENCE)
        told: list[Mapping[str, Telling]] = []
        held: list[Held] = []
        incomplete = False
        for peer in self._peers.values():
            if not peer.is_us and (peer.silent_since is None or peer.is_waited_for(now)):
                told.append(peer.tellings or NOTHING)
                held += peer.held.values()
                incomplete |= peer.tellings is None
        return Others(tuple(told), incomplete, tuple(held))

    async def complete(self) -> None:
        """Return once every replica was heard, or was waited for long enough."""
        while self.others().incomplete:
            self._news.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(RETRY):
                    await self._news.wait()

    async def run(self) -> None:
        """Follow whoever is found, until cancelled."""
        following: dict[Peer, asyncio.Task[None]] = {}
        async with asyncio.TaskGroup() as tasks:
            while True:
                self._changed.clear()
                found = set(self._peers.values())
                for gone in following.keys() - found:
                    following.pop(gone).cancel()
                for peer in found - following.keys():
                    following[peer] = tasks.create_task(self._follow(peer))
                await self._changed.wait()

    async def _follow(self, peer: Peer) -> None:
        while not peer.is_us:
            identity = self._identity()
            if identity is not None:
                why = await self._hear(peer, identity)
                if why != peer.why:
                    self._log.info("does not hear another replica", replica=peer.address, why=why)
                peer.why = why
            await asyncio.sleep(RETRY * (1 + random.random()))  # noqa: S311  # no secret: it spreads replicas

    async def _hear(self, peer: Peer, identity: Identity) -> str:
        """Listen for as long as there is something to hear, and say why it ended."""
        copy = Copy()
        try:
            async with aclosing(followed(peer.address, identity)) as messages:
                async for message in messages:
                    copy.take(message)
                    peer.is_us = copy.teller == self._own
                    if peer.is_us:
                        return ""
                    if copy.tellings is not None:
                        self._believe(peer, copy.tellings, copy.held)
        except (LostError, NotUnderstoodError) as error:
            return str(error)
        else:
            peer.tellings = NOTHING  # it said goodbye, and before that to its Envoys
            return "it said goodbye"
        finally:
            if peer.silent_since is None:
                peer.silent_since = self._clock()
            self._note()

    def _believe(self, peer: Peer, tellings: Mapping[str, Telling], held: Mapping[str, Held]) -> None:
        if peer.silent_since is not None:
            self._log.info("hears another replica", replica=peer.address)
        peer.silent_since, peer.tellings, peer.held, peer.why = None, tellings, held, ""
        self._note()

    def _note(self) -> None:
        self._news.set()
        self._noted()
