"""Shares of requests that get different things: told apart by cluster, or by a number that is drawn."""

from collections.abc import Iterator
from typing import NamedTuple

from msgspec import structs

from translator.envoy.forwards import Leg
from translator.rules.filters import Redirect, Rewrite
from translator.rules.headers import UNCHANGED
from translator.rules.http_routes import Fail, Forward, HttpRule, Part, Split
from translator.rules.mirrors import ALL, Mirror
from translator.verdict import Refused


class Joined(NamedTuple):
    """One rule for all shares of a split, and what is left to each."""

    rule: HttpRule
    forward: Forward
    legs: tuple[Leg, ...]


def joined(split: Split) -> Joined | None:
    """Join a split whose shares differ only in what Envoy can change for each cluster of one route."""
    legs = [_leg(part) for part in split.parts]
    forwards = [
        (part.rule, part.rule.action) for part in split.parts if isinstance(part.rule.action, Forward)
    ]
    common = {_common(rule, forward) for rule, forward in forwards}
    if None in legs or len(common) != 1:
        return None
    [(rule, forward)] = common
    return Joined(rule, forward, tuple(each for each in legs if each is not None))


def portions(split: Split) -> Iterator[tuple[HttpRule, int]]:
    """Yield the rules of a split, each with how many of a million requests come to it or to those before it.

    Envoy draws one number for a request and holds it against every fraction: of those that come to a portion,
    a mirror gets its part if its fraction, too, is counted from where the portion begins.
    """
    total = sum(part.weight for part in split.parts)
    above = begins = 0
    for part in split.parts:
        above += part.weight
        ends = above * ALL // total
        yield _counted(part.rule, begins, ends), ends
        begins = ends


def _leg(part: Part) -> Leg | None:
    """Return a share as a cluster of a route; none for what no cluster can be told to do."""
    match part.rule.action:
        case Forward(shares=(share,), failure=failure, rewrite=rewrite):
            hostname = (rewrite or Rewrite()).hostname or ""
            changes = (part.rule.request_headers, part.rule.response_headers)
            return Leg(part.weight, share.target, failure, hostname, *changes, share.session)
        case Fail(status, message):
            return Leg(part.weight, Refused("", message), status)
        case Forward() | Redirect() | Split():
            return None


def _common(rule: HttpRule, forward: Forward) -> tuple[HttpRule, Forward]:
    """Return what a share must have in common with the others."""
    path = Rewrite(path=(forward.rewrite or Rewrite()).path)
    alike = structs.replace(forward, shares=(), rewrite=path)
    unchanged = structs.replace(rule, request_headers=UNCHANGED, response_headers=UNCHANGED, action=alike)
    return unchanged, alike


def _counted(rule: HttpRule, begins: int, ends: int) -> HttpRule:
    if not isinstance(rule.action, Forward):
        return rule
    mirrors = tuple(
        Mirror(each.target, begins + each.millionths * (ends - begins) // ALL) for each in rule.action.mirrors
    )
    return structs.replace(rule, action=structs.replace(rule.action, mirrors=mirrors))
