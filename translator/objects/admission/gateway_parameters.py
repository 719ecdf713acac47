"""What is asked of GatewayParameters, as their CRD asks it."""

from collections.abc import Iterator

from translator.objects.admission.finding import Finding, rules_of
from translator.objects.durations import milliseconds
from translator.objects.gateway_parameters import (
    AutoscalingParameters,
    BackendTLSParameters,
    EnvoyParameters,
    GatewayParametersSpec,
    ListenerParameters,
    RequestRateParameters,
    ServiceParameters,
)

BRIEFEST = 50  # milliseconds between two refills of Envoy's buckets


def a_selector_selects_for_something(backend_tls: BackendTLSParameters) -> Iterator[Finding]:
    """Namespaces are selected for what is permitted."""
    if backend_tls.namespace_selector is not None and backend_tls.insecure_verification != "Permit":
        yield Finding("", "namespaceSelector says where Permit holds; it means nothing without it")


def there_are_not_fewer_than_the_fewest(autoscaling: AutoscalingParameters) -> Iterator[Finding]:
    """The bounds of an autoscaler are in order."""
    if autoscaling.min_replicas > autoscaling.max_replicas:
        yield Finding("", "minReplicas must not be above maxReplicas")


def one_thing_says_how_many(envoy: EnvoyParameters) -> Iterator[Finding]:
    """The number of proxies is set, or chosen by an autoscaler."""
    if envoy.replicas is not None and envoy.autoscaling is not None:
        yield Finding("", "replicas and autoscaling both say how many proxies there are; set one of them")


def a_bucket_is_refilled(rate: RequestRateParameters) -> Iterator[Finding]:
    """Requests come back often enough for Envoy to count them, and seldom enough."""
    if milliseconds(rate.per) < BRIEFEST:
        yield Finding("", "per must be 50ms or more")
    if rate.burst is not None and rate.burst < rate.requests:
        yield Finding("", "burst must not be below requests")


def a_listener_is_known_only_later(listener: ListenerParameters) -> Iterator[Finding]:
    """The PROXY protocol is read before anybody knows which listener a connection is for."""
    if listener.clients.proxy_protocol is not None:
        yield Finding(
            "",
            "connections begin before it is known which listener they are for; say proxyProtocol in ports",
        )


def what_is_said_is_read(spec: GatewayParametersSpec) -> Iterator[Finding]:
    """How proxies are run is said of those that are run here."""
    if spec.proxies == "External" and (spec.envoy, spec.service) != (EnvoyParameters(), ServiceParameters()):
        yield Finding(
            "", "envoy and service say how proxies are managed; with proxies External, nothing reads them"
        )


CHECKS = (
    rules_of(BackendTLSParameters, a_selector_selects_for_something),
    rules_of(AutoscalingParameters, there_are_not_fewer_than_the_fewest),
    rules_of(EnvoyParameters, one_thing_says_how_many),
    rules_of(RequestRateParameters, a_bucket_is_refilled),
    rules_of(ListenerParameters, a_listener_is_known_only_later),
    rules_of(GatewayParametersSpec, what_is_said_is_read),
)
