"""Where traffic goes: a backendRef is a Service port with the TLS that is due there, or it is refused."""

from enum import Enum
from typing import NamedTuple

from translator.names import Name, ServicePort
from translator.verdict import Refused


class Protocol(Enum):
    """What is spoken to a backend, inside TLS where there is any."""

    HTTP = "http"
    HTTP2 = "h2"
    TCP = "tcp"
    UDP = "udp"


class Backend(NamedTuple):
    """A Service port as one kind of traffic reaches it; equal ones share one cluster, whatever routes lead there."""

    port: ServicePort
    protocol: Protocol
    policy: (
        Name | None
    )  # the BackendTLSPolicy that won this port; its verdict says what TLS must prove, or refuses

    def __str__(self) -> str:
        """Name the cluster by what it is, so that a plaintext cluster and a TLS cluster never share a name."""
        protocol = "" if self.protocol is Protocol.HTTP else f"/{self.protocol.value}"
        return f"{self.port}{protocol}{f'+{self.policy.name}' if self.policy else ''}"


class Share(NamedTuple):
    """What one backendRef gets of the traffic; a refused one fails exactly its part."""

    target: Backend | Refused
    weight: int
