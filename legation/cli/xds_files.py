"""The flags that say what the xDS port proves itself with: demanded wherever somebody else could listen."""

import os
from ipaddress import ip_address
from pathlib import Path

from legation.addresses import HostPort
from legation.cli.terminal import fail
from legation.settings import ServerFiles

REMEDY = "give --xds-cert, --xds-key and --xds-client-ca, or an address such as 127.0.0.1:18000"


def xds_files(xds: HostPort, files: tuple[Path | None, Path | None, Path | None]) -> ServerFiles | None:
    """Read certificate, key and client CA as they were given; none are needed on loopback."""
    cert, key, client_ca = files
    if cert is None and key is None and client_ca is None:
        if not _is_loopback(xds.host):
            fail(f"--xds {xds} is not on loopback, so it needs mutual TLS", REMEDY)
        return None
    if cert is None or key is None or client_ca is None:
        fail("of --xds-cert, --xds-key and --xds-client-ca, all are needed or none", REMEDY)
    for each in (cert, key, client_ca):
        if not os.access(each, os.R_OK):
            fail(f"{each} cannot be read")
    return ServerFiles(cert, key, client_ca)


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
