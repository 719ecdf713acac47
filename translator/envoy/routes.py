"""Route tables: each virtual host is serialized once, and a table is joined from those bytes."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from envoy.config.core.v3 import base_pb2
from envoy.config.route.v3 import route_components_pb2, route_pb2
from envoy.extensions.filters.http.fault.v3 import fault_pb2
from envoy.type.matcher.v3 import string_pb2
from envoy.type.v3 import percent_pb2
from google.protobuf import any_pb2

from translator.envoy.clusters import REFUSED
from translator.envoy.cors import answering
from translator.envoy.encode import element, encode, packed
from translator.envoy.paths import ANY_PATH, ways
from translator.envoy.redirects import redirects
from translator.envoy.resource import Resource
from translator.envoy.tries import limit
from translator.memo import query
from translator.rules import tables
from translator.rules.backends import Backend, Share
from translator.rules.filters import Redirect, Rewrite
from translator.rules.gateways import BINDING
from translator.rules.headers import HeaderChanges
from translator.rules.http_routes import Fail, Forward
from translator.rules.matches import HttpMatch, Named, PathExact, PathPattern, PathPrefix
from translator.rules.paths import FullPath
from translator.rules.tables import Entry, Table
from translator.verdict import Refused
from translator.world import World

FAULT = "envoy.filters.http.fault"
VIRTUAL_HOSTS = route_pb2.RouteConfiguration.VIRTUAL_HOSTS_FIELD_NUMBER

# What follows the virtual hosts in every table.  A client may write the port behind the name: matching
# ignores it, and the header reaches the backend as it was written.  Clusters arrive before routes to them.
TAIL = encode(
    route_pb2.RouteConfiguration(validate_clusters={"value": False}, ignore_port_in_host_matching=True)
)
# The route's own limit of 15 s would cut long answers and streams: nobody asked for it.
UNLIMITED = encode(route_components_pb2.RouteAction(timeout={}))


class Part(NamedTuple):
    """A virtual host as an element of its table, and the clusters that it sends requests to."""

    body: bytes
    targets: tuple[str, ...]


@query
def route_table(world: World, table: Table) -> Resource:
    """Join a route table from its virtual hosts; requests for any other name are answered 404."""
    return join(table, [virtual_host(world, table, hostname) for hostname in tables.hostnames(world, table)])


def join(table: Table, parts: Sequence[Part]) -> Resource:
    """Join a table from serialized virtual hosts: the bytes are those of the whole message."""
    head = encode(route_pb2.RouteConfiguration(name=str(table)))
    targets = set().union(*[part.targets for part in parts])
    return Resource(b"".join([head, *[part.body for part in parts], TAIL]), targets=tuple(sorted(targets)))


@query
def virtual_host(world: World, table: Table, hostname: str) -> Part:
    """Build one virtual host, its routes in the order in which requests try them."""
    seen = table._replace(port=table.port + world.fact(BINDING).port_offset)  # by clients, so by redirects
    return build(seen, hostname, tables.virtual_host(world, table, hostname))


def build(table: Table, hostname: str, entries: Sequence[Entry]) -> Part:
    """Build a virtual host from what it answers."""
    host = route_components_pb2.VirtualHost(name=hostname, domains=[hostname])
    for entry in entries:
        host.routes.extend(_routes(entry, table, hostname))
    targets = {name for entry in entries for name in _targets(entry)}
    return Part(element(VIRTUAL_HOSTS, encode(host)), tuple(sorted(targets)))


def _routes(entry: Entry, table: Table, hostname: str) -> Iterable[route_components_pb2.Route]:
    """Build what one match of one rule becomes: one route, or more for some new paths."""
    route = route_components_pb2.Route(name=entry.name, match=_match(entry.match))
    match entry.rule.action:
        case Forward() as forward if _reaches(forward):
            route.route.CopyFrom(_forward(forward))
            _change_request(route, entry.rule.request_headers)
            _change_response(route, entry.rule.response_headers)
            for each in _rewritten(route, forward.rewrite or Rewrite()):
                yield from answering(each, entry.rule.cors)
        case Forward(failure=status) | Fail(status=status):
            route.direct_response.status = status
            yield route
        case Redirect() as redirect:
            _change_response(route, entry.rule.response_headers)
            yield from redirects(route, redirect, table, hostname)


def _match(wanted: HttpMatch) -> route_components_pb2.RouteMatch:
    built = _path(wanted.path)
    if wanted.method is not None:
        built.headers.add(name=":method").string_match.exact = wanted.method
    for header in wanted.headers:
        built.headers.add(name=header.name, string_match=_says(header))
    for parameter in wanted.query:
        built.query_parameters.add(name=parameter.name, string_match=_says(parameter))
    if wanted.grpc:
        built.grpc.SetInParent()
    return built


def _path(wanted: PathExact | PathPrefix | PathPattern) -> route_components_pb2.RouteMatch:
    match wanted:
        case PathExact(path):
            return route_components_pb2.RouteMatch(path=path)
        case PathPrefix(path) if below := path.rstrip("/"):
            return route_components_pb2.RouteMatch(path_separated_prefix=below)
        case PathPrefix():
            return route_components_pb2.RouteMatch(prefix="/")
        case PathPattern(regex):
            return route_components_pb2.RouteMatch(safe_regex={"regex": regex})


def _says(wanted: Named) -> string_pb2.StringMatcher:
    if wanted.is_pattern:
        return string_pb2.StringMatcher(safe_regex={"regex": wanted.value})
    return string_pb2.StringMatcher(exact=wanted.value)


def _weighted(forward: Forward) -> tuple[Share, ...]:
    return tuple(share for share in forward.shares if share.weight)


def _reaches(forward: Forward) -> bool:
    """Tell whether any request reaches a backend; where none does, no cluster is needed to fail."""
    return any(isinstance(share.target, Backend) for share in _weighted(forward))


def _forward(forward: Forward) -> route_components_pb2.RouteAction:
    action = route_components_pb2.RouteAction.FromString(UNLIMITED)
    limit(action, forward.tries)
    for mirror in forward.mirrors:
        copied = action.request_mirror_policies.add(cluster=str(mirror.target))
        copied.disable_shadow_host_suffix_append = True  # a mirror sees the request as it was
        copied.runtime_fraction.default_value.numerator = mirror.millionths
        copied.runtime_fraction.default_value.denominator = percent_pb2.FractionalPercent.MILLION
    shares = _weighted(forward)
    if len(shares) == 1:
        action.cluster = str(shares[0].target)
        return action
    for share in shares:
        part = action.weighted_clusters.clusters.add()
        part.weight.value = share.weight
        match share.target:
            case Backend() as backend:
                part.name = str(backend)
            case Refused():
                part.name = REFUSED
                part.typed_per_filter_config[FAULT].CopyFrom(_failure(forward.failure))
    return action


def _failure(status: int) -> any_pb2.Any:
    """Build what makes the fault filter answer every request of a share, in gRPC's terms where it is gRPC."""
    whole = {"numerator": 100, "denominator": "HUNDRED"}
    return packed(fault_pb2.HTTPFault(abort={"http_status": status, "percentage": whole}))


def _targets(entry: Entry) -> Iterable[str]:
    """Name the clusters that an entry's requests are sent to."""
    match entry.rule.action:
        case Forward() as forward if _reaches(forward):
            for share in _weighted(forward):
                yield str(share.target) if isinstance(share.target, Backend) else REFUSED
            yield from (str(mirror.target) for mirror in forward.mirrors)
        case Forward() | Fail() | Redirect():
            return


def _rewritten(route: route_components_pb2.Route, rewrite: Rewrite) -> Iterable[route_components_pb2.Route]:
    """Have a backend see another host, or another path."""
    route.route.host_rewrite_literal = rewrite.hostname or ""
    for each, prefix in ways(route, rewrite.path):
        if isinstance(rewrite.path, FullPath):
            each.route.regex_rewrite.pattern.regex = ANY_PATH
            each.route.regex_rewrite.substitution = rewrite.path.path
        elif prefix:
            each.route.prefix_rewrite = prefix
        yield each


def _change_request(route: route_components_pb2.Route, changes: HeaderChanges) -> None:
    """Apply a rule's changes; Envoy removes first, so what is set or added stays."""
    route.request_headers_to_add.extend(_added(changes))
    route.request_headers_to_remove.extend(changes.remove)


def _change_response(route: route_components_pb2.Route, changes: HeaderChanges) -> None:
    """Apply a rule's changes to the answer, in the same order."""
    route.response_headers_to_add.extend(_added(changes))
    route.response_headers_to_remove.extend(changes.remove)


def _added(changes: HeaderChanges) -> Iterable[base_pb2.HeaderValueOption]:
    for action, pairs in (
        ("OVERWRITE_IF_EXISTS_OR_ADD", changes.set),
        ("APPEND_IF_EXISTS_OR_ADD", changes.add),
    ):
        for key, value in pairs:
            literal = value.replace("%", "%%")  # Envoy would take a single one for a placeholder
            yield base_pb2.HeaderValueOption(header={"key": key, "value": literal}, append_action=action)
