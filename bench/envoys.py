"""Many Envoys at one control plane: what each costs, how fast a change reaches all, and what a storm takes.

The Envoys are streams that subscribe, take and answer as Envoy does, without its work. They, the control
plane and whoever counts share the machine: only what one size is of another says something. `ENVOYS=100,5000`
names other sizes.
"""

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from random import random
from statistics import median, quantiles
from string import Template
from time import monotonic
from typing import NamedTuple

import grpc
from envoy.config.core.v3 import base_pb2
from envoy.service.discovery.v3 import discovery_pb2

from bench.cluster.usage import usage
from tests.legation.running import free_port, serving
from xds_server.snapshot import CDS, LDS

SIZES = tuple(int(each) for each in os.environ.get("ENVOYS", "100,1000").split(","))
GATEWAYS = 50
CHANGES = 10
AT_ONCE = 100  # streams that are opened at the same time, unless it is a storm
METHOD = "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources"
SHORTEST_PAUSE, LONGEST_PAUSE = 0.5, 30.0  # seconds, as Envoy waits before it calls again
WITHIN = 300.0  # seconds for anything
OWN_CONNECTION = (("grpc.use_local_subchannel_pool", 1),)

CLASS = """\
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: legation}
spec: {controllerName: legation.dev/gateway-controller}
"""
GATEWAY = Template("""\
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: g$n, namespace: shop}
spec: {gatewayClassName: legation, listeners: [{name: http, port: 80, protocol: HTTP}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r$n, namespace: shop}
spec:
  parentRefs: [{name: g$n}]
  rules: [{backendRefs: [{name: pay, port: 443}]}]
""")
PAY = Template("""\
apiVersion: v1
kind: Service
metadata: {name: pay, namespace: shop}
spec: {ports: [{port: 443}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: BackendTLSPolicy
metadata: {name: pay, namespace: shop}
spec:
  targetRefs: [{group: "", kind: Service, name: pay}]
  validation: {hostname: pay-$n.internal, wellKnownCACertificates: System}
""")


class Measured(NamedTuple):
    """What some number of Envoys took."""

    envoys: int
    joined: float  # seconds until all had everything
    kilobytes: float  # of the control plane's memory, for each
    first: float  # seconds from the file's change until half of them had it, the median of the changes
    last: float  # and until 99 of a hundred had it
    processor: float  # seconds of it for one change
    storm: float  # seconds until all had everything again, after all had gone at once


class Envoy:
    """One stream that takes whatever comes."""

    def __init__(self, number: int, target: str) -> None:
        """Say whose it is; nothing is asked yet."""
        self._node = base_pb2.Node(id=f"envoy-{number}", cluster=f"shop/g{number % GATEWAYS}")
        self._target = target
        self.held = b""  # the cluster that the changes are of
        self.at = 0.0  # when it came
        self.has = asyncio.Event()
        self._failures = 0

    async def run(self) -> None:
        """Hold a stream open until cancelled; one that ends is opened again, later each time."""
        self._failures = 0
        while True:
            with suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
                await self._hold()
            self._failures += 1
            await asyncio.sleep(random() * min(LONGEST_PAUSE, SHORTEST_PAUSE * 2**self._failures))  # noqa: S311  no secret

    async def _hold(self) -> None:
        async with grpc.aio.insecure_channel(self._target, options=OWN_CONNECTION) as channel:
            stream = channel.stream_stream(METHOD)()
            for type_url in (CDS, LDS):
                ask = discovery_pb2.DeltaDiscoveryRequest(node=self._node, type_url=type_url)
                await stream.write(ask.SerializeToString())
            while True:
                answer = discovery_pb2.DeltaDiscoveryResponse.FromString(await stream.read())
                self._take(answer)
                ack = discovery_pb2.DeltaDiscoveryRequest(
                    type_url=answer.type_url, response_nonce=answer.nonce
                )
                await stream.write(ack.SerializeToString())

    def _take(self, answer: discovery_pb2.DeltaDiscoveryResponse) -> None:
        for each in answer.resources:
            if each.name.startswith("shop/pay:443"):
                self.held, self.at, self._failures = each.resource.value, monotonic(), 0
                self.has.set()


@asynccontextmanager
async def connected(envoys: Iterable[Envoy], at_once: int) -> AsyncIterator[None]:
    """Connect Envoys until each has its configuration, and hold them."""
    places = asyncio.Semaphore(at_once)

    async def join(envoy: Envoy) -> None:
        envoy.has.clear()
        async with places:
            running.append(tasks.create_task(envoy.run()))
            await envoy.has.wait()

    running: list[asyncio.Task[None]] = []
    async with asyncio.TaskGroup() as tasks:
        async with asyncio.timeout(WITHIN), asyncio.TaskGroup() as joining:
            for envoy in envoys:
                joining.create_task(join(envoy))
        yield
        for task in running:
            task.cancel()


async def change(folder: Path, number: int, envoys: list[Envoy]) -> tuple[float, float]:
    """Have the policy ask for another name; say when half of the Envoys had it, and almost all."""
    name = f"pay-{number}.internal".encode()
    for envoy in envoys:
        envoy.has.clear()
    began = monotonic()
    (folder / "pay.yaml").write_text(PAY.substitute(n=number))
    async with asyncio.timeout(WITHIN):
        for envoy in envoys:
            await envoy.has.wait()
            assert name in envoy.held
    took = [envoy.at - began for envoy in envoys]
    return median(took), quantiles(took, n=100)[98]


async def measure(number: int, folder: Path) -> Measured:
    """Measure so many Envoys at a control plane of their own."""
    (folder / "all.yaml").write_text(CLASS + "".join(GATEWAY.substitute(n=n) for n in range(GATEWAYS)))
    (folder / "pay.yaml").write_text(PAY.substitute(n=0))
    target = f"127.0.0.1:{free_port()}"
    async with serving("up", str(folder), "--no-envoy", "--xds", target) as running:
        await running.logged("xDS port")
        envoys = [Envoy(n, target) for n in range(number)]
        async with connected(envoys[:GATEWAYS], AT_ONCE):
            pass  # whatever is made once is made now
        before, began = usage(running.process.pid), monotonic()
        async with connected(envoys, AT_ONCE):
            joined, now = monotonic() - began, usage(running.process.pid)
            kilobytes = (now.memory - before.memory) / 1024 / number
            changes = [await change(folder, n, envoys) for n in range(1, CHANGES + 1)]
            used = (usage(running.process.pid).cpu - now.cpu) / CHANGES
        began = monotonic()
        async with connected(envoys, number):
            storm = monotonic() - began
    first, last = (median(each) for each in zip(*changes, strict=True))
    return Measured(number, joined, kilobytes, first, last, used, storm)


async def main() -> None:
    """Measure each size, and print it beside the first."""
    found = []
    for number in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            found.append(await measure(number, Path(folder)))
    base = found[0]
    print(f"{'Envoys':>8} {'kB each':>8} {'half have it':>13} {'99 % have it':>13} {'CPU':>8} {'storm':>8}")
    for each in found:
        print(
            f"{each.envoys:>8} {each.kilobytes:>8.0f}"
            f" {each.first / base.first:>12.1f}x {each.last / base.last:>12.1f}x"
            f" {each.processor / base.processor:>7.1f}x {each.storm / base.storm:>7.1f}x"
        )
    print(f"all joined: {', '.join(f'{each.joined / base.joined:.1f}x' for each in found)}")
    print(f"seconds for {base.envoys}: {base}")


if __name__ == "__main__":
    asyncio.run(main())
