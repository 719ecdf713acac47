"""`legation pin`: what to write into a policy that pins a backend."""

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from legation.disk import stamp_of

EXAMPLES = """
Examples:

`legation pin pay.shop.svc:8443`: what a backend shows now; `--server-name pay.internal` asks for a name

`legation pin spare.pub`: a key in reserve; a certificate or a request for one will do as well

`legation pin -o json 127.0.0.1:8443`: for machines

Exit codes: 0 there is something to pin, 2 cannot tell
"""


class Output(Enum):
    """How to write it."""

    YAML = "yaml"
    JSON = "json"


def pin(
    source: Annotated[str, typer.Argument(metavar="HOST:PORT|FILE", help="Who shows it, or what holds it.")],
    *,
    server_name: Annotated[
        str | None, typer.Option("--server-name", metavar="NAME", help="The name to ask a server for.")
    ] = None,
    output: Annotated[Output, typer.Option("--output", "-o", help="How to write it.")] = Output.YAML,
) -> None:
    """Print the pins of a backend's certificate and of its public key, ready for a BackendTLSPolicy."""
    from legation.cli.pinning import print_pins  # noqa: PLC0415  # slow to import

    is_file = stamp_of(Path(source)) is not None
    print_pins(Path(source) if is_file else source, server_name, as_json=output is Output.JSON)
