"""Asks now and then which releases and channels of Gateway API the CRDs are of: by name, for metadata."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress

import msgspec
import structlog
from msgspec import Struct, field

from k8s_watch.answers import BROKEN, Failed, Item
from k8s_watch.kind import Kind, ObjectName
from k8s_watch.list_watch import NOT_FOUND
from k8s_watch.reader import Reader, Where
from legation.change import Stated
from translator.objects.kinds import KINDS
from translator.objects.references import GATEWAY_GROUP
from translator.rules.bundles import BUNDLES, Bundle, Bundles

VERSION, CHANNEL = (f"{GATEWAY_GROUP}/{what}" for what in ("bundle-version", "channel"))
PLURAL = "customresourcedefinitions"
GROUP = "apiextensions.k8s.io"
NAMES = tuple(f"{info.plural}.{GATEWAY_GROUP}" for info in KINDS if info.group == GATEWAY_GROUP)
DENIED = frozenset({401, 403})
PATIENCE = 10.0  # seconds that a beginning waits for an answer
RETRY = 0.5
AGAIN = 60.0


class _Metadata(Struct, frozen=True):
    annotations: Mapping[str, str] = field(default_factory=dict)


class _Marked(Struct, frozen=True):
    metadata: _Metadata


_WHERE = Where(Kind(GROUP, ("v1",), PLURAL, _Marked, namespaced=False, metadata_only=True), f"{GROUP}/v1")


class Crds:
    """What was found out last, and who is told when it is something else."""

    def __init__(self, reader: Reader, tell: Callable[[Stated[Bundles | None]], None]) -> None:
        """Begin without knowing anything."""
        self._reader = reader
        self._tell = tell
        self._bundles: Bundles | None = None
        self._log = structlog.get_logger()

    @property
    def fact(self) -> Stated[Bundles | None]:
        """What holds as far as is known."""
        return Stated(BUNDLES, self._bundles)

    async def begin(self) -> None:
        """Find out, if that does not take too long; `fact` has it."""
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                while True:
                    if await self._look():
                        return
                    await asyncio.sleep(RETRY)

    async def run(self) -> None:
        """Tell what is new, until cancelled."""
        while True:
            await asyncio.sleep(AGAIN)
            before = self._bundles
            await self._look()
            if self._bundles != before:
                self._tell(self.fact)

    async def _look(self) -> bool:
        """Ask about every CRD; say whether there was an answer, if only that we may not ask."""
        found: set[Bundle] = set()
        for name in NAMES:
            match await self._reader.get(_WHERE, ObjectName("", name)):
                case Item(body=body):
                    found.add(_bundle(body))
                case Failed(code=code) if code == NOT_FOUND:
                    pass
                case Failed() as failed:
                    return self._give_up(failed)
        self._bundles = frozenset(found)
        return True

    def _give_up(self, failed: Failed) -> bool:
        """Keep what was known, unless it is no longer ours to know."""
        if failed.code not in DENIED:
            return False
        self._bundles = None
        self._log.info("versions of CRDs cannot be read", why=failed.reason)
        return True


def _bundle(body: msgspec.Raw) -> Bundle:
    try:
        said = msgspec.json.decode(body, type=_Marked).metadata.annotations
    except BROKEN:
        return Bundle()
    return Bundle(said.get(VERSION, ""), said.get(CHANNEL, ""))
