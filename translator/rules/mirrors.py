"""Mirrors: backends that get a copy of requests, reached and refused exactly as those that answer them."""

from typing import NamedTuple

from translator.names import Ref
from translator.objects.filters import HTTPRequestMirrorFilter
from translator.objects.grpc_route import GRPCRouteRule
from translator.objects.http_route import HTTPRouteRule
from translator.objects.references import BackendRef
from translator.rules.backends import Backend, Traffic, shares
from translator.verdict import Refused
from translator.world import World

ALL = 1_000_000


class Mirror(NamedTuple):
    """A backend that gets a copy of so many of a million requests; a refused one gets none."""

    target: Backend | Refused
    millionths: int = ALL


def mirrors(
    world: World, route: Ref, asked: tuple[HTTPRequestMirrorFilter, ...], traffic: Traffic
) -> tuple[Mirror, ...]:
    """Return mirrors as they can be reached, by the door that all backends go through."""
    if not asked:  # almost always
        return ()
    refs = tuple(mirrored(each) for each in asked)
    found = zip(shares(world, route, refs, traffic), asked, strict=True)
    return tuple(Mirror(share.target, _millionths(each)) for share, each in found)


def asked(rule: HTTPRouteRule | GRPCRouteRule) -> tuple[HTTPRequestMirrorFilter, ...]:
    """Return every mirror that is written in a rule, those of single backends included."""
    written = [*rule.filters, *[each for ref in rule.backend_refs if ref.filters for each in ref.filters]]
    return tuple([each.request_mirror for each in written if each.request_mirror is not None])


def mirrored(written: HTTPRequestMirrorFilter) -> BackendRef:
    """Return where copies go, as a rule names a backend."""
    ref = written.backend_ref
    return BackendRef(ref.name, ref.group, ref.kind, ref.namespace, ref.port)


def _millionths(written: HTTPRequestMirrorFilter) -> int:
    if written.fraction is not None:
        return min(written.fraction.numerator * ALL // written.fraction.denominator, ALL)
    return ALL if written.percent is None else written.percent * ALL // 100
