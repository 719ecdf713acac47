"""A kind for one test, somebody who writes it, informers that are told, and whether they were told right."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from string import Template

from e2e.churn import NAMES, Churn, sizes, told_in_order
from e2e.kubectl import kubectl, wait_for
from k8s_watch.api_server import ApiServer
from k8s_watch.fetcher import Fetcher
from k8s_watch.informer import Informer
from k8s_watch.kind import Kind, ObjectName
from k8s_watch.list_watch import Pace
from k8s_watch.reader import Limits, Reader
from k8s_watch.writer import Writer
from tests.k8s_watch.listener import Listener, Widget, running
from tests.real_envoy import until

SETTLED_WITHIN = 180.0
PACE = Pace(longest=4.0, look=1.0)

CRD = Template("""
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.$group}
spec:
  group: $group
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget}
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema: {type: object, properties: {size: {type: integer}}}
""")


def define(kind: Kind[Widget]) -> None:
    """Have the API server serve a kind."""
    kubectl("apply", "--filename=-", given=CRD.substitute(group=kind.group))
    wait_for("default", "condition=Established", f"crd/widgets.{kind.group}")


def undefine(kind: Kind[Widget]) -> None:
    """Have the API server forget a kind, with all objects of it."""
    kubectl("delete", "crd", f"widgets.{kind.group}", "--ignore-not-found")


class Scene:
    """Somebody who writes one kind in one namespace, and informers that are told of it."""

    def __init__(
        self, kind: Kind[Widget], namespace: str, server: ApiServer, closing: AsyncExitStack
    ) -> None:
        """Begin with nobody told, and nothing written."""
        self.kind = kind
        self.namespace = namespace
        self.server = server
        self.churn = Churn(Writer(server, "test"), kind, namespace)
        self._closing = closing

    async def informs(
        self, limits: Limits | None = None, server: ApiServer | None = None
    ) -> tuple[Informer[Widget], Listener[Widget]]:
        """Begin to watch the kind."""
        told, reader = Listener[Widget](), Reader(server or self.server, limits)
        informer = Informer(self.kind, reader, told, [self.namespace], PACE)
        await self._closing.enter_async_context(running(informer.run()))
        return informer, told

    async def fetches(self) -> Listener[Widget]:
        """Begin to watch the kind's metadata, and read every object that may be there."""
        told = Listener[Widget]()
        fetcher = Fetcher(self.kind, Reader(self.server), told, [self.namespace], PACE)
        await self._closing.enter_async_context(running(fetcher.run()))
        fetcher.want(frozenset(ObjectName(self.namespace, f"widget-{n}") for n in range(NAMES)))
        await told.until(lambda: told.synced == 1, SETTLED_WITHIN)
        return told

    async def ends_well(self, told: Listener[Widget]) -> None:
        """Wait until what was told is what there is; check that it happened so, and none of it twice."""
        there = self.churn.there
        await told.until(lambda: held(told) == there, SETTLED_WITHIN)
        assert await asyncio.to_thread(self._listed) == there
        for name, made in self.churn.made.items():
            found = sizes(told.changes, name)
            assert told_in_order(found, made), (name, found, made)
        assert told.synced == 1

    def _listed(self) -> dict[str, int]:
        path = f"/apis/{self.kind.group}/v1/namespaces/{self.namespace}/widgets"
        items = json.loads(kubectl("get", "--raw", path))["items"]
        return {each["metadata"]["name"]: each["size"] for each in items}


def held(told: Listener[Widget]) -> dict[str, int]:
    """Return what there is, by all that was told."""
    return {name: widget.size for name, widget in told.things.items()}


@asynccontextmanager
async def meanwhile(work: Awaitable[None]) -> AsyncIterator[None]:
    """Have something done beside the block, to its end."""

    async def done() -> None:
        await work

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(done())
        yield


async def becomes(holds: Callable[[], bool], within: float = SETTLED_WITHIN) -> None:
    """Wait for what nobody announces."""

    async def there() -> bool:
        return holds()

    await until(there, within=within)


async def fails(informer: Informer[Widget], code: int, within: float = SETTLED_WITHIN) -> None:
    """Wait until an informer knows that it does not get what it asks for, and how it is refused."""
    await becomes(lambda: informer.failure is not None and informer.failure.code == code, within)
