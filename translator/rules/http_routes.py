"""HTTPRoute and GRPCRoute: what happens to a request that one of their rules takes."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from msgspec import Struct

from translator.memo import steady
from translator.names import Ref
from translator.objects.filters import HTTPExternalAuthFilter
from translator.objects.grpc_route import GRPCBackendRef, GRPCRouteMatch, GRPCRouteRule
from translator.objects.http_route import HTTPBackendRef, HTTPRouteMatch, HTTPRouteRule
from translator.objects.references import GATEWAY_GROUP
from translator.rules import filters, questions
from translator.rules.backends import TRAFFIC, Backend, Share, shares
from translator.rules.cors import Cors
from translator.rules.filters import NOTHING, Filters, Redirect, Rewrite
from translator.rules.grants import Pointer
from translator.rules.headers import UNCHANGED, HeaderChanges
from translator.rules.held_back import held_back, refusal, stated_beside
from translator.rules.limits import too_large
from translator.rules.matches import (
    HttpMatch,
    PathPrefix,
    Rank,
    grpc_match,
    grpc_rank,
    http_match,
    http_rank,
)
from translator.rules.mirrors import Mirror, asked, mirrors
from translator.rules.questions import Question, question
from translator.rules.session_names import with_sessions
from translator.rules.tries import ONE_TRY, Tries, tries
from translator.verdict import Refused, our_fault
from translator.world import World

# What a request is answered that reaches no backend; gRPC clients read 503 as UNAVAILABLE.
FAILURES = {"HTTPRoute": 500, "GRPCRoute": 503}


class Forward(Struct, frozen=True):
    """Requests go to backends by weight; at least one share has a weight, refused shares answer `failure`."""

    shares: tuple[Share, ...]
    failure: int = 500
    rewrite: Rewrite | None = None
    tries: Tries = ONE_TRY
    mirrors: tuple[Mirror, ...] = ()  # each of them gets something

    @property
    def is_answered(self) -> bool:
        """Whether any request comes to a backend."""
        return any(share.weight and isinstance(share.target, Backend) for share in self.shares)

    @property
    def backends(self) -> frozenset[Backend]:
        """Where requests or their copies go."""
        found = [*[share.target for share in self.shares], *[each.target for each in self.mirrors]]
        return frozenset([target for target in found if isinstance(target, Backend)])


class Fail(Struct, frozen=True):
    """Every request is answered with this status: the rule cannot be honoured, and this is why."""

    status: int
    message: str


class Part(Struct, frozen=True):
    """One share of a rule's requests, and all that is done with it."""

    weight: int
    rule: "HttpRule"


class Split(Struct, frozen=True):
    """Each share gets something of its own, because its backend has filters; no share is split again."""

    parts: tuple[Part, ...]


class HttpRule(Struct, frozen=True):
    """What one rule does."""

    action: Forward | Split | Redirect | Fail
    request_headers: HeaderChanges = UNCHANGED
    response_headers: HeaderChanges = UNCHANGED
    cors: Cors | None = None
    asks: tuple[Question, ...] = ()  # one after the other, and none of them refused

    @property
    def backends(self) -> frozenset[Backend]:
        """Where requests or their copies go, and who is asked about them."""
        asked = frozenset(each.whom for each in self.asks if isinstance(each.whom, Backend))
        match self.action:
            case Forward() as forward:
                return forward.backends | asked
            case Split(parts):
                return frozenset(each for part in parts for each in part.rule.backends)
            case Redirect() | Fail():
                return asked


class Rule(NamedTuple):
    """One rule of a route, by its name or its number."""

    route: Ref
    name: str

    def __str__(self) -> str:
        """Name it, as what is kept by it is named after."""
        return f"{self.route} {self.name}"


class Ranked(Struct, frozen=True):
    """One match of a rule, with its rank among the matches of all rules."""

    match: HttpMatch
    rank: Rank


class Sender(NamedTuple):
    """Whose requests are sent, and within which limits."""

    world: World
    route: Ref
    tries: Tries = ONE_TRY


class ReadRule(Struct, frozen=True):
    """One rule as it was read."""

    matches: tuple[Ranked, ...]
    rule: HttpRule
    refusal: Refused | None = None  # why the whole rule fails
    backends: tuple[Share, ...] = ()  # all its backendRefs, for the status and for who asks what leads where
    mirrors: tuple[Mirror, ...] = ()  # and all its mirrors
    asks: tuple[Question, ...] = ()  # and all its questions

    @property
    def targets(self) -> tuple[Backend | Refused, ...]:
        """Where requests and their copies are to go, and who is to be asked about them."""
        answering = (share.target for share in self.backends)
        return (*answering, *(each.target for each in self.mirrors), *(each.whom for each in self.asks))


def unread(route: Ref) -> tuple[ReadRule, ...]:
    """Return what stands for the rules of a route that a mistake of ours kept from ever being read."""
    return _whole(route, our_fault(route))


@steady(unread)
def rules(world: World, route: Ref) -> tuple[ReadRule, ...]:
    """Read every rule of an HTTPRoute or a GRPCRoute once, for what it serves and for its status."""
    held = held_back(world, route)
    if held is not None and held.before is None:
        return _whole(route, refusal(held))
    written = stated_beside(world, route, held)
    if (excess := too_large(written)) is not None:
        return _whole(route, excess)
    each: tuple[HTTPRouteRule | GRPCRouteRule, ...] = written.spec.rules or (GRPCRouteRule(),)
    named = ((rule, Rule(route, rule.name or str(number))) for number, rule in enumerate(each))
    return tuple(_read(world, place, rule) for rule, place in named)


def _whole(route: Ref, refusal: Refused) -> tuple[ReadRule, ...]:
    """Refuse all rules of a route as one that takes no request."""
    return (ReadRule((), HttpRule(Fail(FAILURES[route.kind], refusal.message)), refusal),)


def _matches(rule: HTTPRouteRule | GRPCRouteRule) -> tuple[HttpMatch | Refused, ...]:
    match rule:
        case HTTPRouteRule(matches=written):
            return tuple(http_match(each) for each in written or (HTTPRouteMatch(),))
        case GRPCRouteRule(matches=asked_for):
            return tuple(grpc_match(each) for each in asked_for or (GRPCRouteMatch(),))


def _read(world: World, place: Rule, rule: HTTPRouteRule | GRPCRouteRule) -> ReadRule:
    route, found = place.route, _matches(rule)
    rank = http_rank if route.kind == "HTTPRoute" else grpc_rank
    matches = tuple([Ranked(match, rank(match)) for match in found if isinstance(match, HttpMatch)])
    backends = shares(world, route, rule.backend_refs, TRAFFIC[route.kind])
    copies = mirrors(world, route, asked(rule), TRAFFIC[route.kind])
    asks = _questions(world, route, questions.asked(rule))
    done = _first(found) or _done(world, place, rule, backends)
    if isinstance(done, Refused):
        failed = HttpRule(Fail(FAILURES[route.kind], done.message))
        return ReadRule(matches, failed, done, backends, copies, asks)
    return ReadRule(matches, done, None, backends, copies, asks)


def _done(
    world: World, place: Rule, rule: HTTPRouteRule | GRPCRouteRule, backends: tuple[Share, ...]
) -> HttpRule | Refused:
    """Settle what is done with the requests of a rule."""
    whole = filters.read(rule.filters)
    if isinstance(whole, Refused):
        return whole
    kept = with_sessions(world, place, rule.session_persistence, backends)
    if isinstance(kept, Refused):
        return kept
    refs: tuple[HTTPBackendRef | GRPCBackendRef, ...] = rule.backend_refs
    is_parted = any(ref.filters for ref in refs)
    own = [_own(whole, number, ref) for number, ref in enumerate(refs)] if is_parted else []
    if wrong := _first(own) or _first([_prefix(each, rule) for each in (whole, *own)]):
        return wrong
    limits = tries(rule) if isinstance(rule, HTTPRouteRule) else ONE_TRY
    sender = Sender(world, place.route, limits)
    if whole.redirect is not None or not is_parted:
        return _sent(sender, kept, whole)
    read = (each for each in own if isinstance(each, Filters))
    return _parted(sender, tuple(zip(kept, read, strict=True)))


def _own(whole: Filters, number: int, ref: HTTPBackendRef | GRPCBackendRef) -> Filters | Refused:
    """Read what is done with the requests of one backend: what the rule says, then what the backend says."""
    if not ref.filters:
        return whole
    own = filters.read(ref.filters)
    found = own if isinstance(own, Refused) else filters.both(whole, own)
    if isinstance(found, Refused):
        return Refused(found.reason, f"backendRefs[{number}].{found.message}")
    return found


def _sent(sender: Sender, targets: tuple[Share, ...], read: Filters) -> HttpRule:
    """Settle what becomes of requests that all get the same."""
    failure = FAILURES[sender.route.kind]
    asks = _questions(sender.world, sender.route, read.asks)
    if (nobody := _first([each.whom for each in asks])) is not None:
        return HttpRule(Fail(failure, nobody.message))
    if read.redirect is not None:
        return HttpRule(read.redirect, response_headers=read.response_headers, asks=asks)
    weighty = tuple([share for share in targets if share.weight])
    if all(isinstance(share.target, Refused) for share in weighty):
        return HttpRule(Fail(failure, "no backend can be reached"))
    copies = mirrors(sender.world, sender.route, read.mirrors, TRAFFIC[sender.route.kind])
    heard = tuple([each for each in copies if isinstance(each.target, Backend) and each.millionths])
    forward = Forward(weighty, failure, read.rewrite, sender.tries, heard)
    return HttpRule(forward, read.request_headers, read.response_headers, read.cors, asks)


def _questions(world: World, route: Ref, written: Sequence[HTTPExternalAuthFilter]) -> tuple[Question, ...]:
    """Return what is asked about requests that a rule has taken."""
    if not written:  # almost always
        return ()
    pointer = Pointer(GATEWAY_GROUP, route.kind, route.name.namespace)
    return tuple(question(world, pointer, each) for each in written)


def _parted(sender: Sender, each: tuple[tuple[Share, Filters], ...]) -> HttpRule:
    """Settle what becomes of requests that each backend gets changed; a refused one fails its share."""
    parts = tuple(
        Part(share.weight, _sent(sender, (share,), own if isinstance(share.target, Backend) else NOTHING))
        for share, own in each
        if share.weight
    )
    if len({part.rule for part in parts}) > 1:
        return HttpRule(Split(parts))
    return parts[0].rule if parts else _sent(sender, (), NOTHING)


def _prefix(read: Filters | Refused, rule: HTTPRouteRule | GRPCRouteRule) -> Refused | None:
    """Refuse to replace the prefix of a path that was not matched by one."""
    if not isinstance(read, Filters) or not read.replaces_prefix:
        return None
    if all(isinstance(match, HttpMatch) and isinstance(match.path, PathPrefix) for match in _matches(rule)):
        return None
    return Refused("UnsupportedValue", "filters: ReplacePrefixMatch needs matches by PathPrefix")


def _first(found: Iterable[object]) -> Refused | None:
    for each in found:
        if isinstance(each, Refused):
            return each
    return None
