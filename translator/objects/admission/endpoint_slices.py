"""What is asked of EndpointSlices; loopback addresses are welcome, for files describe one machine as well."""

import ipaddress
from collections.abc import Iterator

from translator.objects.admission.compare import shortened
from translator.objects.admission.finding import Finding, rules_of
from translator.objects.admission.metadata import is_domain, is_label, is_qualified
from translator.objects.endpoint_slice import EndpointPort, EndpointSlice


def addresses_fit_the_type(slice_: EndpointSlice) -> Iterator[Finding]:
    """Every address is of the slice's type, and can be connected to."""
    for index, endpoint in enumerate(slice_.endpoints or ()):
        for position, address in enumerate(endpoint.addresses):
            if not _fits(address, slice_.address_type):
                message = (
                    f'must be an {slice_.address_type} address to connect to, and is "{shortened(address)}"'
                )
                yield Finding(f"endpoints[{index}].addresses[{position}]", message)


def _fits(address: str, type_: str) -> bool:
    if type_ == "FQDN":
        return is_domain(address.removesuffix(".")) and "." in address.removesuffix(".")
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    reachable = not (parsed.is_unspecified or parsed.is_multicast or parsed.is_link_local or "%" in address)
    return reachable and type_ == f"IPv{parsed.version}"


def ports_are_told_apart(slice_: EndpointSlice) -> Iterator[Finding]:
    """Each port has a name of its own; one may have none."""
    names: set[str] = set()
    for index, port in enumerate(slice_.ports or ()):
        if port.name in names:
            yield Finding(
                f"ports[{index}].name", f'must be unique within the slice, and "{port.name}" is taken'
            )
        names.add(port.name)


def a_port_is_well_named(port: EndpointPort) -> Iterator[Finding]:
    """The name of a port, and of its protocol, has the form Kubernetes asks for."""
    if port.name and not is_label(port.name):
        yield Finding("name", f'must be a DNS label, such as https, and is "{shortened(port.name)}"')
    if port.app_protocol is not None and not is_qualified(port.app_protocol):
        yield Finding("appProtocol", "must be a name such as https or kubernetes.io/h2c")


CHECKS = (
    rules_of(EndpointSlice, addresses_fit_the_type, ports_are_told_apart),
    rules_of(EndpointPort, a_port_is_well_named),
)
