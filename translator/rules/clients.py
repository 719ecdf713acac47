"""How a Gateway's proxies treat clients at a port: limits, patience, and whose word on a client counts.

Everything is settled field by field: the Gateway before its class, and in each of them the port before what
holds for all ports. What nobody says is as Envoy's documentation advises for an edge, save for patience with
streams: an hour, so that watches and sockets on which little happens stay.
"""

from collections.abc import Iterator

from msgspec import Struct

from translator.memo import query
from translator.names import Name
from translator.objects.durations import milliseconds
from translator.objects.gateway_parameters import (
    ClientParameters,
    GatewayParametersSpec,
    RequestRateParameters,
)
from translator.rules.parameters import first, said
from translator.world import World


class Rate(Struct, frozen=True):
    """A bucket of requests: how many it holds, how many come back, and after how many milliseconds."""

    holds: int
    back: int
    every: int


class Manners(Struct, frozen=True):
    """What is granted to clients, and what they are believed; times in milliseconds, 0 for ever."""

    max_connections: int | None = None  # of each HTTP or TCP port, HTTPS listener and server name
    rate: Rate | None = None
    header_kilobytes: int = 60
    headers: int = 100
    refuses_underscores: bool = False
    idle: int = 15 * 60_000  # between requests of a connection
    stream_idle: int = 60 * 60_000  # in a request, or on a connection that is passed on
    request_headers: int = 10_000
    trusted_hops: int = 0
    proxy_protocol: str = "Off"
    http3: bool = False  # beside HTTP/1.1 and HTTP/2, where TLS ends


@query
def manners(world: World, gateway: Name, port: int) -> Manners:
    """Return how clients of one port are treated."""
    return settle(*(each for who in said(world, gateway) for each in _at(who.spec, port)))


def settle(*wished: ClientParameters) -> Manners:
    """Merge field by field: whoever comes first decides."""
    default = Manners()
    headers = [each.request_headers for each in wished]
    times = [each.timeouts for each in wished]
    return Manners(
        max_connections=first((each.max_connections for each in wished), default.max_connections),
        rate=first((_rate(each.request_rate) for each in wished), default.rate),
        header_kilobytes=first((each.max_kilobytes for each in headers), default.header_kilobytes),
        headers=first((each.max_count for each in headers), default.headers),
        refuses_underscores=first((each.underscores for each in headers), "Allow") == "Reject",
        idle=first((_time(each.idle) for each in times), default.idle),
        stream_idle=first((_time(each.stream_idle) for each in times), default.stream_idle),
        request_headers=first((_time(each.request_headers) for each in times), default.request_headers),
        trusted_hops=first((each.trusted_hops for each in wished), default.trusted_hops),
        proxy_protocol=first((each.proxy_protocol for each in wished), default.proxy_protocol),
        http3=first((each.http3 for each in wished), "Off") == "On",
    )


def _at(spec: GatewayParametersSpec, port: int) -> Iterator[ClientParameters]:
    yield from (each.clients for each in spec.ports if each.port == port)
    yield spec.clients


def _rate(asked: RequestRateParameters | None) -> Rate | None:
    if asked is None:
        return None
    return Rate(asked.burst or asked.requests, asked.requests, milliseconds(asked.per))


def _time(written: str | None) -> int | None:
    return milliseconds(written) if written is not None else None
