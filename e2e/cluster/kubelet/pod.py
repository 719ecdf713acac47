"""The life of one pod: its volumes and network, its containers in their order, its end."""

import asyncio
import random
import shutil
from contextlib import suppress

import aiohttp

from e2e.cluster import network
from e2e.cluster.kubelet.api import ApiError, unless_gone
from e2e.cluster.kubelet.container import ContainerLife
from e2e.cluster.kubelet.events import tell
from e2e.cluster.kubelet.fields import MissingError
from e2e.cluster.kubelet.host import Host
from e2e.cluster.kubelet.objects.containers import Container
from e2e.cluster.kubelet.objects.pods import Pod
from e2e.cluster.kubelet.pod_status import Progress, Reporter, is_contradicted
from e2e.cluster.kubelet.surroundings import Surroundings

LOOK_AGAIN = 1.0  # seconds, for a volume that cannot be made yet
REFRESH = (20.0, 25.0)  # seconds between two looks at what volumes are made of
LAST_GRACE = 30.0  # for sidecars when all others have ended


class PodLife:
    """One pod, from when it is bound to when it is gone."""

    def __init__(self, host: Host, pod: Pod) -> None:
        self._around = Surroundings(host, pod)
        self._initial = tuple(self._life(container, initial=True) for container in pod.spec.init_containers)
        self._main = tuple(self._life(container) for container in pod.spec.containers)
        self._initialized = False
        self._ending = asyncio.Event()
        self._grace = 0
        self._reports = True
        self._over = False

    async def live(self) -> None:
        """Run the pod until it is to end, and clear up after it."""
        home = self._around.home
        home.mkdir(parents=True)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._report())
            running = tasks.create_task(self._run())
            await self._ending.wait()
            await self._stop(self._grace)
            await running
            self._over = True
            self._around.changed.set()
        await self._clear()

    def update(self, pod: Pod) -> None:
        """Hear of the pod."""
        self._around.pod = pod
        self._around.changed.set()
        if pod.metadata.deletion_timestamp:
            self.end(pod.metadata.deletion_grace_period_seconds, reports=True)

    def end(self, grace: int, *, reports: bool) -> None:
        """Begin its end; who cannot or need not be told is not."""
        if self._ending.is_set():
            return
        self._grace = grace
        self._reports = reports
        self._ending.set()

    def _life(self, container: Container, *, initial: bool = False) -> ContainerLife:
        policy = self._around.pod.spec.restart_policy
        if initial:
            policy = container.restart_policy or ("OnFailure" if policy == "Always" else policy)
        return ContainerLife(self._around, container, policy)

    async def _run(self) -> None:
        """Start one thing after another."""
        if not await self._volumes_made():
            return
        await self._join()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._refresh())
            for container in self._initial:
                tasks.create_task(container.live())
                await container.passed.wait()
                if self._ending.is_set() or (container.ended.is_set() and not container.succeeded):
                    return
            self._initialized = True
            for container in self._main:
                tasks.create_task(container.live())
            self._around.changed.set()
            for container in self._main:
                await container.ended.wait()
            for container in self._initial:  # a sidecar has no other reason to end
                await container.stop(LAST_GRACE)
            self._around.changed.set()

    async def _volumes_made(self) -> bool:
        told = ""
        while not self._ending.is_set():
            try:
                await self._around.volumes.make(self._around.pod, self._around.address)
            except (MissingError, ApiError) as error:
                if told != (told := str(error)):
                    await tell(self._around.host.api, self._around.pod, "FailedMount", told, warning=True)
                await self._wait(LOOK_AGAIN)
            else:
                return True
        return False

    async def _join(self) -> None:
        if self._around.pod.spec.host_network:
            return
        host = self._around.host
        address = host.addresses.take()
        sysctls = self._around.pod.spec.security_context.sysctls
        parameters = [f"{each.name}={each.value}" for each in sysctls]
        self._around.namespace = await asyncio.to_thread(
            network.join, host.settings.namespace, address, parameters
        )
        self._around.address = address
        self._around.changed.set()

    async def _refresh(self) -> None:
        """Bring volumes up to date now and then, as slowly as a kubelet does."""
        while not self._ending.is_set():
            await self._wait(random.uniform(*REFRESH))  # noqa: S311  no secret
            with suppress(MissingError, ApiError, aiohttp.ClientError):
                await self._around.volumes.make(self._around.pod, self._around.address)

    async def _wait(self, seconds: float) -> None:
        """Wait so long, or until it is to end."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._ending.wait()

    async def _stop(self, grace: int) -> None:
        """End containers together, and sidecars only when the others have ended."""
        sidecars = [container for container in self._initial if container.sidecar]
        others = [container for container in (*self._initial, *self._main) if not container.sidecar]
        for together in (others, sidecars):
            await asyncio.gather(*(container.stop(grace) for container in together))

    async def _report(self) -> None:
        """Tell the API server whatever is new, the end included."""
        reporter, changed = Reporter(), self._around.changed
        told: dict[str, object] = {}
        over = False
        while not over:
            await changed.wait()
            changed.clear()
            over = self._over
            progress = self._progress()
            status = reporter.status(progress)
            is_news = status != told or is_contradicted(self._around.pod, progress)
            if is_news and not (self._ending.is_set() and not self._reports):
                await self._tell(status)
                told = status

    async def _tell(self, status: dict[str, object]) -> None:
        pod = self._around.pod
        with unless_gone():
            body = {"metadata": {"uid": pod.metadata.uid}, "status": status}
            await self._around.host.api.patch(f"{pod.path}/status", body)

    def _progress(self) -> Progress:
        around = self._around
        return Progress(around.pod, around.address, self._initial, self._main, self._initialized)

    async def _clear(self) -> None:
        """Give everything back, and let the API server forget the pod."""
        around = self._around
        if not around.pod.spec.host_network and around.address:
            await asyncio.to_thread(network.leave, around.namespace)
            around.host.addresses.give_back(around.address)
        shutil.rmtree(around.home)
        if self._reports:
            with unless_gone():
                await around.host.api.delete(around.pod.path, around.pod.metadata.uid)
