"""Requests on their way to backends: how long, to whom, to whom else, and as what."""

from collections.abc import Iterable, Iterator
from functools import lru_cache

from envoy.config.route.v3 import route_components_pb2
from envoy.extensions.filters.http.fault.v3 import fault_pb2
from envoy.type.v3 import percent_pb2
from msgspec import Struct

from translator.envoy.asking import ask
from translator.envoy.clusters import REFUSED
from translator.envoy.cors import answering
from translator.envoy.encode import encode, packed
from translator.envoy.headers import change_request, change_response
from translator.envoy.paths import ANY_PATH, ways
from translator.envoy.sessions import SESSION, UNAGED, kept, unaged
from translator.envoy.tries import limit
from translator.rules.backends import Backend
from translator.rules.filters import Rewrite
from translator.rules.headers import UNCHANGED, HeaderChanges
from translator.rules.http_routes import Forward, HttpRule
from translator.rules.mirrors import Mirror
from translator.rules.paths import FullPath
from translator.rules.sessions import Cookie, Header
from translator.verdict import Refused

FAULT = "envoy.filters.http.fault"
ALIKE = 256  # rules that are remembered, because the next matches may be of the same or of its like

# The route's own limit of 15 s would cut long answers and streams: nobody asked for it.
UNLIMITED = encode(route_components_pb2.RouteAction(timeout={}))


class Leg(Struct, frozen=True):
    """A share of requests, and what Envoy can change for those alone."""

    weight: int
    target: Backend | Refused
    failure: int
    hostname: str = ""
    request_headers: HeaderChanges = UNCHANGED
    response_headers: HeaderChanges = UNCHANGED
    session: Cookie | Header | None = None


def legs(forward: Forward) -> tuple[Leg, ...]:
    """Return the shares of requests that all get the same."""
    return tuple([
        Leg(share.weight, share.target, forward.failure, session=share.session)
        for share in forward.shares
        if share.weight
    ])  # fmt: skip


def forwarded(
    route: route_components_pb2.Route,
    rule: HttpRule,
    forward: Forward,
    shares: tuple[Leg, ...],
    *,
    is_tls: bool,
) -> Iterator[route_components_pb2.Route]:
    """Complete a route whose requests go to backends, from clients that speak TLS or do not."""
    route.MergeFromString(_sending(rule, forward, shares, is_tls=is_tls))
    if forward.rewrite is None and rule.cors is None:  # almost always
        yield route
        return
    for each in _moved(route, forward.rewrite or Rewrite()):
        yield from answering(each, rule.cors)


@lru_cache(maxsize=ALIKE)
def _sending(rule: HttpRule, forward: Forward, shares: tuple[Leg, ...], *, is_tls: bool) -> bytes:
    """Build what routes have in common whose requests get the same: all but their matches."""
    route = route_components_pb2.Route()
    action, rewrite = route.route, forward.rewrite
    action.MergeFromString(UNLIMITED)
    limit(action, forward.tries)
    _copy(action, forward.mirrors)
    if rewrite and rewrite.hostname:
        action.host_rewrite_literal = rewrite.hostname
    ask(route, rule.asks)
    change_request(route, rule.request_headers)
    change_response(route, rule.response_headers)
    if len(shares) == 1:
        action.cluster = str(shares[0].target)
        _hold(route, shares[0].session, is_tls=is_tls)
    else:
        for share in shares:
            added = _added(action.weighted_clusters, share)
            _hold(added, share.session, is_tls=is_tls)
    return encode(route)


def _copy(action: route_components_pb2.RouteAction, mirrors: Iterable[Mirror]) -> None:
    for mirror in mirrors:
        copied = action.request_mirror_policies.add(cluster=str(mirror.target))
        copied.disable_shadow_host_suffix_append = True  # a mirror sees the request as it was
        copied.runtime_fraction.default_value.numerator = mirror.millionths
        copied.runtime_fraction.default_value.denominator = percent_pb2.FractionalPercent.MILLION


def _hold(
    built: route_components_pb2.Route | route_components_pb2.WeightedCluster.ClusterWeight,
    session: Cookie | Header | None,
    *,
    is_tls: bool,
) -> None:
    """Have sessions with a backend stay with one endpoint."""
    if session is not None:
        built.typed_per_filter_config[SESSION].CopyFrom(kept(session, is_tls=is_tls))
        if (silent := unaged(session)) is not None:
            built.typed_per_filter_config[UNAGED].CopyFrom(silent)


def _added(
    shares: route_components_pb2.WeightedCluster, share: Leg
) -> route_components_pb2.WeightedCluster.ClusterWeight:
    """Add a share; the fault filter answers every request of a refused one, gRPC in gRPC's terms."""
    added = shares.clusters.add()
    added.weight.value = share.weight
    if share.hostname:
        added.host_rewrite_literal = share.hostname
    change_request(added, share.request_headers)
    change_response(added, share.response_headers)
    match share.target:
        case Backend() as backend:
            added.name = str(backend)
        case Refused():
            whole = {"numerator": 100, "denominator": "HUNDRED"}
            fault = fault_pb2.HTTPFault(abort={"http_status": share.failure, "percentage": whole})
            added.name = REFUSED
            added.typed_per_filter_config[FAULT].CopyFrom(packed(fault))
    return added


def _moved(route: route_components_pb2.Route, rewrite: Rewrite) -> Iterator[route_components_pb2.Route]:
    """Have a backend see another path."""
    for each, prefix in ways(route, rewrite.path):
        if isinstance(rewrite.path, FullPath):
            each.route.regex_rewrite.pattern.regex = ANY_PATH
            each.route.regex_rewrite.substitution = rewrite.path.path
        elif prefix:
            each.route.prefix_rewrite = prefix
        yield each
