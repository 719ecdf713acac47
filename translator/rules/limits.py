"""How much one object may ask of all others' Envoys: docs/limits.md has every limit, and what to do about it.

Each match of a route is served with all that its rule does, once for every host: so a route is measured as it
is served. A route for a wildcard, or for every host, is repeated in each virtual host that the name covers,
among them other tenants': what routes of one such name may add there is limited together, the oldest first.
"""

import msgspec

from translator.objects.grpc_route import GRPCRoute
from translator.objects.http_route import HTTPRoute
from translator.verdict import Refused

MOST_LISTENERS = 4_000  # of a Gateway with its ListenerSets
LARGEST_ROUTE = 1024 * 1024  # as it is served for its own hostnames
LARGEST_SPREAD = 32 * 1024  # of all routes of one wide name, in each host that it covers
COST_OF_PATTERN = 4 * 1024  # what Envoy keeps for a regular expression, at the least

PATTERN = "RegularExpression"


def size(route: HTTPRoute | GRPCRoute) -> int:
    """Measure a route as it is served for one host."""
    total = 0
    for rule in route.spec.rules:
        matches = msgspec.json.encode(rule.matches)
        others = len(msgspec.json.encode(rule)) - len(matches)
        total += len(matches) + max(1, len(rule.matches)) * others
        if PATTERN.encode() in matches:
            total += COST_OF_PATTERN * sum(_patterns(each) for each in rule.matches)
    return total


def too_large(route: HTTPRoute | GRPCRoute) -> Refused | None:
    """Refuse a route that would be more than Envoys should be sent."""
    hosts = max(1, len(route.spec.hostnames))
    if hosts * _at_most(route) <= LARGEST_ROUTE or hosts * (each := size(route)) <= LARGEST_ROUTE:
        return None
    return Refused(
        "UnsupportedValue",
        f"the route is too large: {each} bytes as it is served for each of {hosts} hostnames, where "
        f"{LARGEST_ROUTE} may be in all: split it, or give it fewer matches, patterns, or shorter values",
    )


def _at_most(route: HTTPRoute | GRPCRoute) -> int:
    """Say more quickly what a route's size cannot exceed: as if each match were repeated with all rules."""
    written = msgspec.json.encode(route.spec.rules)
    matches = sum(max(1, len(rule.matches)) for rule in route.spec.rules)
    return len(written) * matches + COST_OF_PATTERN * written.count(PATTERN.encode())


def _patterns(match: msgspec.Struct) -> int:
    """Count the regular expressions of a match."""
    parts = (getattr(match, field) for field in match.__struct_fields__)
    found = (each for part in parts for each in (part if isinstance(part, tuple) else (part,)))
    return sum(getattr(each, "type", "") == PATTERN for each in found)
