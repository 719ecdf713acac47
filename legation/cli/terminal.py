"""What commands have in common when they speak: where to, in which colours, and how they fail."""

from typing import NoReturn

import typer
from rich.console import Console
from rich.markup import escape

from legation.addresses import HostPort

PROBLEMS, CANNOT_TELL = 1, 2  # exit codes
NO_ADDRESS = "write HOST:PORT, such as 127.0.0.1:19080 or [::1]:19080"


def out(*, stderr: bool = False) -> Console:
    """Speak to whoever reads the result, or beside it; coloured on a terminal only."""
    return Console(stderr=stderr, soft_wrap=True, highlight=False, emoji=False)  # `:ab:` is a fingerprint


def fail(what: str, remedy: str = "", code: int = CANNOT_TELL) -> NoReturn:
    """Say on stderr what is in the way, and what to do; exit."""
    console = out(stderr=True)
    console.print(f"[red]error:[/red] {escape(what)}")
    if remedy:
        console.print(f"  {escape(remedy)}")
    raise typer.Exit(code)


def host_port(text: str | HostPort) -> HostPort:
    """Read HOST:PORT; an IPv6 address stands in brackets. A default has been read already."""
    if isinstance(text, HostPort):
        return text
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:  # noqa: PLR2004  # the highest port there is
        raise typer.BadParameter(NO_ADDRESS)
    return HostPort(host.strip("[]") or "127.0.0.1", int(port))
