"""What stands at each port of a Gateway: the one shape that listeners and attached routes give it together."""

from typing import NamedTuple

from msgspec import Struct

from translator.memo import query
from translator.names import Name
from translator.rules.backends import Share
from translator.rules.tables import Table
from translator.world import World


class Bound(NamedTuple):
    """A port that a Gateway is bound to."""

    gateway: Name
    port: int
    transport: str = "TCP"

    def __str__(self) -> str:
        """Name it for Envoy: `infra/edge:8443`, `infra/edge:53/udp`."""
        return f"{self.gateway}:{self.port}{'' if self.transport == 'TCP' else '/' + self.transport.lower()}"


class Streams(Struct, frozen=True):
    """Connections or datagrams go to backends by weight; refused or missing shares are closed or dropped."""

    shares: tuple[Share, ...]


class Terminate(Struct, frozen=True):
    """The client's TLS ends here, with these Secrets' certificates."""

    certificates: tuple[Name, ...]


class Chain(Struct, frozen=True):
    """What a TLS connection for these server names meets; without a name it takes every other one."""

    hostname: str | None
    tls: Terminate | None  # None passes the client's TLS through
    then: Table | Streams


class HttpPort(Struct, frozen=True):
    """Cleartext HTTP."""

    table: Table


class TlsPort(Struct, frozen=True):
    """TLS, told apart by server name; no two chains share one."""

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
    plan: HttpPort | TlsPort | TcpPort | UdpPort


@query
def sites(world: World, gateway: Name) -> tuple[Bound, ...]:
    """Return the ports that a Gateway is bound to."""
    raise NotImplementedError


@query
def site(world: World, bound: Bound) -> Site:
    """Return what stands at one port."""
    raise NotImplementedError
