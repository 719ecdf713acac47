"""What stands at each port of a Gateway: the shape that listeners and attached routes give it together."""

from typing import NamedTuple

from msgspec import Struct

from translator.memo import query
from translator.names import Name, Ref
from translator.objects.tls_route import TLSRoute
from translator.rules import listeners
from translator.rules.addresses import binding
from translator.rules.attachment import ROUTES, attached
from translator.rules.backends import Traffic
from translator.rules.clients import Manners, strictest, treated
from translator.rules.frontend_validation import ClientProof
from translator.rules.gateways import BINDING, refusal
from translator.rules.hostnames import EVERY, specificity
from translator.rules.listener_filters import questions
from translator.rules.listener_sets import Slot, age, slots
from translator.rules.listeners import Listening
from translator.rules.questions import Question
from translator.rules.streams import NOWHERE, Streams, streams
from translator.rules.tables import Table, distinct, owner
from translator.rules.telemetry import SILENT, Telemetry, telemetry
from translator.world import World


class Bound(NamedTuple):
    """A port that a Gateway is bound to."""

    gateway: Name
    port: int
    transport: str = "TCP"

    def __str__(self) -> str:
        """Name it for Envoy: `infra/edge:8443`, `infra/edge:53/udp`."""
        return f"{self.gateway}:{self.port}{'' if self.transport == 'TCP' else '/' + self.transport.lower()}"


class Terminate(Struct, frozen=True):
    """The client's TLS ends here, with these Secrets' certificates."""

    certificates: tuple[Name, ...]
    proof: ClientProof | None = None  # what clients are asked for


class Chain(Struct, frozen=True):
    """What a TLS connection for this server name meets; without a name it takes every other one."""

    hostname: str | None
    tls: Terminate | None  # None passes the client's TLS through
    then: Table | Streams
    asked: tuple[Question, ...] = ()
    http3: bool = False  # clients may come over QUIC instead
    manners: Manners = Manners()


class HttpPort(Struct, frozen=True):
    """Cleartext HTTP."""

    table: Table
    asked: tuple[Question, ...] = ()  # by all listeners here; each host has its own


class TlsPort(Struct, frozen=True):
    """TLS, told apart by server name; no two chains share one."""

    chains: tuple[Chain, ...]


class QuicPort(Struct, frozen=True):
    """HTTP/3, told apart by server name: those chains of the same port over TCP that may come so."""

    chains: tuple[Chain, ...]


class TcpPort(Struct, frozen=True):
    """Plain TCP."""

    streams: Streams


class UdpPort(Struct, frozen=True):
    """Datagrams."""

    streams: Streams


class Site(Struct, frozen=True):
    """A bound port with its addresses and what stands there."""

    addresses: tuple[str, ...]  # IP addresses to bind; never empty
    port: int  # the number to bind, which an offset may have moved from the one in the Gateway
    plan: HttpPort | TlsPort | QuicPort | TcpPort | UdpPort
    is_exclusive: bool = False
    manners: Manners = Manners()  # of the whole port; where TLS tells listeners apart, each chain has its own
    telemetry: Telemetry = SILENT


@query
def sites(world: World, gateway: Name) -> tuple[Bound, ...]:
    """Return the ports that a Gateway is bound to."""
    if refusal(world, gateway) is not None or not binding(world, gateway):
        return ()
    served = (each for slot in slots(world, gateway) if (each := listeners.judge(world, slot)).served)
    bound = {Bound(gateway, each.port, each.transport) for each in served}
    over_quic = {Bound(gateway, each.port, "UDP") for each in bound if quic(world, each).chains}
    return tuple(sorted(bound | over_quic))


@query
def site(world: World, bound: Bound) -> Site:
    """Return what stands at one port."""
    here = world.fact(BINDING)
    addresses = binding(world, bound.gateway)
    return Site(
        addresses,
        bound.port + here.port_offset,
        plan(world, bound),
        here.is_exclusive,
        _granted(world, bound),
        telemetry(world, bound.gateway),
    )


@query
def plan(world: World, bound: Bound) -> HttpPort | TlsPort | QuicPort | TcpPort | UdpPort:
    """Return what the listeners of a port make of it: they are all of one family, or they would conflict."""
    served = _served(world, bound)
    if not served and bound.transport == "UDP":
        return quic(world, Bound(bound.gateway, bound.port))
    slot, first = served[0]
    match listeners.FAMILIES[first.protocol]:
        case "HTTP":
            asked = (each for slot, _ in served for each in questions(world, slot).asked)
            return HttpPort(Table(bound.gateway, bound.port), tuple(asked))
        case "TLS":
            return TlsPort(_chains(world, bound))
        case "UDP":
            return UdpPort(_only(world, slot, Traffic.UDP))
        case _:
            return TcpPort(_only(world, slot, Traffic.TCP))


@query
def _served(world: World, bound: Bound) -> tuple[tuple[Slot, Listening], ...]:
    at = listeners.slots_at(world, bound.gateway, bound.port)
    here = ((slot, listeners.judge(world, slot)) for slot in at)
    return tuple(pair for pair in here if pair[1].served and (pair[1].port, pair[1].transport) == bound[1:])


def _granted(world: World, bound: Bound) -> Manners:
    """Return how clients of a whole port are treated: as by the strictest of those who share connections."""
    sharing = [slot for slot, each in _served(world, bound) if listeners.FAMILIES[each.protocol] != "TLS"]
    return strictest(treated(world, sharing, *bound[:2]))


@query
def quic(world: World, bound: Bound) -> QuicPort:
    """Return what HTTP/3 meets at a port: nothing, unless somebody asks for it."""
    if bound.transport != "TCP" or not _offers_http3(world, bound):
        return QuicPort(())
    match plan(world, bound):
        case TlsPort(chains):
            return QuicPort(tuple(chain for chain in chains if chain.http3))
        case HttpPort() | QuicPort() | TcpPort() | UdpPort():
            return QuicPort(())


def _offers_http3(world: World, bound: Bound) -> bool:
    """Say whether a port is to be open for HTTP/3: where it is wished, and no listener takes datagrams."""
    at = listeners.slots_at(world, bound.gateway, bound.port)
    wished = any(each.http3 for each in treated(world, at, *bound[:2]))
    return wished and not listeners.is_for_datagrams(world, *bound[:2])


def _only(world: World, slot: Slot, traffic: Traffic) -> Streams:
    """Return where the oldest route of a listener leads: what has no name to tell routes apart takes one."""
    kind = traffic.value
    guests = [guest.name for guest in attached(world, slot, kind)]
    if not guests:
        return NOWHERE
    oldest = min(guests, key=lambda name: age(world.must(ROUTES[kind], name)))
    return streams(world, Ref(kind, oldest), traffic)


def _chains(world: World, bound: Bound) -> tuple[Chain, ...]:
    """Return the chains of a TLS port, a listener that cannot serve closing what no wider one may take."""
    chains: dict[str, Chain] = {}
    for slot, each in distinct(world, bound.gateway, bound.port):
        found = _listener_chains(world, bound, slot, each) if each.served else ()
        chains |= {chain.hostname or EVERY: chain for chain in found}
        chains.setdefault(each.hostname, Chain(_server_name(each.hostname), None, NOWHERE))
    return tuple(chain for _, chain in sorted(chains.items()))


def _listener_chains(world: World, bound: Bound, slot: Slot, each: Listening) -> tuple[Chain, ...]:
    tls = None if each.passthrough else Terminate(each.certificates, each.proof)
    [granted] = treated(world, [slot], *bound[:2])
    if each.protocol == "HTTPS":
        name, table = _server_name(each.hostname), Table(bound.gateway, bound.port, each.hostname)
        http3 = granted.http3 and each.proof is None and _offers_http3(world, bound)  # QUIC asks for no proof
        return (Chain(name, tls, table, questions(world, slot).asked, http3, granted),)
    traffic = Traffic.PASSTHROUGH if each.passthrough else Traffic.TERMINATED
    return tuple(
        Chain(_server_name(hostname), tls, streams(world, Ref("TLSRoute", name), traffic), manners=granted)
        for hostname, name in _tls_routes(world, slot).items()
        if owner(world, bound.gateway, bound.port, hostname) == slot
    )


@query
def _tls_routes(world: World, slot: Slot) -> dict[str, Name]:
    """Return who answers for each server name: the route that wrote it most precisely, then the oldest."""
    best: dict[str, tuple[tuple[object, ...], Name]] = {}
    for guest in attached(world, slot, "TLSRoute"):
        elder = age(world.must(TLSRoute, guest.name))
        for host in guest.hosts:
            order = (tuple(-n for n in specificity(host.written)), elder)
            best[host.hostname] = min(best.get(host.hostname, (order, guest.name)), (order, guest.name))
    return {hostname: name for hostname, (_, name) in best.items()}


def _server_name(hostname: str) -> str | None:
    return None if hostname == EVERY else hostname
