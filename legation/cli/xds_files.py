"""The flags that say what the xDS port proves itself with: all of them, or none."""

import os
from pathlib import Path

from legation.addresses import HostPort
from legation.cli.terminal import fail
from legation.settings import ServerFiles

REMEDY = "give --xds-cert, --xds-key and --xds-client-ca, or an address such as 127.0.0.1:18000"
NO_PORT = "give --xds HOST:PORT, too, or leave them out"

Given = tuple[Path | None, Path | None, Path | None]


def needed_xds_files(xds: HostPort | None, files: Given) -> ServerFiles | None:
    """Check what was given, which must be something wherever somebody else could listen."""
    if xds is None:
        if any(files):
            fail("--xds-cert, --xds-key and --xds-client-ca are for a port that --xds names", NO_PORT)
        return None
    found = xds_files(files)
    if found is None and not xds.is_loopback:
        fail(f"--xds {xds} is not on loopback, so it needs mutual TLS", REMEDY)
    return found


def xds_files(files: Given) -> ServerFiles | None:
    """Check certificate, key and client CA as they were given."""
    cert, key, client_ca = files
    if cert is None and key is None and client_ca is None:
        return None
    if cert is None or key is None or client_ca is None:
        fail("of --xds-cert, --xds-key and --xds-client-ca, all are needed or none", REMEDY)
    for each in (cert, key, client_ca):
        if not os.access(each, os.R_OK):
            fail(f"{each} cannot be read", "give the path of a file that this user may read")
    return ServerFiles(cert, key, client_ca)
