"""What `legation up` and `legation run` were asked to do."""

from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from legation.addresses import HostPort
from legation.telemetry.otlp_settings import Traces

LOOPBACK = "127.0.0.1"
ADMIN = HostPort(LOOPBACK, 19080)


class LogFormat(StrEnum):
    """How lines of the log are written."""

    AUTO = "auto"  # for people on a terminal, for machines elsewhere
    JSON = "json"
    TEXT = "text"


class ServerFiles(Struct, frozen=True):
    """Where the xDS port finds what it proves itself with, and whose Envoys it believes."""

    certificate: Path
    key: Path
    client_ca: Path


class Settings(Struct, frozen=True):
    """One run of everything on this machine."""

    folder: Path
    address: str = LOOPBACK
    port_offset: int = 0
    admin: HostPort = ADMIN
    xds: HostPort | None = None
    xds_files: ServerFiles | None = None
    envoy: Path | None = None  # none is started without one
    check: bool = False
    verbose: bool = False
    log_format: LogFormat = LogFormat.AUTO
    audit_log: str = ""  # where the audit record goes: a file, or `-`; nowhere without it
    traces: Traces | None = None


EVERYWHERE = "0.0.0.0"  # noqa: S104  # a pod is asked at its own address
RUN_ADMIN = HostPort(EVERYWHERE, 19080)
RUN_XDS = HostPort(EVERYWHERE, 18000)
SERVICE = "legation"
ENVOY_IMAGE = "envoyproxy/envoy:v1.40.0"
CONNECTION_AGE = 900.0  # seconds


class RunSettings(Struct, frozen=True):
    """One replica of the control plane in a cluster."""

    namespace: str  # where the Lease lies
    kubeconfig: Path | None = None  # without one, what a pod is given, or else what kubectl uses
    watched: tuple[str, ...] = ()  # namespaces; all of them if none is named
    admin: HostPort = RUN_ADMIN
    xds: HostPort = RUN_XDS
    xds_files: ServerFiles | None = None  # without them, we are our own authority, save on loopback
    service: str = SERVICE  # by which proxies in the cluster reach the xDS port
    envoy_image: str = ENVOY_IMAGE
    connection_age: float | None = CONNECTION_AGE  # after at most this, Envoys connect anew; None is never
    verbose: bool = False
    log_format: LogFormat = LogFormat.AUTO
    audit_log: str = ""  # as above
    traces: Traces | None = None

    @property
    def proxies_listen_at(self) -> str:
        """Where Envoys listen: in IPv6, too, if we do. Kernels that lack it would refuse every listener."""
        return "::" if ":" in self.xds.host else EVERYWHERE

    @property
    def is_authority(self) -> bool:
        """Whether Gateways get identities of ours, and proxies that show them."""
        return self.xds_files is None and not self.xds.is_loopback
