"""`legation check`: what is wrong, with manifests before anything is served, or with what is served."""

from pathlib import Path
from typing import Annotated

import typer

from legation.cli.terminal import Output, Written
from legation.cli.whom import RULE_OF_PATHS, Admin, Cluster, Context, Kubeconfig, Namespace, whom

EXAMPLES = f"""
Examples:

`legation check shop/`: one folder; `legation check base/ shop.yaml`: several, as if they were one

`legation check --strict shop/`: counts remarks, and what is without effect, as problems

`legation check --context production`: what is served in a cluster; `legation check -o json`: for machines

{RULE_OF_PATHS}
Exit codes: 0 fine, 1 problems, 2 cannot tell
"""


def check(  # noqa: PLR0913  # one argument for each flag
    paths: Annotated[list[Path] | None, typer.Argument(help="Manifests, or folders of them.")] = None,
    *,
    output: Written = Output.TEXT,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 for remarks, too.")] = False,
    admin: Admin = None,
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    namespace: Namespace = "",
) -> None:
    """Name everything that is not, or would not be, served as written, with the remedy."""
    asked = whom(paths or (), admin, Cluster(kubeconfig, context, namespace))
    from legation.cli.checking import served, show, written  # noqa: PLC0415  # slow to import

    show(served(asked) if asked else written(paths or ()), as_json=output is Output.JSON, strict=strict)
