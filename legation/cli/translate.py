"""`legation translate`: what Envoys would be sent for some manifests, without any Envoy."""

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from legation.cli.terminal import must_hold_manifests

EXAMPLES = """
Examples:

`legation translate shop/`: what Envoy gets, as YAML; private keys are left out

`legation translate -o tree shop/`: what leads where

`legation translate -o status shop.yaml`: the objects with the status they would have

Exit codes: 0 translated, 1 some manifests could not be read (the others are translated), 2 cannot tell
"""


class Output(Enum):
    """What to write."""

    YAML = "yaml"
    JSON = "json"
    TREE = "tree"
    STATUS = "status"


def translate(
    paths: Annotated[list[Path], typer.Argument(help="Manifests, or folders of them.")],
    *,
    output: Annotated[Output, typer.Option("--output", "-o", help="What to write.")] = Output.YAML,
) -> None:
    """Translate manifests offline and print the result; no Envoy runs."""
    must_hold_manifests(paths, "give the path of a manifest, or of a folder of them")
    from legation.cli.translating import print_translated  # noqa: PLC0415  # slow to import

    print_translated(paths, output)
