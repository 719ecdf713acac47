"""`legation status`: how what runs stands."""

from typing import Annotated

import typer

from legation.cli.terminal import Output, Written
from legation.cli.whom import RULE, Admin, Cluster, Context, Kubeconfig, Namespace, Whom, whom

EXAMPLES = f"""
Examples:

`legation status`: once; `legation status --watch`: until Ctrl-C, with a mark at what changes

`legation status --context production`: of a cluster; `legation status --admin 127.0.0.1:19080`: of a process

`legation status -o json`: for machines; with `--watch` a line for each change

{RULE}
Exit codes: 0 nothing to look at, 1 something is refused, 2 nobody answers
"""


def status(  # noqa: PLR0913  # one argument for each flag
    *,
    output: Written = Output.TEXT,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Show it live, until Ctrl-C.")] = False,
    admin: Admin = None,
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    namespace: Namespace = "",
) -> None:
    """Show Gateways, routes, policies and Envoys of what runs, here or in a cluster."""
    asked = whom(None, admin, Cluster(kubeconfig, context, namespace)) or Whom()
    from legation.cli.overviews import show  # noqa: PLC0415  # slow to import
    from legation.cli.watching import watch_live  # noqa: PLC0415  # slow to import

    if watch:
        watch_live(asked, for_machines=output is Output.JSON)
    else:
        show(asked, as_json=output is Output.JSON)
