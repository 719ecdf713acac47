"""What is asked of listeners, of a Gateway and of a ListenerSet alike."""

from collections.abc import Iterator

from translator.objects.admission.finding import Finding, rules_of
from translator.objects.gateway import GatewaySpec
from translator.objects.listener_set import ListenerSetSpec
from translator.objects.listeners import Listener, ListenerTLSConfig


def tls_only_where_it_is_spoken(listener: Listener) -> Iterator[Finding]:
    """Plain protocols have no TLS settings."""
    if listener.protocol in {"HTTP", "TCP", "UDP"} and listener.tls is not None:
        yield Finding(
            "tls", f"must be left out for protocol {listener.protocol}: remove it, or use HTTPS or TLS"
        )


def https_is_terminated(listener: Listener) -> Iterator[Finding]:
    """HTTP inside TLS can be read only where TLS ends."""
    if listener.protocol == "HTTPS" and listener.tls is not None and listener.tls.mode != "Terminate":
        yield Finding(
            "tls.mode", "must be Terminate for protocol HTTPS; to pass TLS through, use protocol TLS"
        )


def tls_says_how(listener: Listener) -> Iterator[Finding]:
    """A TLS listener ends the connection or passes it through."""
    if listener.protocol == "TLS" and listener.tls is None:
        yield Finding("tls", "is required for protocol TLS: set mode to Terminate or Passthrough")


def hostname_only_where_one_is_sent(listener: Listener) -> Iterator[Finding]:
    """In TCP and UDP nobody says which host is meant."""
    if listener.protocol in {"TCP", "UDP"} and listener.hostname:
        yield Finding(
            "hostname", f"must be left out for protocol {listener.protocol}, in which no host is named"
        )


def filters_only_for_http(spec: GatewaySpec) -> Iterator[Finding]:
    """Filters see requests, which only HTTP has; the published rule is about Gateways, not ListenerSets."""
    for index, listener in enumerate(spec.listeners):
        if listener.filters is not None and listener.protocol not in {"HTTP", "HTTPS"}:
            yield Finding(f"listeners[{index}].filters", "must be left out unless protocol is HTTP or HTTPS")


def terminating_needs_a_certificate(tls: ListenerTLSConfig) -> Iterator[Finding]:
    """Who ends TLS shows a certificate."""
    if tls.mode == "Terminate" and not tls.certificate_refs and not tls.options:
        yield Finding(
            "certificateRefs", "is required where mode is Terminate: name a Secret of type kubernetes.io/tls"
        )


def listeners_are_distinct(spec: GatewaySpec | ListenerSetSpec) -> Iterator[Finding]:
    """Of one port, protocol and host there is one listener."""
    first: dict[tuple[int, str, str | None], str] = {}
    for index, listener in enumerate(spec.listeners):
        where = (listener.port, listener.protocol, listener.hostname)
        if where in first:
            yield Finding(
                f"listeners[{index}]",
                f'has the port, protocol and hostname of listener "{first[where]}": change one of them',
            )
        first.setdefault(where, listener.name)


CHECKS = (
    rules_of(
        Listener,
        tls_only_where_it_is_spoken,
        https_is_terminated,
        tls_says_how,
        hostname_only_where_one_is_sent,
    ),
    rules_of(ListenerTLSConfig, terminating_needs_a_certificate),
    rules_of(GatewaySpec, listeners_are_distinct, filters_only_for_http),
    rules_of(ListenerSetSpec, listeners_are_distinct),
)
