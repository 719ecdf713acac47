"""Where traffic goes: a backendRef is a port with the TLS that is due there, or it is refused."""

from enum import Enum
from typing import NamedTuple

from translator.memo import query
from translator.names import Name, Ref, ServicePort
from translator.objects.backend_tls_policy import BackendTLSPolicy
from translator.objects.grpc_route import GRPCBackendRef
from translator.objects.http_route import HTTPBackendRef
from translator.objects.references import GATEWAY_GROUP, BackendRef
from translator.objects.service import Service
from translator.objects.x_backend import X_GROUP, XBackend
from translator.rules import x_backends
from translator.rules.backend_tls import winner
from translator.rules.endpoints import service_port
from translator.rules.external_names import unsafe
from translator.rules.grants import Pointee, Pointer, permitted
from translator.rules.insecure_verification import Weakness, weakness
from translator.rules.open_ports import GROUPS, SERVICE, open_ports
from translator.rules.sessions import Cookie, Header
from translator.verdict import Refused, our_fault
from translator.world import World


class Protocol(Enum):
    """What is spoken to a backend, inside TLS where there is any."""

    __hash__ = object.__hash__  # that of Enum is written in Python, and names of results have these in them

    HTTP = "http"
    HTTP2 = "h2"
    TCP = "tcp"
    UDP = "udp"


class Backend(NamedTuple):
    """A port as one kind of traffic reaches it: equal ones share a cluster, whatever leads there."""

    port: ServicePort
    protocol: Protocol
    policy: Name | None  # the BackendTLSPolicy that won this port: what TLS must prove there, or why it fails
    own_tls: bool = False  # the backend says itself what TLS must prove there
    by_name: bool = False  # it is found by a DNS name, where a Gateway may lead to such
    weakness: Weakness | None = None  # what it leaves out of the proof

    @property
    def decided_by(self) -> Ref | None:
        """The object that says what TLS must prove there; None where nobody asks for any."""
        if self.policy is not None:
            return Ref("BackendTLSPolicy", self.policy)
        return self.port.owner if self.own_tls else None

    def __str__(self) -> str:
        """Name the cluster by what it is: a plaintext cluster and a TLS cluster never share a name."""
        evident = self.protocol in (Protocol.HTTP, Protocol.UDP)  # the port of a datagram says so already
        protocol = "" if evident else f"/{self.protocol.value}"
        tls = f"+{self.policy.name}" if self.policy else "+tls" if self.own_tls else ""
        weakness = f"/{self.weakness.value}" if self.weakness else ""
        return f"{self.port}{protocol}{tls}{weakness}"


class Share(NamedTuple):
    """What one backendRef gets of the traffic; a refused one fails exactly its part."""

    target: Backend | Refused
    weight: int
    session: Cookie | Header | None = None  # by which requests of one session come to one of its endpoints


class Traffic(Enum):
    """What a route does with a connection to a backend: it decides what is spoken, and who speaks TLS."""

    __hash__ = object.__hash__  # that of Enum is written in Python, and names of results have these in them

    HTTP = "HTTPRoute"
    GRPC = "GRPCRoute"
    TERMINATED = "TLSRoute in Terminate mode"
    PASSTHROUGH = "TLSRoute in Passthrough mode"
    TCP = "TCPRoute"
    UDP = "UDPRoute"


TRAFFIC = {each.value: each for each in Traffic}  # that of HTTPRoutes and of GRPCRoutes by their kind
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

TOLD_BY_HTTP = {  # what an XBackend's protocol says to requests
    "HTTP": Protocol.HTTP,
    "HTTP11": Protocol.HTTP,
    "MCP": Protocol.HTTP,
    "WSS": Protocol.HTTP,
    "HTTP2": Protocol.HTTP2,
    "H2C": Protocol.HTTP2,
    "GRPC": Protocol.HTTP2,
}
TOLD_BY_GRPC = dict.fromkeys(("HTTP", "HTTP2", "H2C", "GRPC"), Protocol.HTTP2)  # and to calls


def shares(
    world: World, route: Ref, refs: tuple[BackendRef | HTTPBackendRef | GRPCBackendRef, ...], traffic: Traffic
) -> tuple[Share, ...]:
    """Return what each backendRef of a rule gets, in their order."""
    pointer = Pointer(GATEWAY_GROUP, route.kind, route.name.namespace)
    return tuple([
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
    ])  # fmt: skip


@query
def resolve(
    world: World, pointer: Pointer, pointee: Pointee, port: int | None, traffic: Traffic
) -> Backend | Refused:
    """Follow one backendRef: the one door that every kind of route goes through."""
    match (pointee.group, pointee.kind):
        case (group, kind) if GROUPS.get(kind) == group:
            return _service(world, pointer, pointee, port, traffic)
        case (group, kind) if (group, kind) == (X_GROUP, x_backends.KIND):
            return _x_backend(world, pointer, pointee.name, port, traffic)
        case _:
            return Refused("InvalidKind", f"{pointee.kind} {pointee.name} is not a Service")


def _service(
    world: World, pointer: Pointer, pointee: Pointee, port: int | None, traffic: Traffic
) -> Backend | Refused:
    if not permitted(world, pointer, pointee):  # before looking, so that nothing tells whether it exists
        return Refused("RefNotPermitted", f"no ReferenceGrant allows {pointee.kind} {pointee.name}")
    owner = Ref(pointee.kind, pointee.name)
    if port is None:
        return Refused("BackendNotFound", f"{owner} needs a port")
    if open_ports(world, owner) is None:
        return Refused("BackendNotFound", f"{owner} does not exist")
    transport = "UDP" if traffic is Traffic.UDP else "TCP"
    spoken = _speak(world, ServicePort(pointee.name, port, transport, pointee.kind), traffic)
    service = world.get(Service, pointee.name) if pointee.kind == SERVICE else None
    if service is None or service.spec.type != "ExternalName" or isinstance(spoken, Refused):
        return spoken
    refusal = unsafe(service.spec.external_name)
    return _about(refusal, pointee) if refusal else spoken._replace(by_name=True)


def _x_backend(
    world: World, pointer: Pointer, name: Name, port: int | None, traffic: Traffic
) -> Backend | Refused:
    """Follow a reference to an XBackend, which says itself how it is reached."""
    found = _referred(world, pointer, name, port)
    if isinstance(found, Refused):
        return found
    own_tls, spec = x_backends.encrypts(found), found.spec
    if traffic is Traffic.UDP or (traffic is Traffic.PASSTHROUGH and own_tls):
        return Refused("UnsupportedProtocol", f"XBackend {name} cannot be reached by a {traffic.value}")
    if traffic not in (Traffic.HTTP, Traffic.GRPC) and spec.session_persistence is not None:
        why = f"XBackend {name} keeps sessions, which a {traffic.value} cannot tell apart"
        return Refused("UnsupportedValue", why)
    spoken = _told(spec.protocol, traffic)
    if spoken is None:
        said = f"XBackend {name} says protocol {spec.protocol}"
        return Refused("UnsupportedProtocol", f"{said}, which is not spoken by {traffic.value}")
    by_name = spec.external_hostname is not None
    weak = x_backends.weakness(world, name) if own_tls else None
    return Backend(x_backends.port_of(name, spec), spoken, None, own_tls, by_name, weak)


def _referred(world: World, pointer: Pointer, name: Name, port: int | None) -> XBackend | Refused:
    """Return an XBackend; no grant lets others than its own namespace's refer to it."""
    if pointer.namespace != name.namespace:
        return Refused("RefNotPermitted", f"XBackend {name} serves routes of its own namespace only")
    if port is not None:
        return Refused("UnsupportedValue", f"XBackend {name} has one port: leave it out of the reference")
    found = world.get(XBackend, name)
    if found is None:
        return Refused("BackendNotFound", f"XBackend {name} does not exist")
    refusal = x_backends.refusal(world, name)
    return _about(refusal, Pointee(X_GROUP, x_backends.KIND, name)) if refusal else found


def _about(refusal: Refused, pointee: Pointee) -> Refused:
    return Refused(refusal.reason, f"{pointee.kind} {pointee.name}: {refusal.message}")


def _told(protocol: str | None, traffic: Traffic) -> Protocol | None:
    """Settle what is spoken to an XBackend that says this protocol, if this traffic can be spoken so."""
    natural = NATURAL[traffic]
    if natural is Protocol.TCP or protocol is None:
        return natural
    return (TOLD_BY_GRPC if traffic is Traffic.GRPC else TOLD_BY_HTTP).get(protocol)


def _speak(world: World, port: ServicePort, traffic: Traffic) -> Backend | Refused:
    """Settle what is spoken at a port, and which policy governs it."""
    written = service_port(world, port)
    if written is None:
        return Refused("BackendNotFound", f"{port.owner} has no {port.transport} port {port.port}")
    natural = NATURAL[traffic]
    if traffic in (Traffic.PASSTHROUGH, Traffic.UDP):  # the client's own TLS, or none at all
        return Backend(port, natural, None)
    policy = winner(world, port)
    said = (written.app_protocol or "").lower()
    if policy is None and (refusal := _ungoverned(world, port, said, traffic)) is not None:
        return refusal
    weak = weakness(world, policy) if policy else None
    if natural is Protocol.TCP or not said:
        return Backend(port, natural, policy, weakness=weak)
    spoken = CLEAR.get(said) or ENCRYPTED.get(said)
    if spoken is None or (traffic is Traffic.GRPC and said in ("kubernetes.io/ws", "kubernetes.io/wss")):
        return Refused(
            "UnsupportedProtocol",
            f"{port} says {said} by its appProtocol, which is not spoken by {traffic.value}",
        )
    return Backend(port, Protocol.HTTP2 if natural is Protocol.HTTP2 else spoken, policy, weakness=weak)


def _ungoverned(world: World, port: ServicePort, said: str, traffic: Traffic) -> Refused | None:
    """Refuse a port without a policy that says TLS, or that a policy may be for which is missed."""
    if world.misses(BackendTLSPolicy, port.service.namespace):
        return our_fault(f"{port}: a BackendTLSPolicy that may be for it could not be taken up, so it")
    if said in ENCRYPTED and traffic is not Traffic.TCP:
        why = f"{port} says {said} by its appProtocol, and no BackendTLSPolicy says what TLS must prove there"
        return Refused("UnsupportedProtocol", why)
    return None
