"""`legation explain`: why something is or is not served."""

from pathlib import Path
from typing import Annotated

import typer

from legation.cli.terminal import Output, Written
from legation.cli.whom import RULE_OF_PATHS, Admin, Cluster, Context, Kubeconfig, Namespace, whom

EXAMPLES = f"""
Examples:

`legation explain httproute/shop/cart shop/`: of manifests, offline; without a folder, of what runs

`legation explain https://shop.example/cart`: its way; `-X POST -H 'Accept: text/html'` as in curl

`legation explain backendtlspolicy/shop/pay`: what it governs, and who lost to it; `svc/shop/pay`

{RULE_OF_PATHS}
Exit codes: 0 served, 1 not served as written, 2 cannot tell
"""


def _completed(context: typer.Context, incomplete: str) -> list[str]:
    from legation.cli.completing import names  # noqa: PLC0415  # slow to import

    return names(context, incomplete)


def explain(  # noqa: PLR0913  # one argument for each flag
    what: Annotated[
        str,
        typer.Argument(metavar="KIND/NAMESPACE/NAME|URL", help="What to explain.", autocompletion=_completed),
    ],
    paths: Annotated[list[Path] | None, typer.Argument(help="Manifests, or folders of them.")] = None,
    *,
    method: Annotated[str, typer.Option("--method", "-X", help="Of the request.")] = "GET",
    header: Annotated[
        list[str] | None, typer.Option("--header", "-H", metavar="NAME: VALUE", help="Of the request.")
    ] = None,
    output: Written = Output.TEXT,
    admin: Admin = None,
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    namespace: Namespace = "",
) -> None:
    """Say why an object or a URL is or is not served: by whom, how far it gets, and what helps."""
    asked = whom(paths or (), admin, Cluster(kubeconfig, context, namespace))
    from legation.cli.explaining import served, show, written  # noqa: PLC0415  # slow to import
    from legation.explain.question import Question  # noqa: PLC0415  # slow to import

    question = Question(what, method, tuple(header or ()))
    answer = served(asked, question) if asked else written(paths or (), question)
    show(answer, for_machines=output is Output.JSON)
