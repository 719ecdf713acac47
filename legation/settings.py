"""What `legation up` was asked to do."""

from pathlib import Path

from msgspec import Struct

from legation.addresses import HostPort

LOOPBACK = "127.0.0.1"
ADMIN = HostPort(LOOPBACK, 19080)


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
