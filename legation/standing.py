"""How things stand: what the admin port, the commands and the metrics show of a running process."""

import asyncio
import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from time import monotonic
from types import MappingProxyType

import msgspec
from msgspec import Struct, structs

from legation.addresses import HostPort
from legation.checks.findings import Finding, together
from legation.contact import Stale
from legation.manifests import Problem
from legation.peers import Others, alone
from legation.proxies.handshakes import Handshakes, counted
from legation.proxies.local import Proxy
from legation.telling import RELEASE
from legation.turns import give_way, pieces
from legation.workbench import Outcome
from legation.written_status import Condition, Listener, read_status
from translator.names import Name, Ref
from translator.rules.attachment import ROUTES
from xds_server.hub import Connected, Hub
from xds_server.report import Rejected
from xds_server.snapshot import CDS, LDS

Counters = Mapping[Name, Mapping[str, int]]  # Envoy's own, by Gateway
NOTHING_COUNTED: Counters = MappingProxyType({})
POLICIES = frozenset({"BackendTLSPolicy"})


class LastNack(Struct, frozen=True, rename="camel"):
    """What an Envoy refuses as it is now, of one type, and why it refused the last of it."""

    type_url: str
    resources: tuple[str, ...]
    error: str


class Envoy(Struct, frozen=True, gc=False, rename="camel"):
    """One connected Envoy."""

    node: str
    address: str
    connected_seconds: float
    current: bool  # it holds the newest of everything that it asked for
    versions: Mapping[str, Mapping[str, str]]
    last_nack: LastNack | None = None
    replica: str = ""  # to which it is connected, where several were asked


class Gateway(Struct, frozen=True, rename="camel"):
    """A Gateway of ours."""

    name: str
    addresses: tuple[str, ...]
    bound: tuple[str, ...]  # where Envoys are to listen: `127.0.0.1:8080`, `[::1]:53/udp`
    conditions: tuple[Condition, ...]
    listeners: tuple[Listener, ...]
    envoys: tuple[Envoy, ...] = ()
    handshakes: tuple[Handshakes, ...] = ()  # with backends, since its Envoy was started here
    process: Proxy | None = None

    @property
    def programmed(self) -> Condition | None:
        """The condition that says whether traffic can flow."""
        return next((each for each in self.conditions if each.type == "Programmed"), None)

    @property
    def is_settled(self) -> bool:
        """Say whether it is programmed or refused, and not still waiting."""
        return (found := self.programmed) is not None and (found.status == "True" or not found.is_waiting)


class About(Struct, frozen=True, gc=False):
    """What we say of a route or policy in respect of one parent or ancestor."""

    reference: str
    conditions: tuple[Condition, ...]


class Attached(Struct, frozen=True, gc=False):
    """A route or a policy."""

    kind: str
    name: str
    by: tuple[About, ...]


class Overview(Struct, frozen=True):
    """Everything at once: what `/api/v1/status` answers."""

    version: str
    ready: bool
    gateways: tuple[Gateway, ...]
    routes: tuple[Attached, ...]
    policies: tuple[Attached, ...]
    findings: tuple[Finding, ...]
    stale: tuple[Stale, ...] = ()  # what is served goes on, and may be out of date


class Standing:
    """The newest of everything, as it is taken from each part."""

    def __init__(self, hub: Hub, proxies: Callable[[], Mapping[Name, Proxy]], port_offset: int = 0) -> None:
        """Begin with nothing read."""
        self.outcome = Outcome({}, {}, {}, 0.0)
        self.problems: tuple[Problem, ...] = ()
        self.ready = False
        self.lacks: Callable[[], str] = str  # what a first translation waits for, in words
        self.overdue: Callable[[], tuple[Finding, ...]] = tuple  # what is wrong now, whatever was translated
        self.stale: Callable[[], tuple[Stale, ...]] = tuple
        self.others: Callable[[], Others] = alone  # what other replicas tell of Envoys
        self._hub = hub
        self._proxies = proxies
        self._port_offset = port_offset

    def take(self, outcome: Outcome) -> None:
        """Take what a batch led to."""
        self.outcome = outcome
        self.ready = True

    def still(self) -> "Standing":
        """Return it as it is at this moment, to be read in a thread while others go on."""
        proxies, overdue, stale, others = self._proxies(), self.overdue(), self.stale(), self.others()
        one = copy.copy(self)
        one._proxies, one.overdue = lambda: proxies, lambda: overdue  # noqa: SLF001  # its own
        one.stale, one.others = lambda: stale, lambda: others
        return one

    def found(self) -> tuple[Finding, ...]:
        """Say what is wrong now."""
        return (*together(self.problems, self.outcome.found, self.outcome.broken), *self.overdue())

    async def connected(self) -> list[Connected]:
        """Say which Envoys are connected, letting others have their turn in between."""
        found = list[Connected]()
        for group in self._hub.groups():
            found += self._hub.connected_of(group)
            await asyncio.sleep(0)
        return found

    def gateways(
        self, counters: Counters = NOTHING_COUNTED, envoys: Sequence[Connected] | None = None
    ) -> tuple[Gateway, ...]:
        """Say how each Gateway stands, and what its Envoy counted if somebody asked it."""
        envoys = self._hub.connected() if envoys is None else envoys
        proxies = self._proxies()
        refs = sorted(ref for ref in self.outcome.statuses if ref.kind == "Gateway")
        by_group = dict[str, list[Connected]]()
        for each in envoys:
            by_group.setdefault(each.envoy.group, []).append(each)
        gateways = (self.gateway(ref, by_group.get(str(ref.name), ()), proxies.get(ref.name)) for ref in refs)
        found = (self._handshakes(ref.name, counters.get(ref.name, {})) for ref in refs)
        return tuple(
            structs.replace(gateway, handshakes=shaken)
            for gateway, shaken in zip(gateways, found, strict=True)
        )

    def overview(
        self, counters: Counters = NOTHING_COUNTED, envoys: Sequence[Connected] | None = None
    ) -> Overview:
        """Say everything at once."""
        names: dict[str, list[Name]] = {}
        for ref in self.outcome.statuses:
            names.setdefault(ref.kind, []).append(ref.name)
        routes, policies = self._attached(names, ROUTES.keys()), self._attached(names, POLICIES)
        gateways, stale = self.gateways(counters, envoys), self.stale()
        return Overview(RELEASE, self.ready, gateways, routes, policies, self.found(), stale)

    def _attached(self, names: Mapping[str, list[Name]], kinds: AbstractSet[str]) -> tuple[Attached, ...]:
        refs = (Ref(kind, name) for kind in sorted(names.keys() & kinds) for name in sorted(names[kind]))
        return tuple(_attached(ref, self.outcome.statuses[ref]) for ref in refs)

    def _handshakes(self, gateway: Name, counters: Mapping[str, int]) -> tuple[Handshakes, ...]:
        snapshot = self.outcome.snapshots.get(str(gateway))
        return counted(counters, snapshot.entries[CDS]) if snapshot is not None else ()

    def gateway(self, ref: Ref, envoys: Sequence[Connected] = (), proxy: Proxy | None = None) -> Gateway:
        """Say how one Gateway stands, and which of these Envoys are its."""
        status = read_status(self.outcome.statuses[ref])
        group = str(ref.name)
        addresses = tuple(address.value for address in status.addresses)
        return Gateway(
            name=group,
            addresses=addresses,
            bound=tuple(self._bound(group, addresses)),
            conditions=status.conditions,
            listeners=status.listeners,
            envoys=tuple(self._envoy(each) for each in envoys if each.envoy.group == group),
            process=proxy,
        )

    def _bound(self, group: str, addresses: tuple[str, ...]) -> Iterable[str]:
        """Read the ports out of the listeners' names, which do not have the offset."""
        snapshot = self.outcome.snapshots.get(group)
        for name in sorted(snapshot.names(LDS)) if snapshot else ():
            port, slash, transport = name.rpartition(":")[2].partition("/")
            for address in addresses:
                yield f"{HostPort(address, int(port) + self._port_offset)}{slash}{transport}"

    def _envoy(self, connected: Connected) -> Envoy:
        snapshot = self.outcome.snapshots.get(connected.envoy.group)
        nack = _last_nack(connected.rejections)
        held = {each: dict(versions) for each, versions in connected.versions.items()}
        current = snapshot is not None and all(
            (entry := snapshot.find(each, name)) is not None and entry.version == version
            for each, versions in held.items()
            for name, version in versions.items()
        )
        age = round(monotonic() - connected.since, 1)
        return Envoy(connected.envoy.node, connected.address, age, current, held, nack)


def _last_nack(rejections: Mapping[str, Mapping[str, Rejected]]) -> LastNack | None:
    if not rejections:
        return None
    type_url, refused = max(rejections.items(), key=lambda each: each[0])
    *_, last = refused.values()
    return LastNack(type_url, tuple(sorted(refused)), last.error)


def as_json(overview: Overview) -> bytes:
    """Write it for machines."""
    lists = ("gateways", "routes", "policies", "findings")
    return msgspec.json.encode(
        structs.asdict(overview) | {name: pieces(getattr(overview, name)) for name in lists}
    )


def read_overview(written: bytes) -> Overview:
    """Read what a running process answered."""
    return msgspec.json.decode(written, type=Overview)


def _attached(ref: Ref, written: bytes) -> Attached:
    give_way()
    ours = read_status(written).ours
    by = (About(str(each.about(ref.name.namespace)), each.conditions) for each in ours)
    return Attached(ref.kind, str(ref.name), tuple(by))
