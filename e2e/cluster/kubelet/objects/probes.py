"""What is asked of a container, and before its end."""

from msgspec import Struct


class HttpHeader(Struct, frozen=True):
    """A header that a probe sends."""

    name: str
    value: str


class HttpGet(Struct, frozen=True, rename="camel"):
    """A request over HTTP."""

    port: int | str
    path: str = "/"
    host: str = ""
    scheme: str = "HTTP"
    http_headers: tuple[HttpHeader, ...] = ()


class TcpSocket(Struct, frozen=True):
    """A connection."""

    port: int | str
    host: str = ""


class GrpcCheck(Struct, frozen=True):
    """A question to the gRPC health service."""

    port: int
    service: str | None = None


class Exec(Struct, frozen=True):
    """A command inside the container."""

    command: tuple[str, ...] = ()


class Sleep(Struct, frozen=True):
    """A pause before the end."""

    seconds: int


class Probe(Struct, frozen=True, rename="camel"):
    """A question asked of a container again and again."""

    exec: Exec | None = None
    http_get: HttpGet | None = None
    tcp_socket: TcpSocket | None = None
    grpc: GrpcCheck | None = None
    initial_delay_seconds: int = 0
    period_seconds: int = 10
    timeout_seconds: int = 1
    success_threshold: int = 1
    failure_threshold: int = 3
    termination_grace_period_seconds: int | None = None


class PreStop(Struct, frozen=True, rename="camel"):
    """What happens before a container is told to end."""

    exec: Exec | None = None
    http_get: HttpGet | None = None
    sleep: Sleep | None = None


class Lifecycle(Struct, frozen=True, rename="camel"):
    """What happens around the life of a container."""

    pre_stop: PreStop | None = None
