"""What the Envoys of each Gateway made of what they were sent, for the Gateway's own status."""

import asyncio
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from types import MappingProxyType

from msgspec import Struct

from translator.names import Name
from translator.objects.gateway import Gateway
from translator.rules.gateways import Delivery
from xds_server.hub import Connected, Hub
from xds_server.report import Report
from xds_server.snapshot import LDS, Snapshot

GATHER = 0.05  # seconds: most Envoys answer sooner, so that a quick ACK makes one status of two
ASK_ANYWAY = 1.0  # seconds; nobody reports an Envoy that went away
NOT_PERMITTED = (
    "this user may not bind a port below 1024: start with `--port-offset 8000`, "
    "or permit it, for instance with `sysctl net.ipv4.ip_unprivileged_port_start=80`"
)
IN_USE = (
    "another process has this port: end it and start again, "
    "or choose another port, for instance with `--port-offset 10000`"
)
NOT_HERE = "this machine does not have that address: see `--address` and the Gateway's spec.addresses"
REMEDIES = MappingProxyType({
    "Permission denied": NOT_PERMITTED,
    "Address already in use": IN_USE,
    "Cannot assign requested address": NOT_HERE,
})  # fmt: skip


class Refusal(Struct, frozen=True):
    """A resource that an Envoy refused, in its words."""

    resource: str
    words: str


class Heard(Struct, frozen=True):
    """What the Envoys of one Gateway say together."""

    gateway: Name
    acknowledged: bool = False  # every connected one holds the newest listeners
    refusals: tuple[Refusal, ...] = ()
    present: bool = True  # one is connected here


class Deliveries:
    """Listens to Envoys, and passes on what differs."""

    def __init__(self) -> None:
        """Begin without having heard anything."""
        self._news = asyncio.Event()
        self._told: dict[Name, Heard] = {}

    def note(self, _report: Report | None = None) -> None:
        """Remember that there is news; what it is, is asked for later, once for many."""
        self._news.set()

    async def run(self, hub: Hub, tell: Callable[[tuple[Heard, ...]], None]) -> None:
        """Tell what differs from what was told before, until cancelled."""
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), ASK_ANYWAY)
            await asyncio.sleep(GATHER)
            self._news.clear()
            if news := self._differing(hub):
                tell(news)

    def _differing(self, hub: Hub) -> tuple[Heard, ...]:
        heard = hear(hub)
        silent = (Heard(gateway, present=False) for gateway in self._told.keys() - heard.keys())
        news = tuple(each for each in (*heard.values(), *silent) if self._told.get(each.gateway) != each)
        self._told |= {each.gateway: each for each in news}
        return news


def hear(hub: Hub) -> dict[Name, Heard]:
    """Ask what every Gateway's Envoys hold and refuse."""
    by_group: dict[str, list[Connected]] = {}
    for connected in hub.connected():
        by_group.setdefault(connected.envoy.group, []).append(connected)
    return {name_in(group): _together(hub, group, envoys) for group, envoys in by_group.items()}


def name_in(group: str) -> Name:
    """Read the Gateway's name out of the name that its Envoys give as their cluster."""
    namespace, _, name = group.partition("/")
    return Name(namespace, name)


def delivery(heard: Heard, gateway: Gateway) -> Delivery:
    """Say it as the Gateway's status does, with a remedy where one is known."""
    told = (_explained(refusal, gateway) for refusal in heard.refusals)
    return Delivery(heard.acknowledged, tuple(told))


def _together(hub: Hub, group: str, envoys: Iterable[Connected]) -> Heard:
    snapshot = hub.snapshot(group)
    if snapshot is None:
        return Heard(name_in(group))
    refusals = {refusal for envoy in envoys for refusal in _refusals(envoy, snapshot)}
    acknowledged = all(_holds_listeners(envoy, snapshot) for envoy in envoys)
    return Heard(name_in(group), acknowledged, tuple(sorted(refusals, key=lambda each: each.resource)))


def _refusals(envoy: Connected, snapshot: Snapshot) -> Iterable[Refusal]:
    """Name what is refused as it is offered now; older refusals are history."""
    for type_url, rejected in envoy.rejections.items():
        for name, version in rejected.versions.items():
            entry = snapshot.find(type_url, name)
            if entry is not None and entry.version == version:
                yield Refusal(name, _about(name, rejected.error))


def _holds_listeners(envoy: Connected, snapshot: Snapshot) -> bool:
    held = envoy.versions.get(LDS, {})
    return all(held.get(name) == entry.version for name, entry in snapshot.entries[LDS].items())


def _about(name: str, error: str) -> str:
    """Take what an error says about one resource out of what it says about several."""
    found = re.search(rf"{re.escape(name)}: (?P<words>[^\n]+)", error)
    return found["words"].strip() if found else error.strip()


def _explained(refusal: Refusal, gateway: Gateway) -> str:
    listeners = _listeners(refusal.resource, gateway)
    where = f" (listener {', '.join(listeners)})" if listeners else ""
    remedy = next((f"; {remedy}" for sign, remedy in REMEDIES.items() if sign in refusal.words), "")
    return f"{refusal.resource}{where}: {refusal.words}{remedy}"


def _listeners(resource: str, gateway: Gateway) -> list[str]:
    """Name the Gateway's own listeners that a refused resource stands for."""
    port = resource.removesuffix("/udp").rpartition(":")[2]
    return [each.name for each in gateway.spec.listeners if port == str(each.port)]
