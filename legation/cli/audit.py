"""`legation audit`: what proves each backend."""

from pathlib import Path
from typing import Annotated

import typer

from legation.cli.terminal import Output, Written
from legation.cli.whom import RULE_OF_PATHS, Admin, Cluster, Context, Kubeconfig, Namespace, whom

CANNOT_TELL = 1  # of all commands' exit codes only this one's are the other way round
EXAMPLES = f"""
Examples:

`legation audit shop/`: of manifests, offline; `legation audit --context production`: of what a cluster serves

`legation audit -o json shop/`: for machines; `legation audit --cleartext shop/`: where everything must be TLS

{RULE_OF_PATHS}
Exit codes: 0 every backend is proved, or refused, or has no TLS of ours; 1 cannot tell; 2 some are
unverified, or not by name, or with `--cleartext` have no TLS of ours
"""


def audit(  # noqa: PLR0913  # one argument for each flag
    paths: Annotated[list[Path] | None, typer.Argument(help="Manifests, or folders of them.")] = None,
    *,
    output: Written = Output.TEXT,
    cleartext: Annotated[
        bool, typer.Option("--cleartext", help="Count backends without TLS among the unverified.")
    ] = False,
    admin: Admin = None,
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    namespace: Namespace = "",
) -> None:
    """List every way to a backend and what proves it, unverified and weakened ones first."""
    asked = whom(paths or (), admin, Cluster(kubeconfig, context, namespace), CANNOT_TELL)
    from legation.cli.auditing import served, show, translated  # noqa: PLC0415  # slow to import

    hops = served(asked) if asked else translated(paths or ())
    show(hops, as_json=output is Output.JSON, cleartext=cleartext)
