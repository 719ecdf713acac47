"""The authority in a cluster: one Secret that every replica reads, and whoever comes first makes or renews.

Two replicas that would renew at once cannot both: the API server refuses the second, which then believes the
first. Each replica has a certificate of its own, which no Secret holds.
"""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime

import msgspec
import structlog

from k8s_watch.answers import Failed, Item
from k8s_watch.kind import Place
from k8s_watch.list_watch import Pace
from k8s_watch.writer import Writer
from legation.channel.authority import Credential, Subject
from legation.channel.identity_secrets import authority_secret, roots_of
from legation.channel.rotation import TERMS, Terms, bundle, renewed_leaf, renewed_roots
from translator.names import Name
from translator.objects.secret import Secret
from xds_server.service import Proof

LOOK_AGAIN = 60.0  # seconds; a new root is believed by everybody a day before it signs

Told = Callable[[], None]


class KeptAuthority:
    """The roots as the Secret has them, and what this replica proves itself with."""

    def __init__(
        self, writer: Writer, name: Name, subject: Subject, told: Told, terms: Terms = TERMS
    ) -> None:
        """Keep roots under this name, prove to be the subject, and tell whenever other roots are believed."""
        self.roots: tuple[Credential, ...] = ()
        self._writer = writer
        self._name = name
        self._place = Place("v1", "secrets", *name)
        self._subject = subject
        self._told = told
        self._terms = terms
        self._leaf: Credential | None = None
        self._log = structlog.get_logger().bind(secret=str(name))

    def proof(self) -> Proof:
        """Give what the server proves itself with now; there is something once `open` has returned."""
        assert self._leaf is not None, "nobody asks before it is open"
        chain, key = self._leaf.certificate.encode(), self._leaf.key.encode()
        return Proof(chain, key, bundle(self.roots).encode())

    async def open(self) -> None:
        """Return once there are roots."""
        pace, failures = Pace(), 0
        while not await self._look():
            failures += 1
            await asyncio.sleep(pace.after(failures))

    async def run(self) -> None:
        """Look again and again whether something is due, until cancelled."""
        while True:
            await asyncio.sleep(LOOK_AGAIN)
            await self._look()

    async def _look(self) -> bool:
        """Believe what the Secret holds, renewed if that is due; say whether that worked."""
        found = await self._writer.read(self._place)
        if isinstance(found, Failed):
            self._log.warning("the authority cannot be read", why=found.reason)
            return False
        held = roots_of(msgspec.json.decode(found.body, type=Secret)) if isinstance(found, Item) else ()
        now = datetime.now(UTC)
        roots = renewed_roots(held or self.roots, now, self._terms)
        if roots != held:
            failed = await self._write(roots, found.version if isinstance(found, Item) else "")
            if failed is not None:
                self._log.info("the authority was not written", why=failed.reason)
                return False
        self._believe(roots, now)
        return True

    async def _write(self, roots: tuple[Credential, ...], version: str) -> Failed | None:
        """Create the Secret, or replace the version that was read."""
        manifest = authority_secret(self._name, roots, version)
        body = msgspec.json.encode(manifest)
        if version:
            outcome = await self._writer.replace(self._place, body)
        else:
            outcome = await self._writer.create(self._place, body)
        return outcome if isinstance(outcome, Failed) else None

    def _believe(self, roots: tuple[Credential, ...], now: datetime) -> None:
        self._leaf = renewed_leaf(self._leaf, self._subject, roots, now, self._terms)
        if roots != self.roots:
            self.roots = roots
            self._log.info("believes roots", until=[root.lifetime.until.isoformat() for root in roots])
            self._told()
