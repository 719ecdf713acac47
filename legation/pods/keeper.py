"""Keeps in the cluster, for each XBackend that selects pods, a Service by which one learns where they are.

Only who leads does this. What somebody changes or deletes is put back; what has a name that we need and is
not ours is left alone.
"""

import asyncio
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import msgspec
import structlog

from k8s_watch.change import Absent, Change, Gone, Put, Synced
from k8s_watch.informer import Informer
from k8s_watch.list_watch import Pace
from legation.due import Due
from legation.pods.wanted import LABEL, Pods, manifest
from legation.proxies.made import SORTS, Found, Key, Ledger
from legation.proxies.ways import TroubleError, Ways
from translator.names import Name

AT_ONCE = 4  # XBackends at the same time
SERVICE = "Service"

_NOTHING: Mapping[Name, Pods | None] = MappingProxyType({})


class PodsKeeper:
    """The Services of XBackends, as they should be, and as they are."""

    def __init__(self, ways: Ways) -> None:
        """Begin without any."""
        self._ways = ways
        self._log = structlog.get_logger()
        self._wanted = _NOTHING
        self._owners: dict[Name, Name] = {}  # by the name of the Service
        self._failures: dict[Name, int] = {}
        self._pace = Pace()
        self._ledger = Ledger()
        self._due: Due[Name] = Due()

    def take(self, wanted: Mapping[Name, Pods | None]) -> None:
        """Take in which pods are to be found."""
        before, self._wanted = self._wanted, wanted
        for name, pods in wanted.items():
            if pods is not None and before.get(name) is not pods:
                self._owners[pods.service] = name
                self._due.mark(name)
        for name in before.keys() - wanted.keys():
            self._forget(name)

    async def run(self) -> None:
        """Make and keep all of them, until cancelled; at first everything is looked at."""
        self._ledger = Ledger()
        known = asyncio.Event()

        async def learn(changes: Sequence[Change[Found]]) -> None:
            self._ledger.learn(SERVICE, changes)
            for change in changes:
                if isinstance(change, Put | Gone) and (owner := self._owners.get(Name(*change.name))):
                    self._due.mark(owner)
            if any(isinstance(change, Synced | Absent) for change in changes):
                known.set()

        watched = SORTS[SERVICE].watched(LABEL)
        informer = Informer(watched, self._ways.reader, learn, self._ways.namespaces)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(informer.run())
            await known.wait()
            for name in self._wanted:
                self._due.mark(name)
            for _ in range(AT_ONCE):
                tasks.create_task(self._work())

    async def _work(self) -> None:
        while True:
            async with self._due.next() as name:
                if (pods := self._wanted.get(name)) is not None:
                    await self._settle(pods)

    async def _settle(self, pods: Pods) -> None:
        name = pods.x_backend
        try:
            await self._keep(pods)
        except TroubleError as trouble:
            self._failures[name] = failures = self._failures.get(name, 0) + 1
            self._log.warning("nobody says where pods are", x_backend=str(name), why=str(trouble))
            self._due.mark(name, self._pace.after(failures))
        else:
            self._failures.pop(name, None)

    async def _keep(self, pods: Pods) -> None:
        """Have a Service where pods are selected, and none where they are not."""
        key = Key(SERVICE, pods.service)
        if pods.labels:
            if await self._ways.keep(self._ledger, key, msgspec.json.encode(manifest(pods)), pods.owner):
                self._log.info(
                    "made a Service for an XBackend", object=str(key), x_backend=str(pods.x_backend)
                )
        elif (found := self._ledger.found(key)) is not None and found.is_of(pods.owner):
            await self._ways.delete(key, found.metadata.uid)
            self._log.info("deleted what is no longer wanted", object=str(key))

    def _forget(self, name: Name) -> None:
        """Let go of an XBackend; its Service goes with it, by its owner reference."""
        self._due.forget(name)
        self._failures.pop(name, None)
        self._owners = {service: owner for service, owner in self._owners.items() if owner != name}
