"""Backends that are found by DNS names: who permits them, and names that nobody may send anything to.

Whoever may write a route could have the Gateway's Envoys speak to whatever they can reach, so the operator
must permit it, in GatewayParameters; of a class and its Gateway the stricter one holds. Names are refused all
the same that say themselves where they lead: back to Envoy's own machine, to a cloud's metadata, or past
ReferenceGrants. What others resolve to is known to Envoy only, when it connects: network policies judge that.
"""

import re
from collections.abc import Iterator
from ipaddress import AddressValueError, IPv4Address

from translator.memo import query
from translator.names import Name, Ref, ServicePort
from translator.objects.scalars import DNS_DOMAIN
from translator.objects.service import Service
from translator.objects.x_backend import XBackend
from translator.rules.parameters import said
from translator.verdict import Refused
from translator.world import World

FORBIDDEN, UNSAFE = "ExternalNamesForbidden", "UnsafeExternalName"
PERMIT = "Permit"
LONGEST = 253

_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")  # the last label of what resolvers read as an address
_WRITTEN = re.compile(r"(?<![0-9])([0-9]{1,3})[.-]([0-9]{1,3})[.-]([0-9]{1,3})[.-]([0-9]{1,3})(?![0-9])")
_OWN_MACHINE = ("localhost", "localdomain", "localtest.me", "lvh.me", "vcap.me")
_ECHOES = ("nip.io", "sslip.io", "xip.io")  # their answer is whatever address is written in the question
_CLUSTER = ("local", "svc")  # `.cluster.local`, `.clusterset.local`: what grants are for
_METADATA = ("metadata.google.internal", "metadata.goog", "instance-data.ec2.internal")


@query
def forbidden(world: World, gateway: Name, target: Ref) -> Refused | None:
    """Say why a Gateway may not lead to what is found by a DNS name, if so."""
    words = [
        (each.where, each.spec.external_names) for each in said(world, gateway) if each.spec.external_names
    ]
    for where, word in words:
        if word != PERMIT:
            return Refused(
                FORBIDDEN, f"{target} is found by its DNS name, which GatewayParameters {where} forbid"
            )
    if words:
        return None
    remedy = f"let GatewayParameters of Gateway {gateway} or of its class say externalNames: {PERMIT}"
    return Refused(FORBIDDEN, f"{target} is found by its DNS name, which nobody permits: {remedy}")


@query
def hostname(world: World, port: ServicePort) -> str | None:
    """Return the DNS name that a backend is found by, if it is, written so that nothing is added to it."""
    if port.kind == "XBackend":
        found = world.get(XBackend, port.service)
        external = found.spec.external_hostname if found else None
        return _whole(external.hostname) if external else None
    service = world.get(Service, port.service)
    is_external = service is not None and service.spec.type == "ExternalName"
    return _whole(service.spec.external_name) if service and is_external else None


def unsafe(name: str) -> Refused | None:
    """Say why nobody may send anything to a DNS name, if so."""
    plain = name.lower().removesuffix(".")
    if len(plain) > LONGEST or not DNS_DOMAIN.fullmatch(plain):
        return Refused(UNSAFE, f"{name!r} is no DNS name")
    if (wrong := next(_faults(plain), None)) is not None:
        return Refused(UNSAFE, f"{name} {wrong}")
    return None


def _faults(name: str) -> Iterator[str]:
    """Say what is wrong with a name, each as the end of a sentence."""
    if _NUMBER.fullmatch(name.rpartition(".")[2]):
        yield "is an IP address: use a Service with an EndpointSlice"
    if _is_below(name, _OWN_MACHINE) or any(map(_leads_back, _WRITTEN.findall(name))):
        yield "leads to Envoy's own machine or link, which is nobody's backend"
    if _is_below(name, _ECHOES):
        yield "stands for the address that is written in it: use a Service with an EndpointSlice"
    if _is_below(name, _METADATA):
        yield "leads to a cloud's metadata, which is nobody's backend"
    if _is_below(name, _CLUSTER):
        yield "is a name within the cluster: refer to the Service itself"
    if "." not in name:
        yield "is no whole name: give its domain, too"


def _whole(name: str) -> str:
    """End a name with a dot, so that no search list makes another one of it."""
    return f"{name.lower().removesuffix('.')}."


def _is_below(name: str, domains: tuple[str, ...]) -> bool:
    return any(name == domain or name.endswith(f".{domain}") for domain in domains)


def _leads_back(written: tuple[str, ...]) -> bool:
    """Tell whether an address that is written in a name, as in `127-0-0-1.test`, is one of this machine."""
    try:
        address = IPv4Address(".".join(str(int(each)) for each in written))
    except AddressValueError:
        return False
    return address.is_loopback or address.is_link_local or address.is_unspecified
