"""`legation audit`: what proves each backend."""

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from legation.addresses import HostPort
from legation.cli.terminal import host_port
from legation.settings import ADMIN

EXAMPLES = """
Examples:

`legation audit shop/` of manifests, offline; `legation audit` of a running `legation up`

`legation audit -o json shop/` for machines; `legation audit --cleartext shop/` where everything must be TLS

Exit codes: 0 every backend is proved, or refused; 1 cannot tell; 2 some are unverified, or not by name
"""


class Output(Enum):
    """How to write it."""

    TEXT = "text"
    JSON = "json"


def audit(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(help="Manifests, or folders of them; without any, what `up` serves."),
    ] = None,
    *,
    admin: Annotated[
        HostPort, typer.Option(parser=host_port, metavar="HOST:PORT", help="Where `up` answers.")
    ] = ADMIN,
    output: Annotated[Output, typer.Option("--output", "-o", help="How to write it.")] = Output.TEXT,
    cleartext: Annotated[
        bool, typer.Option("--cleartext", help="Count backends without TLS among the unverified.")
    ] = False,
) -> None:
    """List every way to a backend and what proves it, unverified and weakened ones first."""
    from legation.cli.auditing import served, show, translated  # noqa: PLC0415  # slow to import

    hops = translated(paths) if paths else served(admin)
    show(hops, as_json=output is Output.JSON, cleartext=cleartext)
