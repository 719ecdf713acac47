"""What is asked of Gateways beyond their listeners."""

import re
from collections.abc import Iterator

from translator.objects.admission.finding import Finding, rules_of
from translator.objects.admission.metadata import is_domain, is_qualified
from translator.objects.gateway import (
    FrontendTLSValidation,
    GatewayInfrastructure,
    GatewaySpec,
    GatewaySpecAddress,
)
from translator.objects.scalars import HOSTNAME, is_address

_LONGEST_PREFIX = 252
_NO_BREAK = re.compile(r"[^\n]+")


def an_address_is_one(address: GatewaySpecAddress) -> Iterator[Finding]:
    """An address of type IPAddress is written as one."""
    if address.type == "IPAddress" and address.value is not None and not is_ip(address.value):
        yield Finding(
            "value", "must be an IP address, such as 192.0.2.1 or 2001:db8::1; else set type to Hostname"
        )


def is_ip(text: str) -> bool:
    """Say whether a text is an IPv4 or IPv6 address, without a zone."""
    return is_address(text) and "%" not in text


def a_hostname_is_one(address: GatewaySpecAddress) -> Iterator[Finding]:
    """An address of type Hostname is written as one."""
    if address.type == "Hostname" and address.value is not None and not HOSTNAME.fullmatch(address.value):
        yield Finding("value", "must be a DNS name in lower case, such as gw.example.com; or leave it out")


def routability_is_known(address: GatewaySpecAddress) -> Iterator[Finding]:
    """How far an address reaches is `Cluster`, or a word of an implementation with its domain in front."""
    if address.routability in {None, "", "Cluster"}:
        return
    domain, _, word = str(address.routability).partition("/")
    reserved = domain == "k8s.io" or domain.endswith(".k8s.io")
    if reserved or not is_domain(domain) or not _NO_BREAK.fullmatch(word):
        yield Finding("routability", "must be Cluster, or a name with a domain in front that is not k8s.io")


def addresses_are_asked_for_once(spec: GatewaySpec) -> Iterator[Finding]:
    """The same address is not asked for twice."""
    seen: set[tuple[str, str]] = set()
    for index, address in enumerate(spec.addresses):
        if address.type not in {"IPAddress", "Hostname"} or address.value is None:
            continue
        if (address.type, address.value) in seen:
            yield Finding(f"addresses[{index}]", "is asked for twice: remove one")
        seen.add((address.type, address.value))


def keys_are_well_formed(infrastructure: GatewayInfrastructure) -> Iterator[Finding]:
    """Labels and annotations for the proxies have keys that Kubernetes takes."""
    for field, keys in (("labels", infrastructure.labels), ("annotations", infrastructure.annotations)):
        for key in keys:
            if not is_qualified(key) or len(key.split("/")[0]) > _LONGEST_PREFIX:
                yield Finding(f"{field}[{key[:60]}]", "must have a key such as app or example.com/app")


def a_trust_bundle_has_no_namespace(validation: FrontendTLSValidation) -> Iterator[Finding]:
    """A ClusterTrustBundle belongs to the whole cluster."""
    for index, ref in enumerate(validation.ca_certificate_refs):
        bundle = (ref.group, ref.kind) == ("certificates.k8s.io", "ClusterTrustBundle")
        if bundle and ref.namespace is not None:
            yield Finding(
                f"caCertificateRefs[{index}].namespace", "must be left out for a ClusterTrustBundle"
            )


CHECKS = (
    rules_of(GatewaySpecAddress, an_address_is_one, a_hostname_is_one, routability_is_known),
    rules_of(GatewaySpec, addresses_are_asked_for_once),
    rules_of(GatewayInfrastructure, keys_are_well_formed),
    rules_of(FrontendTLSValidation, a_trust_bundle_has_no_namespace),
)
