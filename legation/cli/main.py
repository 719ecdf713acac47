"""`legation`: every command under one name."""

import errno
import os
import signal
import sys
from contextlib import suppress
from importlib.metadata import version
from types import FrameType
from typing import Annotated, NoReturn

import typer

from legation.cli import audit, bootstrap, check, completion, explain, pin, run, status, translate, up
from legation.cli.terminal import CANNOT_TELL
from legation.collection import look_at_the_young_only

# gRPC takes no bound for versions of TLS, only cipher suites of 1.2, and those once, when it is imported:
# with nothing but one that needs a shared key, which nobody has, 1.3 is all that is left.
ONLY_TLS_1_3 = ("GRPC_SSL_CIPHER_SUITES", "ECDHE-PSK-AES128-CBC-SHA")
FIRST = 1  # the process of a container that no signal ends which it does not handle itself
UNWRITABLE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
MAKE_ROOM = "make room on that disk, or print to another"
PRINTED = 1  # the descriptor of standard output
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
app.command("run", epilog=run.EXAMPLES)(run.run)
app.command("translate", epilog=translate.EXAMPLES)(translate.translate)
app.command("check", epilog=check.EXAMPLES)(check.check)
app.command("explain", epilog=explain.EXAMPLES)(explain.explain)
app.command("status", epilog=status.EXAMPLES)(status.status)
app.command("audit", epilog=audit.EXAMPLES)(audit.audit)
app.command("pin", epilog=pin.EXAMPLES)(pin.pin)
app.command("completion", epilog=completion.EXAMPLES)(completion.completion)
app.command("bootstrap", epilog=bootstrap.EXAMPLES)(bootstrap.bootstrap)


def _end(number: int, _: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)


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
    if os.getpid() == FIRST:
        signal.signal(signal.SIGTERM, _end)
    os.environ.setdefault(*ONLY_TLS_1_3)
    look_at_the_young_only()
    try:
        app()
    except OSError as error:
        if error.errno not in UNWRITABLE or error.filename:
            raise
        _unwritten(error)


def _unwritten(error: OSError) -> NoReturn:
    """Say that nobody took what was to be printed."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), PRINTED)  # what is buffered yet would be tried again at the end
    with suppress(OSError):  # perhaps nobody takes this, either
        typer.echo(f"error: nothing more can be printed: {error.strerror}\n  {MAKE_ROOM}", err=True)
    sys.exit(audit.CANNOT_TELL if sys.argv[1:2] == ["audit"] else CANNOT_TELL)
