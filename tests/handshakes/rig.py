"""The whole chain in one process but Envoy: objects, translation, xDS over a socket, a real Envoy."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from msgspec import Struct

from legation.addresses import HostPort, Socket
from legation.bootstrap import Start, as_fields, bootstrap
from legation.publish import Publisher
from tests.handshakes.clients import Place
from tests.handshakes.manifests import SERVED_BY_US, Json
from tests.loopback import LOOPBACK
from tests.real_envoy import running_envoy
from translator.names import Name, Ref
from translator.objects.admission.admit import admit
from translator.objects.kinds import find_kind, name_of
from translator.rules.gateways import BINDING, Binding
from translator.rules.status import PolicyStatus, Status
from translator.translate import INDEXES, Translator
from translator.verdict import Condition
from translator.world import Fact, World
from xds_server.hub import Hub
from xds_server.order import Patience
from xds_server.report import Rejected, Report, Sent
from xds_server.service import Address, Terms, serving
from xds_server.snapshot import CDS, EDS, LDS, RDS, SDS, Snapshot
from xds_server.stream import Stream

T = TypeVar("T")

GATEWAY = Name("shop", "edge")
SETTLES_WITHIN = 120.0
LOOK_AGAIN_AFTER = 0.05
C_ARES = "type.googleapis.com/envoy.extensions.network.dns_resolver.cares.v3.CaresDnsResolverConfig"


class Channel(Struct, frozen=True):
    """How an Envoy is attached."""

    whole: bool = False  # state of the world, instead of deltas
    system_roots: Path | None = None
    patience: Patience = Patience()
    resolver: int | None = None  # the port of the name server on loopback that Envoy asks
    beside: tuple[Name, ...] = ()  # further Gateways, each with an Envoy of its own


class Rig:
    """A world that a test changes, and the Envoy that follows it."""

    def __init__(self, channel: Channel) -> None:
        """Begin with a class of ours, bound to an address of loopback that nobody else uses."""
        self._gateways = (GATEWAY, *channel.beside)
        self.address = ".".join(["127", *(str(1 + secrets.randbelow(254)) for _ in range(3))])
        self.reports: list[Report] = []
        self._statuses: Mapping[Ref, Status] = {}
        self.hub = Hub(self._hear, patience=channel.patience)
        self._news = asyncio.Event()
        self._next: dict[str, Callable[[], None]] = {}
        self._world = World(INDEXES)
        self._translator = Translator(self._world)
        self._publisher = Publisher()
        self._world.state(BINDING, Binding(self.address))
        self._put(SERVED_BY_US)

    def place(self, port: int) -> Place:
        """Return where a listener's port is found."""
        return Place(self.address, port)

    def accepts(self, policy: str) -> bool:
        """Tell whether the Gateway's entry in a policy's status says that it is accepted."""
        [told] = self.told(policy).values()
        return told["Accepted"].status

    def told(self, policy: str) -> dict[str, dict[str, Condition]]:
        """Return what each Gateway says in a policy's status, by type of condition."""
        status = self._statuses[Ref("BackendTLSPolicy", Name(GATEWAY.namespace, policy))]
        assert isinstance(status, PolicyStatus), status
        return {
            entry.parent.name: {each.type: each for each in entry.conditions} for entry in status.ancestors
        }

    def apply(self, *manifests: Json) -> None:
        """Put objects, as one change."""
        self.change(manifests)

    def delete(self, *manifests: Json) -> None:
        """Take objects away, as one change."""
        self.change((), manifests)

    def change(self, put: Iterable[Json], gone: Iterable[Json] = ()) -> None:
        """Put objects, and take others away, as one change."""
        for each in put:
            self._put(each)
        for each in gone:
            kind, name = _identity(each)
            self._world.put(kind, name, None)
        self._publish()

    def state(self, fact: Fact[T], value: T) -> None:
        """Put a fact."""
        self._world.state(fact, value)
        self._publish()

    def once_sent(self, type_url: str, change: Callable[[], None]) -> None:
        """Make a change when the next response of a type is made, before Envoy can have read it."""
        self._next[type_url] = change

    async def settled(self) -> None:
        """Wait until Envoy has taken all that is offered to it."""
        async with asyncio.timeout(SETTLES_WITHIN):
            while not self._holds_everything():
                self._news.clear()
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._news.wait(), LOOK_AGAIN_AFTER)

    def _put(self, manifest: Json) -> None:
        info = find_kind(str(manifest["apiVersion"]), str(manifest["kind"]))
        assert info is not None, manifest
        thing = admit(manifest, info)
        assert not isinstance(thing, tuple), thing
        self._world.put(info.type, name_of(thing), thing)

    def _publish(self) -> None:
        translation = self._translator.translate()
        assert not translation.broken, translation.broken
        self._statuses = translation.statuses
        for group, snapshot in self._publisher.snapshots(translation.gateways).items():
            self.hub.publish(group, snapshot)

    def _hear(self, report: Report) -> None:
        self.reports.append(report)
        self._news.set()
        if isinstance(report, Sent) and (change := self._next.pop(report.type_url, None)):
            change()

    def _holds_everything(self) -> bool:
        refused = [each for each in self.reports if isinstance(each, Rejected)]
        assert not refused, refused
        return all(self._is_held(str(gateway)) for gateway in self._gateways)

    def _is_held(self, group: str) -> bool:
        snapshot = self.hub.snapshot(group)
        assert snapshot is not None, "nothing was published"
        seats = self.hub._groups[group].seats.values() if group in self.hub._groups else ()
        return any(_is_settled(seat.stream, snapshot) for seat in seats)


def _is_settled(stream: Stream, snapshot: Snapshot) -> bool:
    """Tell whether an Envoy asked for and took all it needs, and nothing that is offered is on its way."""
    holdings = stream.holdings()
    held = {(kind, name) for kind, versions in holdings.items() for name in versions}
    on_their_way = ((kind, name) for kind, each in stream.sessions.items() for name in each.unsettled)
    return held >= _needed(snapshot) and not any(snapshot.find(*each) for each in on_their_way)


def _needed(snapshot: Snapshot) -> set[tuple[str, str]]:
    parents = [entry.resource for kind in (CDS, LDS) for entry in snapshot.entries[kind].values()]
    return {
        *((kind, name) for kind in (CDS, LDS, RDS) for name in snapshot.names(kind)),
        *((EDS, parent.endpoints) for parent in parents if parent.endpoints is not None),
        *((SDS, name) for parent in parents for name in parent.secrets),
    }


@asynccontextmanager
async def rigged(channel: Channel | None = None) -> AsyncIterator[Rig]:
    """Run a rig whose Envoy calls as soon as there is something to call for."""
    channel = channel or Channel()
    rig = Rig(channel)
    with TemporaryDirectory(prefix="xds-") as folder:
        xds = Path(folder) / "socket"
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(serving(rig.hub, [Address(f"unix:{xds}")], Terms(drain=0)))
            for gateway in (GATEWAY, *channel.beside):
                begun = dict(_bootstrap(channel, gateway, xds))
                await stack.enter_async_context(running_envoy(begun, wait_ready=False))
            yield rig


def _bootstrap(channel: Channel, gateway: Name, xds: Path) -> Iterator[tuple[str, object]]:
    start = Start(gateway, "envoy", Socket(xds), HostPort("127.0.0.1", 0), system_roots=channel.system_roots)
    for name, value in as_fields(bootstrap(start)).items():
        if name == "dynamicResources" and channel.whole:
            assert isinstance(value, dict)
            value["adsConfig"]["apiType"] = "GRPC"
        yield name, value
    if channel.resolver is not None:
        server = {"socketAddress": {"address": LOOPBACK, "portValue": channel.resolver}}
        config = {"@type": C_ARES, "resolvers": [server]}
        resolver = {"name": "envoy.network.dns_resolver.cares", "typedConfig": config}
        yield "typedDnsResolverConfig", resolver


def _identity(manifest: Json) -> tuple[type, Name]:
    info = find_kind(str(manifest["apiVersion"]), str(manifest["kind"]))
    assert info is not None, manifest
    metadata = manifest["metadata"]
    assert isinstance(metadata, dict)
    return info.type, Name(metadata.get("namespace", ""), metadata["name"])
