"""What is asked of Services."""

import re
from collections.abc import Iterator

from translator.objects.admission.compare import shortened
from translator.objects.admission.finding import Finding, rules_of
from translator.objects.admission.gateways import is_ip
from translator.objects.admission.metadata import is_domain, is_label, is_qualified
from translator.objects.service import ServicePort, ServiceSpec

_HIGHEST_PORT = 65535
_LONGEST_PORT_NAME = 15
_MOST_FAMILIES = 2
_PORT_NAME = re.compile(r"(?=.*[a-z])[a-z0-9](?:-?[a-z0-9])*+")


def there_are_ports(spec: ServiceSpec) -> Iterator[Finding]:
    """A Service leads somewhere, unless it is headless or only another name."""
    if not spec.ports and spec.type != "ExternalName" and spec.cluster_ip != "None":
        yield Finding("ports", "is required: add at least one port")


def ports_are_told_apart(spec: ServiceSpec) -> Iterator[Finding]:
    """Of several ports each has a name of its own, and a number of its own for its protocol."""
    names: set[str] = set()
    numbers: set[tuple[str, int]] = set()
    for index, port in enumerate(spec.ports):
        at = f"ports[{index}]"
        if not port.name and len(spec.ports) > 1:
            yield Finding(f"{at}.name", "is required where a Service has more than one port")
        if port.name and port.name in names:
            yield Finding(f"{at}.name", f'must be unique within the Service, and "{port.name}" is taken')
        if (port.protocol, port.port) in numbers:
            yield Finding(at, f"repeats {port.protocol} port {port.port}: remove one")
        names.add(port.name)
        numbers.add((port.protocol, port.port))


def a_port_is_well_named(port: ServicePort) -> Iterator[Finding]:
    """The name of a port, and of its protocol, has the form Kubernetes asks for."""
    if port.name and not is_label(port.name):
        yield Finding("name", f'must be a DNS label, such as https, and is "{shortened(port.name)}"')
    if port.app_protocol is not None and not is_qualified(port.app_protocol):
        yield Finding("appProtocol", "must be a name such as https or kubernetes.io/h2c")


def a_target_is_a_port(port: ServicePort) -> Iterator[Finding]:
    """A target is a number or a name that a container's port can have."""
    match port.target_port:
        case int(number) if not 1 <= number <= _HIGHEST_PORT:
            yield Finding("targetPort", f"must be a number from 1 to {_HIGHEST_PORT}, or the name of a port")
        case str(name) if len(name) > _LONGEST_PORT_NAME or not _PORT_NAME.fullmatch(name):
            remedy = ": remove the quotes" if name.isdecimal() else ""
            yield Finding(
                "targetPort", f"must be a number, or a name of up to 15 characters with a letter{remedy}"
            )
        case int() | str() | None:
            pass


def an_external_name_is_one(spec: ServiceSpec) -> Iterator[Finding]:
    """A Service that is only another name says which, and has no address of its own."""
    if spec.type != "ExternalName":
        return
    if not is_domain(spec.external_name.removesuffix(".")):
        yield Finding("externalName", "is required where type is ExternalName: give a DNS name in lower case")
    if spec.cluster_ip or spec.cluster_ips:
        yield Finding("clusterIP", "must be left out where type is ExternalName")


def cluster_addresses_are_some(spec: ServiceSpec) -> Iterator[Finding]:
    """The address of a Service is an IP address, or `None` for a headless one."""
    if spec.cluster_ip not in {"", "None"} and not is_ip(spec.cluster_ip):
        yield Finding("clusterIP", "must be an IP address or None, or be left out")
    for index, address in enumerate(spec.cluster_ips):
        if address != "None" and not is_ip(address):
            yield Finding(f"clusterIPs[{index}]", "must be an IP address or None")
    if len(spec.cluster_ips) > _MOST_FAMILIES:
        yield Finding("clusterIPs", "must have at most one address of each family")
    if spec.cluster_ips and spec.cluster_ips[0] != spec.cluster_ip:
        yield Finding("clusterIP", "must be the first of clusterIPs: leave clusterIPs out")
    if spec.cluster_ip == "None" and spec.type in {"NodePort", "LoadBalancer"}:
        yield Finding("clusterIP", f"must not be None where type is {spec.type}")


def families_are_distinct(spec: ServiceSpec) -> Iterator[Finding]:
    """A family is asked for once."""
    if len(set(spec.ip_families)) < len(spec.ip_families):
        yield Finding("ipFamilies", "must name each family once")


def node_ports_only_where_nodes_listen(spec: ServiceSpec) -> Iterator[Finding]:
    """A Service of type ClusterIP is not reachable at the nodes."""
    for index, port in enumerate(spec.ports):
        if port.node_port and spec.type == "ClusterIP":
            yield Finding(f"ports[{index}].nodePort", "must be left out where type is ClusterIP")


CHECKS = (
    rules_of(ServicePort, a_port_is_well_named, a_target_is_a_port),
    rules_of(
        ServiceSpec,
        there_are_ports,
        ports_are_told_apart,
        an_external_name_is_one,
        cluster_addresses_are_some,
        families_are_distinct,
        node_ports_only_where_nodes_listen,
    ),
)
