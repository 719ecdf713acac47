"""`legation status`: how a running `legation up` stands."""

from enum import Enum
from typing import Annotated

import typer

from legation.addresses import HostPort
from legation.cli.terminal import host_port
from legation.settings import ADMIN

EXAMPLES = """
Examples:

`legation status` once; `legation status --watch` until Ctrl-C

`legation status -o json` for machines

Exit codes: 0 nothing to look at, 1 something is refused, 2 nobody answers
"""


class Output(Enum):
    """How to write it."""

    TEXT = "text"
    JSON = "json"


def status(
    *,
    admin: Annotated[
        HostPort, typer.Option(parser=host_port, metavar="HOST:PORT", help="Where `up` answers.")
    ] = ADMIN,
    output: Annotated[Output, typer.Option("--output", "-o", help="How to write it.")] = Output.TEXT,
    watch: Annotated[bool, typer.Option("--watch", help="Show it live, until Ctrl-C.")] = False,
) -> None:
    """Show Gateways, routes, policies and Envoys of a running `legation up`."""
    from legation.cli.asking import show, watch_live  # noqa: PLC0415  # slow to import

    if watch:
        watch_live(admin)
    else:
        show(admin, as_json=output is Output.JSON)
