"""What `legation up` was asked to do."""

from pathlib import Path

from msgspec import Struct

from legation.bootstrap import HostPort
from legation.identity import ServerFiles

LOOPBACK = "127.0.0.1"
ADMIN = HostPort(LOOPBACK, 19080)


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
