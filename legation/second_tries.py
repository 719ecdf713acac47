"""Has Envoys try listeners again that their machine kept them from: a port that was taken may be free by now.

The listener is as it was, so that nobody else offers it again; and one edit may have two Gateways exchange
their ports.
"""

import asyncio
from contextlib import suppress
from time import monotonic

from legation.admin.reasons import OF_THE_MACHINE, reason
from xds_server.hub import Hub
from xds_server.report import Accepted, Rejected, Report
from xds_server.snapshot import LDS

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0  # seconds between two tries

Key = tuple[str, str]  # a Gateway's group, and its listener


class SecondTries:
    """Knows which listeners are to be offered again, and when; the pauses grow."""

    def __init__(self) -> None:
        """Begin without any."""
        self._pauses: dict[Key, float] = {}
        self._due: dict[Key, float] = {}
        self._news = asyncio.Event()

    def note(self, report: Report) -> None:
        """Hear what became of a listener."""
        if isinstance(report, Accepted) and report.type_url == LDS:
            for name in (*report.versions, *report.removed):
                self._pauses.pop((report.envoy.group, name), None)
        if isinstance(report, Rejected) and report.type_url == LDS and reason(report.error) in OF_THE_MACHINE:
            for name in report.versions if report.isolated else ():
                self._postpone((report.envoy.group, name))

    def _postpone(self, key: Key) -> None:
        if key in self._due:  # as another Envoy refused it, too: this is the same try
            return
        pause = min(LONGEST_PAUSE, 2 * self._pauses.get(key, FIRST_PAUSE / 2))
        self._pauses[key] = pause
        self._due[key] = monotonic() + pause  # by the clock of event loops
        self._news.set()

    async def run(self, hub: Hub) -> None:
        """Offer again what is due, until cancelled."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout_at(min(self._due.values(), default=None)):
                    await self._news.wait()
            self._news.clear()
            for key in [key for key, at in self._due.items() if at <= monotonic()]:
                del self._due[key]
                hub.pardon(key[0], LDS, key[1])
            for key in [key for key in self._pauses if not _is_offered(hub, key)]:
                del self._pauses[key]


def _is_offered(hub: Hub, key: Key) -> bool:
    group, listener = key
    snapshot = hub.snapshot(group)
    return snapshot is not None and snapshot.find(LDS, listener) is not None
