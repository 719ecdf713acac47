"""Backends that routes lead to, and that are not what the route takes them for."""

from collections.abc import Iterable, Iterator

from translator.advice.checks import REMARK, Advice, Check
from translator.advice.ways import Way, ways
from translator.names import ServicePort
from translator.objects import service
from translator.objects.endpoint_slice import EndpointSlice
from translator.rules.backends import CLEAR, Backend, Traffic
from translator.rules.endpoints import endpoints, service_port
from translator.rules.open_ports import GROUPS, open_ports
from translator.world import World

NO_ENDPOINTS = Check(
    "backend-without-endpoints",
    REMARK,
    "a port that routes lead to, and behind which nobody is ready",
    "see whether its pods run and are ready, and whether the Service's selector and targetPort are theirs",
)
LOOKS_ENCRYPTED = Check(
    "backend-looks-encrypted",
    REMARK,
    "a port that is called as if TLS were spoken there, and is reached in cleartext",
    "add a BackendTLSPolicy for the Service, or say by the port's appProtocol that it is http",
)
LOOKS_CLEAR = Check(
    "backend-looks-clear",
    REMARK,
    "a port where cleartext seems to be spoken, and to which the client's own TLS is passed on",
    "lead to the port that speaks TLS, or end TLS at the Gateway: tls.mode Terminate",
)
CHECKS = (NO_ENDPOINTS, LOOKS_ENCRYPTED, LOOKS_CLEAR)

TLS_PORTS, CLEAR_PORTS = (443, 8443, 9443), (80, 8080)
TLS_NAMES, CLEAR_NAMES = ("https", "tls", "ssl", "grpcs"), ("http", "h2c", "grpc")
OPENED = frozenset({Traffic.HTTP, Traffic.GRPC, Traffic.TERMINATED})  # by the Gateway, with TLS or without


def backends(world: World) -> Iterator[Advice]:
    """Tell of each port once, with the first way there."""
    seen: set[tuple[Backend, Traffic]] = set()
    told: set[tuple[Check, ServicePort]] = set()
    for way in ways(world):
        port, kind = way.backend.port, (way.backend, way.traffic)
        found = _remarks(world, way) if kind not in seen else ()
        seen.add(kind)
        for check, message in found:
            if (check, port) not in told:
                told.add((check, port))
                yield Advice(check, port.owner, _field(world, port), message)


def _remarks(world: World, way: Way) -> Iterator[tuple[Check, str]]:
    port = way.backend.port
    written = service_port(world, port)
    if port.kind not in GROUPS or written is None:
        return
    leads = f"and {way.route} leads there by {way.field}"
    # Files for a cluster have no endpoints at all: they are nobody's mistake.
    if world.names(EndpointSlice) and not way.backend.by_name and not endpoints(world, port):
        yield NO_ENDPOINTS, f"{port} has no endpoint that is ready, {leads}"
    if way.traffic in OPENED and way.backend.policy is None and _looks_encrypted(written):
        name = written.name or "without a name"
        yield LOOKS_ENCRYPTED, f"{port} ({name}) is reached in cleartext, {leads}"
    if way.traffic is Traffic.PASSTHROUGH and _looks_clear(written):
        yield LOOKS_CLEAR, f"{port} gets the client's own TLS, {leads}"


def _looks_encrypted(port: service.ServicePort) -> bool:
    return not port.app_protocol and _called(port, TLS_NAMES, TLS_PORTS)


def _looks_clear(port: service.ServicePort) -> bool:
    if port.app_protocol:
        return port.app_protocol.lower() in CLEAR
    return _called(port, CLEAR_NAMES, CLEAR_PORTS)


def _called(port: service.ServicePort, names: Iterable[str], numbers: Iterable[int]) -> bool:
    """Say whether a port is called so: by its name, or else by its number."""
    known = (*TLS_NAMES, *CLEAR_NAMES)
    word = port.name.partition("-")[0]
    return word in names if word in known else port.port in numbers


def _field(world: World, port: ServicePort) -> str:
    ports = open_ports(world, port.owner) or ()
    places = (n for n, each in enumerate(ports) if (each.port, each.protocol) == (port.port, port.transport))
    return f"spec.ports[{next(places, 0)}]"
