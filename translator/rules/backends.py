"""Where traffic goes: a backendRef is a Service port with the TLS that is due there, or it is refused."""

from enum import Enum
from typing import NamedTuple

from translator.memo import query
from translator.names import Name, Ref, ServicePort
from translator.objects.grpc_route import GRPCBackendRef
from translator.objects.http_route import HTTPBackendRef
from translator.objects.references import GATEWAY_GROUP, BackendRef
from translator.objects.service import Service
from translator.rules.backend_tls import winner
from translator.rules.endpoints import service_port
from translator.rules.grants import Pointee, Pointer, permitted
from translator.verdict import Refused
from translator.world import World


class Protocol(Enum):
    """What is spoken to a backend, inside TLS where there is any."""

    HTTP = "http"
    HTTP2 = "h2"
    TCP = "tcp"
    UDP = "udp"


class Backend(NamedTuple):
    """A Service port as one kind of traffic reaches it: equal ones share a cluster, whatever leads there."""

    port: ServicePort
    protocol: Protocol
    policy: Name | None  # the BackendTLSPolicy that won this port: what TLS must prove there, or why it fails

    def __str__(self) -> str:
        """Name the cluster by what it is: a plaintext cluster and a TLS cluster never share a name."""
        evident = self.protocol in (Protocol.HTTP, Protocol.UDP)  # the port of a datagram says so already
        protocol = "" if evident else f"/{self.protocol.value}"
        return f"{self.port}{protocol}{f'+{self.policy.name}' if self.policy else ''}"


class Share(NamedTuple):
    """What one backendRef gets of the traffic; a refused one fails exactly its part."""

    target: Backend | Refused
    weight: int


class Traffic(Enum):
    """What a route does with a connection to a backend: it decides what is spoken, and who speaks TLS."""

    HTTP = "HTTPRoute"
    GRPC = "GRPCRoute"
    TERMINATED = "TLSRoute in Terminate mode"
    PASSTHROUGH = "TLSRoute in Passthrough mode"
    TCP = "TCPRoute"
    UDP = "UDPRoute"


NATURAL = {
    Traffic.HTTP: Protocol.HTTP,
    Traffic.GRPC: Protocol.HTTP2,
    Traffic.TERMINATED: Protocol.TCP,
    Traffic.PASSTHROUGH: Protocol.TCP,
    Traffic.TCP: Protocol.TCP,
    Traffic.UDP: Protocol.UDP,
}
CLEAR = {  # what a Service port's appProtocol says of HTTP
    "http": Protocol.HTTP,
    "kubernetes.io/ws": Protocol.HTTP,
    "kubernetes.io/h2c": Protocol.HTTP2,
    "h2c": Protocol.HTTP2,
    "http2": Protocol.HTTP2,
    "grpc": Protocol.HTTP2,
}
ENCRYPTED = {  # and of TLS, which only a policy can open
    "https": Protocol.HTTP,
    "kubernetes.io/wss": Protocol.HTTP,
    "tls": Protocol.HTTP,
    "ssl": Protocol.HTTP,
    "h2": Protocol.HTTP2,
    "grpcs": Protocol.HTTP2,
}


def shares(
    world: World, route: Ref, refs: tuple[BackendRef | HTTPBackendRef | GRPCBackendRef, ...], traffic: Traffic
) -> tuple[Share, ...]:
    """Return what each backendRef of a rule gets, in their order."""
    pointer = Pointer(GATEWAY_GROUP, route.kind, route.name.namespace)
    return tuple(
        Share(
            resolve(
                world,
                pointer,
                Pointee(ref.group, ref.kind, Name(ref.namespace or pointer.namespace, ref.name)),
                ref.port,
                traffic,
            ),
            ref.weight,
        )
        for ref in refs
    )


@query
def resolve(
    world: World, pointer: Pointer, pointee: Pointee, port: int | None, traffic: Traffic
) -> Backend | Refused:
    """Follow one backendRef: the one door that every kind of route goes through."""
    if (pointee.group, pointee.kind) != ("", "Service"):
        return Refused("InvalidKind", f"{pointee.kind} {pointee.name} is not a Service")
    if not permitted(world, pointer, pointee):  # before looking, so that nothing tells whether it exists
        return Refused("RefNotPermitted", f"no ReferenceGrant allows Service {pointee.name}")
    if port is None:
        return Refused("BackendNotFound", f"Service {pointee.name} needs a port")
    service = world.get(Service, pointee.name)
    if service is None:
        return Refused("BackendNotFound", f"Service {pointee.name} does not exist")
    if service.spec.type == "ExternalName":
        return Refused(
            "BackendNotFound", f"Service {pointee.name} is an ExternalName, which is not supported yet"
        )
    transport = "UDP" if traffic is Traffic.UDP else "TCP"
    return _speak(world, ServicePort(pointee.name, port, transport), traffic)


def _speak(world: World, port: ServicePort, traffic: Traffic) -> Backend | Refused:
    """Settle what is spoken at a port, and which policy governs it."""
    written = service_port(world, port)
    if written is None:
        return Refused("BackendNotFound", f"Service {port.service} has no {port.transport} port {port.port}")
    natural = NATURAL[traffic]
    if traffic in (Traffic.PASSTHROUGH, Traffic.UDP):  # the client's own TLS, or none at all
        return Backend(port, natural, None)
    policy = winner(world, port)
    said = (written.app_protocol or "").lower()
    if said in ENCRYPTED and policy is None and traffic is not Traffic.TCP:
        why = f"{port} says {said} by its appProtocol, and no BackendTLSPolicy says what TLS must prove there"
        return Refused("UnsupportedProtocol", why)
    if natural is Protocol.TCP or not said:
        return Backend(port, natural, policy)
    spoken = CLEAR.get(said) or ENCRYPTED.get(said)
    if spoken is None or (traffic is Traffic.GRPC and said in ("kubernetes.io/ws", "kubernetes.io/wss")):
        return Refused(
            "UnsupportedProtocol",
            f"{port} says {said} by its appProtocol, which is not spoken by {traffic.value}",
        )
    return Backend(port, Protocol.HTTP2 if natural is Protocol.HTTP2 else spoken, policy)
