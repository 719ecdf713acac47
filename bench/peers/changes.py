"""What is changed in a shop: first one object in its place, then what comes and goes."""

import os
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from bench.peers.shop import (
    CERTIFICATE,
    HTTP,
    Manifest,
    Size,
    certificate,
    config_map,
    endpoints,
    gateway,
    host,
    listener,
    policy,
    route,
)

TURNS = int(os.environ.get("TURNS", "3"))  # of each kind of change
TOUCHED = 7  # the number of whatever is changed; it is odd, so there is a policy of that number


class Told(NamedTuple):
    """One moment's news."""

    put: tuple[Manifest, ...] = ()
    delete: tuple[Manifest, ...] = ()


class Kind(NamedTuple):
    """A kind of change; what it needs, those before it have left."""

    make: Callable[[int, Size], Told]  # in which turn
    more_gateways: int = 0  # than the shop has


def _one(write: Callable[[int, Size], Manifest]) -> Kind:
    return Kind(lambda turn, size: Told((write(turn, size),)))


def _another(turn: int, size: Size) -> Manifest:
    """Write a route that was not there at first, to Services that were."""
    n = size.routes + turn
    return route(n, 0, n % size.gateways, size)


def _with_tls(turn: int, _: Size) -> Manifest:
    """Have a listener for the host of one route in place of the second one, each turn at another port."""
    shown = {"mode": "Terminate", "certificateRefs": [{"group": "", "kind": "Secret", "name": CERTIFICATE}]}
    tls = listener("tls", 443 + turn, protocol="HTTPS", hostname=host(0), tls=shown)
    return gateway(0, HTTP, tls, turn=TURNS + turn)


def _gateway_more(turn: int, size: Size) -> Told:
    n = size.gateways - 1 + turn
    return Told((gateway(n, HTTP), route(size.routes + TURNS + turn, 0, n, size)))


IN_PLACE: Mapping[str, Kind] = MappingProxyType({
    "one endpoint": _one(lambda turn, _: endpoints(TOUCHED, turn)),
    "one route": _one(lambda turn, size: route(TOUCHED, turn, TOUCHED % size.gateways, size)),
    "one policy": _one(lambda turn, _: policy(TOUCHED, turn)),
    "a CA of a tenth of the policies": _one(lambda turn, _: config_map(TOUCHED, turn)),
})  # fmt: skip
COMING_AND_GOING: Mapping[str, Kind] = MappingProxyType({
    "a route more": _one(_another),
    "a route deleted": Kind(lambda turn, size: Told(delete=(_another(turn, size),))),
    "a second listener": _one(lambda turn, _: gateway(0, HTTP, listener("second", 80 + turn), turn=turn)),
    "a listener with TLS": _one(_with_tls),
    "the certificate of that listener": _one(lambda turn, _: certificate(turn)),
    "a Gateway more, with a route": Kind(_gateway_more, TURNS),
})  # fmt: skip
CHANGES: Mapping[str, Kind] = MappingProxyType({**IN_PLACE, **COMING_AND_GOING})
