"""HTTPRoute and GRPCRoute: what happens to a request that one of their rules takes."""

from msgspec import Struct, structs

from translator.memo import query
from translator.names import Ref
from translator.objects.grpc_route import GRPCRoute, GRPCRouteMatch, GRPCRouteRule
from translator.objects.http_route import HTTPRoute, HTTPRouteRule
from translator.rules import filters
from translator.rules.backends import Backend, Share, Traffic, shares
from translator.rules.cors import Cors
from translator.rules.filters import Filters, Redirect, Rewrite
from translator.rules.headers import UNCHANGED, HeaderChanges
from translator.rules.matches import (
    HttpMatch,
    PathPrefix,
    Rank,
    grpc_match,
    grpc_rank,
    http_match,
    http_rank,
)
from translator.rules.mirrors import Mirror, mirrors
from translator.rules.tries import ONE_TRY, Tries, tries
from translator.verdict import Refused
from translator.world import World


class Forward(Struct, frozen=True):
    """Requests go to backends by weight; at least one share has a weight, refused shares answer `failure`."""

    shares: tuple[Share, ...]
    failure: int = 500
    rewrite: Rewrite | None = None
    tries: Tries = ONE_TRY
    mirrors: tuple[Mirror, ...] = ()  # each of them gets something

    @property
    def backends(self) -> frozenset[Backend]:
        """Where requests or their copies go."""
        found = (*(share.target for share in self.shares), *(each.target for each in self.mirrors))
        return frozenset(target for target in found if isinstance(target, Backend))


class Fail(Struct, frozen=True):
    """Every request is answered with this status: the rule cannot be honoured, and this is why."""

    status: int
    message: str


class HttpRule(Struct, frozen=True):
    """What one rule does."""

    action: Forward | Redirect | Fail
    request_headers: HeaderChanges = UNCHANGED
    response_headers: HeaderChanges = UNCHANGED
    cors: Cors | None = None


class Ranked(Struct, frozen=True):
    """One match of a rule, with its rank among the matches of all rules."""

    match: HttpMatch
    rank: Rank


class ReadRule(Struct, frozen=True):
    """One rule as it was read."""

    matches: tuple[Ranked, ...]
    rule: HttpRule
    refusal: Refused | None = None  # why the whole rule fails
    backends: tuple[Share, ...] = ()  # all its backendRefs, for the status and for who asks what leads where
    mirrors: tuple[Mirror, ...] = ()  # and all its mirrors

    @property
    def targets(self) -> tuple[Backend | Refused, ...]:
        """Where requests and their copies are to go."""
        return (*(share.target for share in self.backends), *(each.target for each in self.mirrors))


@query
def rules(world: World, route: Ref) -> tuple[ReadRule, ...]:
    """Read every rule of an HTTPRoute or a GRPCRoute once, for what it serves and for its status."""
    if route.kind == "GRPCRoute":
        written = world.must(GRPCRoute, route.name).spec.rules
        return tuple(_grpc_rule(world, route, rule) for rule in written or (GRPCRouteRule(),))
    return tuple(_http_rule(world, route, rule) for rule in world.must(HTTPRoute, route.name).spec.rules)


def _http_rule(world: World, route: Ref, rule: HTTPRouteRule) -> ReadRule:
    found = [http_match(match) for match in rule.matches]
    backends = shares(world, route, rule.backend_refs, Traffic.HTTP)
    copies = mirrors(world, route, rule.filters, Traffic.HTTP)
    read = filters.read(rule.filters)
    refusal = _first(
        *found,
        read,
        _prefix(read, found),
        *(_backend_filters(ref.filters) for ref in rule.backend_refs),
        _unsupported(rule),
    )
    matches = tuple(Ranked(match, http_rank(match)) for match in found if isinstance(match, HttpMatch))
    forward = Forward(backends, 500, tries=tries(rule), mirrors=copies)
    return ReadRule(matches, _rule(read, forward, refusal), refusal, backends, copies)


def _grpc_rule(world: World, route: Ref, rule: GRPCRouteRule) -> ReadRule:
    found = [grpc_match(match) for match in rule.matches or (GRPCRouteMatch(),)]
    backends = shares(world, route, rule.backend_refs, Traffic.GRPC)
    copies = mirrors(world, route, rule.filters, Traffic.GRPC)
    read = filters.read(rule.filters)
    refusal = _first(
        *found, read, *(_backend_filters(ref.filters) for ref in rule.backend_refs), _unsupported(rule)
    )
    matches = tuple(Ranked(match, grpc_rank(match)) for match in found if isinstance(match, HttpMatch))
    forward = Forward(backends, 503, mirrors=copies)
    return ReadRule(matches, _rule(read, forward, refusal), refusal, backends, copies)


def _rule(read: Filters | Refused, forward: Forward, refusal: Refused | None) -> HttpRule:
    """Settle what a rule does with a request."""
    if refusal is not None or isinstance(read, Refused):
        return HttpRule(Fail(forward.failure, refusal.message if refusal else ""))
    if read.redirect is not None:
        return HttpRule(read.redirect, response_headers=read.response_headers)
    weighty = tuple(share for share in forward.shares if share.weight)
    if all(isinstance(share.target, Refused) for share in weighty):
        return HttpRule(Fail(forward.failure, "no backend can be reached"))
    copies = tuple(each for each in forward.mirrors if isinstance(each.target, Backend) and each.millionths)
    sent = structs.replace(forward, shares=weighty, rewrite=read.rewrite, mirrors=copies)
    return HttpRule(sent, read.request_headers, read.response_headers, read.cors)


def _prefix(read: Filters | Refused, found: list[HttpMatch | Refused]) -> Refused | None:
    """Refuse to replace the prefix of a path that was not matched by one."""
    if not isinstance(read, Filters) or not read.replaces_prefix:
        return None
    if all(isinstance(match, Refused) or isinstance(match.path, PathPrefix) for match in found):
        return None
    return Refused("UnsupportedValue", "filters: ReplacePrefixMatch needs matches by PathPrefix")


def _first(*found: object) -> Refused | None:
    return next((each for each in found if isinstance(each, Refused)), None)


def _backend_filters(written: tuple[object, ...]) -> Refused | None:
    if not written:
        return None
    return Refused(
        "UnsupportedValue", "backendRefs.filters: filters of a single backend are not supported yet"
    )


def _unsupported(rule: HTTPRouteRule | GRPCRouteRule) -> Refused | None:
    """Refuse what a later version honours, so that nobody believes it in force."""
    if rule.session_persistence is None:
        return None
    return Refused("UnsupportedValue", "sessionPersistence is not supported yet")
