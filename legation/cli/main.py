"""`legation`: every command under one name."""

from importlib.metadata import version
from typing import Annotated

import typer

from legation.cli import bootstrap, check, status, translate, up

EPILOG = "Start with `legation up FOLDER`. Each command explains itself: `legation up --help`."

app = typer.Typer(
    name="legation",
    help="An Envoy control plane for the Gateway API.",
    epilog=EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("up", epilog=up.EXAMPLES)(up.up)
app.command("translate", epilog=translate.EXAMPLES)(translate.translate)
app.command("check", epilog=check.EXAMPLES)(check.check)
app.command("status", epilog=status.EXAMPLES)(status.status)
app.command("bootstrap", epilog=bootstrap.EXAMPLES)(bootstrap.bootstrap)


def _print_version(asked: bool) -> None:  # noqa: FBT001  # the option's value, as typer hands it over
    if asked:
        typer.echo(f"legation {version('legation')}")
        raise typer.Exit


@app.callback()
def root(
    *,
    _version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_print_version),
    ] = False,
) -> None:
    """An Envoy control plane for the Gateway API."""


def main() -> None:
    """Run the command that the arguments name."""
    app()
