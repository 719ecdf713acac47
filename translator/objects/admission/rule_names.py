"""What is asked of all rules of a route together."""

from collections.abc import Iterator

from translator.objects.admission.finding import Finding
from translator.objects.grpc_route import GRPCRouteSpec
from translator.objects.http_route import HTTPRouteSpec
from translator.objects.tcp_route import TCPRouteSpec
from translator.objects.tls_route import TLSRouteSpec
from translator.objects.udp_route import UDPRouteSpec

_MOST_MATCHES = 128


def rule_names_are_unique(
    spec: HTTPRouteSpec | GRPCRouteSpec | TLSRouteSpec | TCPRouteSpec | UDPRouteSpec,
) -> Iterator[Finding]:
    """A name, by which policies and people point at a rule, leads to one."""
    names = [rule.name for rule in spec.rules]
    for index, name in enumerate(names):
        if name is not None and name in names[:index]:
            yield Finding(f"rules[{index}].name", f'must be unique within the route, and "{name}" is taken')


def matches_are_not_too_many(spec: HTTPRouteSpec | GRPCRouteSpec) -> Iterator[Finding]:
    """All rules together have a bounded number of matches."""
    count = sum(len(rule.matches) for rule in spec.rules)
    if count > _MOST_MATCHES:
        yield Finding(
            "rules", f"must have at most {_MOST_MATCHES} matches together, and have {count}: split the route"
        )
