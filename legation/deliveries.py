"""What the Envoys of each Gateway made of what they were sent, for the Gateway's own status."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from time import perf_counter
from types import MappingProxyType

from msgspec import Struct

from legation.peers import Others, alone
from legation.telling import Telling, holds, refuses, tell_of, versions
from translator.names import Name
from translator.objects.gateway import Gateway
from translator.objects.kinds import name_of
from translator.rules.gateways import Delivery, Rejection
from xds_server.hub import Hub
from xds_server.report import Accepted, Report
from xds_server.snapshot import EDS, LDS, Snapshot

GATHER = 0.05  # seconds: most Envoys answer sooner, so that a quick ACK makes one status of two
AT_ONCE = 0.005  # seconds of asking before others have their turn
PAUSE = 10  # times as long as asking took, so that where many are asked, others have their turn
ASK_ANYWAY = 1.0  # seconds; nobody reports an Envoy that went away
NOT_PERMITTED = (
    "this user may not bind a port below 1024: start with `--port-offset 8000`, "
    "or permit it, for instance with `sysctl net.ipv4.ip_unprivileged_port_start=80`"
)
IN_USE = (
    "another process has this port, which may be the Envoy of another Gateway here: end it, and this is "
    "tried again, or give this listener another port; `--port-offset 10000` moves those of all Gateways"
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
    is_endpoints: bool = False


class Heard(Struct, frozen=True):
    """What the Envoys of one Gateway say together."""

    gateway: Name
    acknowledged: bool = False  # every connected one holds the newest listeners
    refusals: tuple[Refusal, ...] = ()
    present: bool = True  # one is connected


class Unsure(Struct, frozen=True):
    """Somebody has to be heard yet, or may be about to take what is newest."""


class Basis(Struct, frozen=True):
    """What was told last, and of which listeners; None where only a status may have said something yet."""

    heard: Heard | None
    listeners: Mapping[str, str]


class Deliveries:
    """Listens to Envoys, wherever they are connected, and passes on what differs.

    An Envoy or a replica that comes or goes changes nothing by that, as long as the listeners are those that
    were told of. Where they are others, nothing is taken on trust.
    """

    def __init__(
        self,
        others: Callable[[], Others] = alone,
        confide: Callable[[Mapping[str, Telling]], None] = lambda _here: None,
    ) -> None:
        """Ask what is known of Envoys elsewhere, and confide what is known of those here."""
        self._others = others
        self._confide = confide
        self._news = asyncio.Event()
        self._bases: dict[str, Basis] = {}

    def note(self, report: Report | None = None) -> None:
        """Remember that there is news; what it is, is asked for later, once for many."""
        if isinstance(report, Accepted) and report.type_url != LDS:
            return  # of what is taken, only listeners count
        self._news.set()

    async def run(self, hub: Hub, pass_on: Callable[[tuple[Heard, ...]], None]) -> None:
        """Pass on what differs from what was told before, until cancelled."""
        pause = GATHER
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(ASK_ANYWAY):
                    await self._news.wait()
            await asyncio.sleep(pause)
            self._news.clear()
            spent, found = 0.0, list[Heard]()
            began = perf_counter()
            for news in self._asked(hub):
                found += news
                if perf_counter() - began > AT_ONCE:
                    spent += perf_counter() - began
                    await asyncio.sleep(0)
                    began = perf_counter()
            if found:
                pass_on(tuple(found))
            pause = max(GATHER, PAUSE * (spent + perf_counter() - began))

    def news(self, hub: Hub) -> tuple[Heard, ...]:
        """Ask about every Gateway that is offered something, and return what differs."""
        return tuple(chain.from_iterable(self._asked(hub)))

    def _asked(self, hub: Hub) -> Iterator[Sequence[Heard]]:
        """Ask about one Gateway after the other, so that others may have their turn in between."""
        here, others = dict[str, Telling](), self._others()
        yield [self._let_go(group) for group in self._bases.keys() - hub.offered().keys()]
        for group in hub.groups():
            told, snapshot = tell_of(hub, group), hub.snapshot(group)
            here |= {} if told is None else {group: told}
            if snapshot is None:
                continue
            found = together(Name.read(group), snapshot, [*filter(None, (told,)), *others.about(group)])
            if others.incomplete and isinstance(found, Heard) and found.acknowledged:
                found = Unsure()
            news = self._difference(group, found, versions(snapshot))
            yield () if news is None else (news,)
        self._confide(here)

    def _difference(self, group: str, found: Heard | Unsure, listeners: Mapping[str, str]) -> Heard | None:
        basis = self._bases.setdefault(group, Basis(None, listeners))
        heard = _concluded(found, basis, Name.read(group), listeners)
        self._bases[group] = Basis(heard, listeners)
        return heard if (heard, listeners) != (basis.heard, basis.listeners) else None

    def _let_go(self, group: str) -> Heard:
        del self._bases[group]
        return Heard(Name.read(group))


def together(gateway: Name, snapshot: Snapshot, tellings: Sequence[Telling]) -> Heard | Unsure:
    """Judge what is told of a Gateway's Envoys by what they are offered now."""
    wanted = versions(snapshot)
    held = [(telling, holding) for telling in tellings for holding in telling.holdings]
    lacking = [holding for telling, holding in held if not holds(telling, holding, wanted)]
    refusals = {
        Refusal(refused.name, refused.words, refused.type_url == EDS)
        for telling in tellings
        for refused in telling.refused
        if refuses(telling, refused, snapshot)
    }
    if lacking and not refusals and all(each.arriving for each in lacking):
        return Unsure()
    in_order = sorted(refusals, key=lambda each: (each.resource, each.words))
    return Heard(gateway, bool(held) and not lacking, tuple(in_order), present=bool(held))


def delivery(heard: Heard, gateway: Gateway) -> Delivery:
    """Say it as the Gateway's status does, with a remedy where one is known."""
    told = (_explained(refusal, gateway) for refusal in heard.refusals)
    return Delivery(heard.acknowledged, tuple(told))


def _concluded(
    found: Heard | Unsure, basis: Basis, gateway: Name, listeners: Mapping[str, str]
) -> Heard | None:
    match found:
        case Heard(present=False) | Unsure() if listeners != basis.listeners:
            return Heard(gateway)  # nobody is known to hold them
        case Unsure():
            return basis.heard
        case Heard():
            return found


def _explained(refusal: Refusal, gateway: Gateway) -> Rejection:
    remedy = next((f"; {remedy}" for sign, remedy in REMEDIES.items() if sign in refusal.words), "")
    listeners = _listeners(refusal.resource, name_of(gateway), gateway)
    return Rejection(refusal.resource, f"{refusal.words}{remedy}", listeners, refusal.is_endpoints)


def _listeners(resource: str, name: Name, gateway: Gateway) -> tuple[str, ...]:
    """Name the Gateway's own listeners that a refused resource stands for."""
    owner, _, port = resource.removesuffix("/udp").rpartition(":")
    return tuple(each.name for each in gateway.spec.listeners if (owner, port) == (str(name), str(each.port)))
