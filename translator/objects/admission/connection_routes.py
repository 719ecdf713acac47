"""What is asked of TLSRoutes, TCPRoutes and UDPRoutes: less in v1alpha2, which is still served."""

from collections.abc import Iterator

from translator.objects.admission.finding import Finding, rules_of
from translator.objects.admission.rule_names import rule_names_are_unique
from translator.objects.scalars import is_address
from translator.objects.tcp_route import TCPRoute, TCPRouteSpec
from translator.objects.tls_route import TLSRoute, TLSRouteSpec
from translator.objects.udp_route import UDPRoute, UDPRouteSpec


def is_old(route: TLSRoute | TCPRoute | UDPRoute) -> bool:
    """Say whether a route is written in the version that allowed more."""
    return route.api_version.endswith("/v1alpha2")


def there_is_one_rule(route: TLSRoute | TCPRoute | UDPRoute) -> Iterator[Finding]:
    """A connection has nothing by which to choose between rules."""
    if not is_old(route) and len(route.spec.rules) > 1:
        yield Finding("spec.rules", "must have one rule only: put all backends in it, or write another route")


def a_host_is_named(route: TLSRoute) -> Iterator[Finding]:
    """A TLSRoute says which names of servers it is for."""
    if not is_old(route) and not route.spec.hostnames:
        yield Finding("spec.hostnames", "is required: name the hosts, such as example.com")


def a_host_is_no_address(route: TLSRoute) -> Iterator[Finding]:
    """A client never sends an address as the name of a server."""
    for index, host in enumerate(route.spec.hostnames):
        if not is_old(route) and is_address(host):
            yield Finding(
                f"spec.hostnames[{index}]", "must be a name: TLS sends no address as the server's name"
            )


CHECKS = (
    rules_of(TLSRoute, there_is_one_rule, a_host_is_named, a_host_is_no_address),
    rules_of(TCPRoute, there_is_one_rule),
    rules_of(UDPRoute, there_is_one_rule),
    rules_of(TLSRouteSpec, rule_names_are_unique),
    rules_of(TCPRouteSpec, rule_names_are_unique),
    rules_of(UDPRouteSpec, rule_names_are_unique),
)
