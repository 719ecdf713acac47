"""Where somebody listens, and what is needed to be let in."""

from ipaddress import ip_address
from pathlib import Path

from msgspec import Struct


class Socket(Struct, frozen=True):
    """A Unix domain socket."""

    path: Path


class HostPort(Struct, frozen=True):
    """An address and a port."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether nobody but this machine reaches it."""
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    def __str__(self) -> str:
        """As people write it, an IPv6 address in brackets."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class ClientFiles(Struct, frozen=True):
    """Where an Envoy finds what it proves itself with, and whom it believes to be the control plane."""

    certificate: Path
    key: Path
    server_ca: Path
    server_name: str


class WatchedFiles(Struct, frozen=True):
    """The same, renewed while Envoy runs; `secrets` is where it finds the files that tell of them."""

    files: ClientFiles
    secrets: Path

    @property
    def server_name(self) -> str:
        """What the control plane must prove to be."""
        return self.files.server_name
