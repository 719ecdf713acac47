"""What is asked of XBackends."""

from collections.abc import Iterator

from translator.objects.admission.finding import Finding, fits, rules_of
from translator.objects.admission.metadata import is_qualified
from translator.objects.x_backend import (
    BackendPort,
    BackendSpec,
    BackendTLS,
    EndpointSelectorBackend,
    ExternalHostnameBackend,
)


def the_destination_fits_the_type(spec: BackendSpec) -> Iterator[Finding]:
    """Exactly the destination that the type names is there."""
    fields = {
        "ExternalHostname": ("externalHostname", spec.external_hostname),
        "EndpointSelector": ("endpointSelector", spec.endpoint_selector),
    }
    return fits(spec.type, fields)


def the_protocol_fits_the_tls(spec: BackendSpec) -> Iterator[Finding]:
    """Protocols that say whether there is TLS are right about it."""
    encrypted = spec.tls.mode != "None"
    if spec.protocol == "H2C" and encrypted:
        yield Finding("", "protocol H2C is HTTP/2 without TLS: use HTTP2, or leave tls out")
    if spec.protocol in ("HTTP2", "WSS") and not encrypted:
        yield Finding("", f"protocol {spec.protocol} needs tls")


def sessions_are_kept_by_pods(spec: BackendSpec) -> Iterator[Finding]:
    """Only pods that are told apart keep sessions."""
    if spec.session_persistence is not None and spec.type != "EndpointSelector":
        yield Finding("", "sessionPersistence needs type EndpointSelector")


def tls_is_complete(tls: BackendTLS) -> Iterator[Finding]:
    """What the mode needs is there, and nothing else."""
    if (tls.mode == "ClientAndServer") != (tls.client_certificate_ref is not None):
        yield Finding("", "clientCertificateRef goes with mode ClientAndServer, and with no other")
    if (tls.mode == "None") != (tls.validation is None):
        yield Finding("", "validation goes with modes ServerOnly and ClientAndServer, and must be there")


def a_port_is_named(port: BackendPort) -> Iterator[Finding]:
    """A port says at least one thing."""
    if port.number is None:
        yield Finding("", "must have a number")


def a_hostname_leads_out(external: ExternalHostnameBackend) -> Iterator[Finding]:
    """Names of the cluster's own Services are no external ones."""
    if external.hostname.endswith(".cluster.local"):
        yield Finding("hostname", "must not end with .cluster.local: refer to the Service itself")


def labels_are_labels(selector: EndpointSelectorBackend) -> Iterator[Finding]:
    """There is something to select by, with keys that labels can have."""
    if not selector.match_labels:
        yield Finding("matchLabels", "must have at least one label")
    for key in selector.match_labels:
        if not is_qualified(key):
            yield Finding("matchLabels", f"{key!r} is no key of a label")


CHECKS = (
    rules_of(
        BackendSpec, the_destination_fits_the_type, the_protocol_fits_the_tls, sessions_are_kept_by_pods
    ),
    rules_of(BackendTLS, tls_is_complete),
    rules_of(BackendPort, a_port_is_named),
    rules_of(ExternalHostnameBackend, a_hostname_leads_out),
    rules_of(EndpointSelectorBackend, labels_are_labels),
)
