"""What a Gateway's Envoys have to be given: the ports, and all that can be reached from them."""

from collections.abc import Iterable

from msgspec import Struct

from translator.memo import query, steady
from translator.names import Name, ServicePort
from translator.rules.backend_certificate import Hop
from translator.rules.backend_tls import TrustBundle
from translator.rules.backends import Backend
from translator.rules.frontend_validation import ClientTrust
from translator.rules.hops import hop, openings
from translator.rules.ports import Bound, Chain, HttpPort, QuicPort, TcpPort, TlsPort, UdpPort, plan, sites
from translator.rules.streams import Streams
from translator.rules.tables import Table, own_hostnames, virtual_host
from translator.rules.telemetry import telemetry
from translator.world import World


class Needs(Struct, frozen=True):
    """Everything of one Gateway, each thing by what it is."""

    ports: frozenset[Bound]
    tables: frozenset[Table]
    hops: frozenset[Hop]
    endpoints: frozenset[ServicePort]
    certificates: frozenset[Name]
    policies: frozenset[Name]  # those whose trust is served, not found on Envoy's own machine
    x_backends: frozenset[Name]  # the same
    clients: frozenset[ClientTrust]  # who proves clients


@query
def needs(world: World, gateway: Name) -> Needs:
    """Return what a Gateway's Envoys have to be given."""
    ports = frozenset(sites(world, gateway))
    here = [chain for bound in ports for chain in chains(world, bound)]
    led_to = frozenset(each for chain in here for each in _backends(world, chain))
    told = (each for each in telemetry(world, gateway).collectors if isinstance(each, Backend))
    backends = led_to.union(told)
    hops = frozenset(hop(world, gateway, each) for each in backends)
    opened = [*openings(world, hops)]
    proved = [each.backend for each in opened if isinstance(each.tls.trust, TrustBundle)]
    return Needs(
        ports=ports,
        tables=frozenset(chain.then for chain in here if isinstance(chain.then, Table)),
        hops=hops,
        endpoints=frozenset(each.port for each in backends if not each.by_name),
        certificates=frozenset(
            (
                *(name for chain in here if chain.tls for name in chain.tls.certificates),
                *(each.own for each in opened if each.own),
            )
        ),
        policies=frozenset(each.policy for each in proved if each.policy),
        x_backends=frozenset(each.port.service for each in proved if each.own_tls),
        clients=frozenset(chain.tls.proof.trust for chain in here if chain.tls and chain.tls.proof),
    )


@query
def table_backends(world: World, table: Table) -> frozenset[Backend]:
    """Return where a route table leads: folded in two steps, so that one route costs its virtual host."""
    hosts = own_hostnames(world, table)
    return frozenset(each for host in hosts for each in host_backends(world, table, host))


@steady(lambda _table, _hostname: frozenset())
def host_backends(world: World, table: Table, hostname: str) -> frozenset[Backend]:
    """Return where one virtual host leads; what it shares with others leads there from their wide name."""
    own = virtual_host(world, table, hostname).own
    return frozenset(each for entry in own for each in entry.rule.backends)


def chains(world: World, bound: Bound) -> tuple[Chain, ...]:
    """Return what stands at a port as if it were told apart by server name, which only TLS is."""
    match plan(world, bound):
        case HttpPort(table, asked):
            return (Chain(None, None, table, asked),)
        case TlsPort(chains) | QuicPort(chains):
            return chains
        case TcpPort(streams) | UdpPort(streams):
            return (Chain(None, None, streams),)


def _backends(world: World, chain: Chain) -> Iterable[Backend]:
    yield from (each.whom for each in chain.asked if isinstance(each.whom, Backend))
    match chain.then:
        case Streams(shares):
            yield from (each.target for each in shares if each.weight and isinstance(each.target, Backend))
        case Table() as table:
            yield from table_backends(world, table)
