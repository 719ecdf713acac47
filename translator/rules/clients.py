"""How a Gateway's proxies treat clients: limits, patience, and whose word on a client counts.

Everything is settled field by field: the Gateway before its class, and in each of them the listener before
its port, and that before what holds for all ports. What nobody says is as Envoy's documentation advises for
an edge, save for patience with streams: an hour, so that watches and sockets on which little happens stay.
"""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from translator.memo import query
from translator.names import Name
from translator.objects.durations import milliseconds
from translator.objects.gateway_parameters import (
    ClientParameters,
    GatewayParametersSpec,
    RequestRateParameters,
)
from translator.rules.listener_sets import Slot
from translator.rules.parameters import first, said
from translator.world import World

EVERY_LISTENER = ""  # of a port, where none is named


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
    body_kilobytes: int | None = None  # of all that one request sends behind its headers
    refuses_underscores: bool = False
    idle: int = 15 * 60_000  # between requests of a connection
    stream_idle: int = 60 * 60_000  # in a request, or on a connection that is passed on
    request_headers: int = 10_000
    trusted_hops: int = 0
    proxy_protocol: str = "Off"
    http3: bool = False  # beside HTTP/1.1 and HTTP/2, where TLS ends


def treated(world: World, slots: Iterable[Slot], gateway: Name, port: int) -> list[Manners]:
    """Return in which ways clients of these listeners are treated: where of a ListenerSet, as at its port."""
    sections = {slot.section if slot.owner.kind == "Gateway" else EVERY_LISTENER for slot in slots}
    return [manners(world, gateway, port, section) for section in sorted(sections or {EVERY_LISTENER})]


@query
def manners(world: World, gateway: Name, port: int, section: str) -> Manners:
    """Return how clients of one listener are treated, or those of a port whose listeners nobody names."""
    return settle(*(each for who in said(world, gateway) for each in _at(who.spec, port, section)))


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
        body_kilobytes=first((each.request_body.max_kilobytes for each in wished), default.body_kilobytes),
        refuses_underscores=first((each.underscores for each in headers), "Allow") == "Reject",
        idle=first((_time(each.idle) for each in times), default.idle),
        stream_idle=first((_time(each.stream_idle) for each in times), default.stream_idle),
        request_headers=first((_time(each.request_headers) for each in times), default.request_headers),
        trusted_hops=first((each.trusted_hops for each in wished), default.trusted_hops),
        proxy_protocol=first((each.proxy_protocol for each in wished), default.proxy_protocol),
        http3=first((each.http3 for each in wished), "Off") == "On",
    )


def strictest(some: Sequence[Manners]) -> Manners:
    """Return what goes beyond none of them, for listeners that share connections."""
    return Manners(
        max_connections=_least(each.max_connections for each in some),
        rate=_slowest([each.rate for each in some if each.rate]),
        header_kilobytes=min(each.header_kilobytes for each in some),
        headers=min(each.headers for each in some),
        body_kilobytes=_least(each.body_kilobytes for each in some),
        refuses_underscores=any(each.refuses_underscores for each in some),
        idle=_soonest(each.idle for each in some),
        stream_idle=_soonest(each.stream_idle for each in some),
        request_headers=_soonest(each.request_headers for each in some),
        trusted_hops=min(each.trusted_hops for each in some),
        proxy_protocol=some[0].proxy_protocol,  # which is said of whole ports
        http3=some[0].http3,
    )


def _slowest(rates: Sequence[Rate]) -> Rate | None:
    """Return a bucket that gives no more than any of these: not in the long run, and not at once."""
    if not rates:
        return None
    holds = min(each.holds for each in rates)
    slowest = min(rates, key=lambda rate: rate.back / rate.every)
    return Rate(holds, min(slowest.back, holds), slowest.every)


def _least(limits: Iterable[int | None]) -> int | None:
    return min((limit for limit in limits if limit is not None), default=None)


def _soonest(times: Iterable[int]) -> int:
    return min((time for time in times if time), default=0)


def _at(spec: GatewayParametersSpec, port: int, section: str) -> Iterator[ClientParameters]:
    yield from (each.clients for each in spec.listeners if each.section_name == section)
    yield from (each.clients for each in spec.ports if each.port == port)
    yield spec.clients


def _rate(asked: RequestRateParameters | None) -> Rate | None:
    if asked is None:
        return None
    return Rate(asked.burst or asked.requests, asked.requests, milliseconds(asked.per))


def _time(written: str | None) -> int | None:
    return milliseconds(written) if written is not None else None
