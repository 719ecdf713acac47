"""The pods of the one node: who is bound to it, started, told of changes, ended."""

import asyncio

from e2e.cluster.kubelet.api import Api, Gone, Listed, Put, unless_gone
from e2e.cluster.kubelet.host import Host
from e2e.cluster.kubelet.objects.pods import Pod
from e2e.cluster.kubelet.pod import PodLife
from e2e.cluster.network import NODE_NAME

ALL = "/api/v1/pods"


class Pods:
    """Every pod that runs here."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._lives: dict[str, PodLife] = {}

    async def run(self, stopping: asyncio.Event) -> None:
        """Follow the API server's pods, until it is time to stop; then end all of them at once."""
        async with asyncio.TaskGroup() as tasks:
            watching = tasks.create_task(self._follow(tasks))
            await stopping.wait()
            watching.cancel()
            for life in self._lives.values():
                life.end(0, reports=False)  # they start again when the cluster does

    async def _follow(self, tasks: asyncio.TaskGroup) -> None:
        async for change in self._host.api.watch(ALL, Pod):
            match change:
                case Put(pod):
                    self._put(pod, tasks)
                case Gone(pod):
                    self._end(pod.metadata.uid)
                case Listed(uids):
                    for uid in self._lives.keys() - uids:
                        self._end(uid)

    def _put(self, pod: Pod, tasks: asyncio.TaskGroup) -> None:
        uid = pod.metadata.uid
        ending = pod.metadata.deletion_timestamp is not None
        if uid in self._lives:
            self._lives[uid].update(pod)
        elif not pod.spec.node_name:
            if not ending and not pod.spec.scheduling_gates:
                tasks.create_task(_bind(self._host.api, pod))
        elif ending:
            tasks.create_task(_forget(self._host.api, pod))
        elif not pod.over:  # one that was over before this kubelet began stays as it is
            self._lives[uid] = PodLife(self._host, pod)
            tasks.create_task(self._live(uid))

    async def _live(self, uid: str) -> None:
        await self._lives[uid].live()
        del self._lives[uid]

    def _end(self, uid: str) -> None:
        if uid in self._lives:  # by force: nobody is left to be told
            self._lives[uid].end(0, reports=False)


async def _bind(api: Api, pod: Pod) -> None:
    with unless_gone():
        target = {"apiVersion": "v1", "kind": "Node", "name": NODE_NAME}
        await api.post(f"{pod.path}/binding", {"metadata": {"name": pod.metadata.name}, "target": target})


async def _forget(api: Api, pod: Pod) -> None:
    with unless_gone():
        await api.delete(pod.path, pod.metadata.uid)
