"""The kubelet as a process, inside the network of the node: `python -m e2e.cluster.kubelet SETTINGS`."""

import asyncio
import signal
import sys
from pathlib import Path

import aiohttp
import msgspec

from e2e.cluster.kubelet import logs, node
from e2e.cluster.kubelet.api import connected
from e2e.cluster.kubelet.host import Host, Settings
from e2e.cluster.kubelet.pods import Pods
from e2e.cluster.kubelet.pool import Pool
from e2e.cluster.kubelet.services import LoadBalancers
from e2e.cluster.network import LOAD_BALANCERS, PODS


async def run(settings: Settings) -> None:
    """Run until SIGTERM, then end every pod."""
    stopping = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopping.set)
    fresh = aiohttp.TCPConnector(force_close=True, limit=0)  # a probe that holds a connection proves nothing
    async with (
        connected(settings.access) as api,
        aiohttp.ClientSession(connector=fresh) as session,
        logs.served(settings),
        asyncio.TaskGroup() as tasks,
    ):
        background = [
            tasks.create_task(node.run(api)),
            tasks.create_task(LoadBalancers(api, Pool(LOAD_BALANCERS)).run()),
        ]
        await Pods(Host(settings, api, session, Pool(PODS))).run(stopping)
        for task in background:
            task.cancel()


if __name__ == "__main__":
    asyncio.run(run(msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=Settings)))
