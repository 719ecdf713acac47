"""Many Envoys at one control plane: what each costs, how fast a change reaches all, and what a storm takes.

The Envoys are streams that subscribe, take and answer as Envoy does, without its work; in a storm all
come again at once, and say what they have. They and the control plane share the machine: what one size is
of another says something, and the processor of the control plane is counted apart from theirs. They come
in plaintext, then with certificates. `ENVOYS=100,5000` names other sizes.

What changes is a policy that asks for much, so that its cluster has two kilobytes. How often a resource was
made into its wire form meanwhile is counted: once for each Gateway, however many Envoys take it.
"""

import asyncio
import os
import tempfile
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from math import ceil
from pathlib import Path
from statistics import mean, median, quantiles
from string import Template
from time import monotonic
from types import MappingProxyType
from typing import NamedTuple

from bench.cluster.usage import usage
from bench.fleet.door import Door, guarded, plain
from bench.fleet.envoy import Envoy, complete
from tests.legation.running import serving

SIZES = tuple(int(each) for each in os.environ.get("ENVOYS", "100,1000").split(","))
GATEWAYS = [f"shop/g{n}" for n in range(50)]
CHANGES = 10
AT_LEAST, MOST_STORMS = 1_000, 10  # Envoys that come in storms of one size, so that clocks can show it
AT_ONCE = 100  # streams that are opened at the same time, unless it is a storm
WAYS = MappingProxyType[str, Callable[[Path], Door]]({
    "plaintext": lambda _: plain(),
    "mTLS": lambda folder: guarded(folder, GATEWAYS),
})  # fmt: skip

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
metadata: {name: to-pay-$n, namespace: shop}
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
  validation:
    hostname: pay-$n.internal
    wellKnownCACertificates: System
    subjectAltNames: [$names, {type: URI, uri: "spiffe://shop.internal/ns/shop/sa/pay"}]
  options:
    legation.dev/min-tls-version: "1.2"
    legation.dev/cipher-suites: $suites
    legation.dev/curves: X25519,P-256,P-384
    legation.dev/alpn: h2,http/1.1
    legation.dev/pinned-public-key-sha256: $pins
""")
CELLS = ("eu-west-1a", "eu-west-1b", "eu-central-1a", "us-east-1a")
CIPHERS = ("AES128-GCM-SHA256", "AES256-GCM-SHA384", "CHACHA20-POLY1305")
KEYS = [f"{cell}, {turn}" for cell in CELLS for turn in range(6)]
ASKED = MappingProxyType({
    "names": ", ".join(f"{{type: Hostname, hostname: pay.{cell}.shop.internal}}" for cell in CELLS),
    "suites": ",".join(f"ECDHE-{kind}-{cipher}" for kind in ("ECDSA", "RSA") for cipher in CIPHERS),
    "pins": ",".join(b64encode(sha256(key.encode()).digest()).decode() for key in KEYS),
})  # fmt: skip


class Took(NamedTuple):
    """What something took, all together; in seconds."""

    time: float
    server: float  # processor of the control plane
    clients: float  # processor of all Envoys


class Meter:
    """Two clocks of processors, and one on the wall."""

    def __init__(self, pid: int) -> None:
        """Begin to measure."""
        self._pid = pid
        self._began = self._now()

    def took(self) -> Took:
        """Say what was taken since."""
        return Took(*(now - began for now, began in zip(self._now(), self._began, strict=True)))

    def _now(self) -> Took:
        return Took(monotonic(), usage(self._pid).cpu, usage(os.getpid()).cpu)


class Measured(NamedTuple):
    """What some number of Envoys took."""

    envoys: int
    kilobytes: float  # of the control plane's memory, for each
    joined: Took  # until all had everything for the first time
    first: float  # seconds from the file's change until half of them had it, the median of the changes
    last: float  # and until 99 of a hundred had it
    changes: Took  # all of them
    size: int  # bytes of the cluster that changes
    forms: int  # wire forms that were made for the changes, all together
    storm: Took  # until all were answered again, after all had gone at once
    opened: float  # streams in that storm


async def change(folder: Path, number: int, envoys: Sequence[Envoy]) -> tuple[float, float]:
    """Have the policy ask for another name; say when half of the Envoys had it, and almost all."""
    began = monotonic()
    (folder / "pay.yaml").write_text(PAY.substitute(ASKED, n=number))
    for envoy in envoys:
        await envoy.has(f"pay-{number}.internal".encode())
    took = [envoy.at - began for envoy in envoys]
    return median(took), quantiles(took, n=100)[98]


async def storm(envoys: Sequence[Envoy], pid: int) -> Took:
    """Have all Envoys come at once; say what it took until all were answered."""
    meter = Meter(pid)
    async with complete(envoys, len(envoys)):
        return meter.took()


def lay_out(folder: Path) -> None:
    """Write the Gateways, and what all of them lead to."""
    gateways = (GATEWAY.substitute(n=n) for n in range(len(GATEWAYS)))
    (folder / "all.yaml").write_text(CLASS + "".join(gateways))
    (folder / "pay.yaml").write_text(PAY.substitute(ASKED, n=0))


def fleet(number: int, door: Door) -> list[Envoy]:
    """Make Envoys of all Gateways in turn."""
    return [Envoy(GATEWAYS[n % len(GATEWAYS)], f"envoy-{n}", door) for n in range(number)]


async def measure(number: int, folder: Path, door: Door) -> Measured:
    """Measure so many Envoys at a control plane of their own."""
    lay_out(folder)
    forms = folder.with_name("forms")
    flags = (str(forms), "up", str(folder), *door.flags)
    async with serving(*flags, module="bench.fleet.counting") as running:
        await running.logged("xDS port")
        pid, envoys = running.process.pid, fleet(number, door)
        async with complete(fleet(len(GATEWAYS), door), AT_ONCE):
            pass  # whatever is made once is made now
        before, meter = usage(pid), Meter(pid)
        async with complete(envoys, AT_ONCE):
            joined = meter.took()
            kilobytes = (usage(pid).memory - before.memory) / 1024 / number
            made, meter = forms.stat().st_size, Meter(pid)
            changes = [await change(folder, n, envoys) for n in range(1, CHANGES + 1)]
            changing, made = meter.took(), forms.stat().st_size - made
            size = envoys[0].size(b"pay-%d.internal" % CHANGES)
        before_storms = sum(each.opened for each in envoys)
        storms = [await storm(envoys, pid) for _ in range(min(MOST_STORMS, ceil(AT_LEAST / number)))]
        opened = (sum(each.opened for each in envoys) - before_storms) / len(storms)
    first, last = (median(each) for each in zip(*changes, strict=True))
    in_each = Took(*(mean(each) for each in zip(*storms, strict=True)))
    return Measured(number, kilobytes, joined, first, last, changing, size, made, in_each, opened)


def said(found: Sequence[tuple[str, Measured]]) -> Iterator[str]:
    """Say what each took beside the first; times of processors are for one Envoy, but for changes."""
    _, base = found[0]
    yield (
        f"{'':>9} {'Envoys':>7} {'kB each':>8} {'half have it':>13} {'99 % have it':>13} {'CPU':>7}"
        f" {'storm':>7} {'CPU each':>9} {'Envoys CPU':>11} {'came':>7}"
    )
    for way, each in found:
        share = base.envoys / each.envoys / base.storm.server
        yield (
            f"{way:>9} {each.envoys:>7} {each.kilobytes:>8.0f} {each.first / base.first:>12.1f}x"
            f" {each.last / base.last:>12.1f}x {each.changes.server / base.changes.server:>6.1f}x"
            f" {each.storm.time / base.storm.time:>6.1f}x {share * each.storm.server:>8.2f}x"
            f" {share * each.storm.clients:>10.2f}x {each.opened / each.envoys:>6.2f}x"
        )
    joined = (
        f"{base.envoys / each.envoys * each.joined.server / base.storm.server:.2f}x" for _, each in found
    )
    yield f"CPU of one that comes for the first time, as above: {', '.join(joined)}"
    forms = (f"{each.forms / CHANGES:g} for {each.envoys} Envoys" for _, each in found)
    yield (
        f"wire forms made for a change of {base.size} bytes, a cluster of each of {len(GATEWAYS)} Gateways:"
        f" {', '.join(forms)}"
    )


async def main() -> None:
    """Measure each size in each way, and print it beside the first."""
    found = list[tuple[str, Measured]]()
    for way, door in WAYS.items():
        for number in SIZES:
            with tempfile.TemporaryDirectory() as home:
                (folder := Path(home, "served")).mkdir()
                found.append((way, await measure(number, folder, door(Path(home)))))
    print("\n".join(said(found)))


if __name__ == "__main__":
    asyncio.run(main())
