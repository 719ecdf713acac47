"""What commands have in common when they speak: where to, how wide, in which colours, and how they fail.

A terminal gets lines that break at words. Whoever else reads gets whole ones: nothing is cut off.
"""

from collections.abc import Iterator, Sequence
from enum import Enum
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderHook
from rich.markup import escape
from rich.segment import Segment
from rich.text import Text

from legation.addresses import HostPort
from legation.disk import SUFFIXES, list_manifests, out_of_reach
from legation.telemetry.logs import harmless

PROBLEMS, CANNOT_TELL = 1, 2  # exit codes
ENDLESS = 1 << 16  # columns
HANG = 2  # columns that the rest of a line is indented by, beyond its beginning
FILES_OF_MANIFESTS = f"name a folder with files that end in {', '.join(sorted(SUFFIXES))}"
NO_ADDRESS = "write HOST:PORT, such as 127.0.0.1:19080 or [::1]:19080"


class Output(Enum):
    """How to write what was found."""

    TEXT = "text"
    JSON = "json"


Written = Annotated[Output, typer.Option("--output", "-o", help="How to write it.")]


def out(*, stderr: bool = False) -> Console:
    """Speak to whoever reads the result, or beside it; coloured on a terminal only."""
    console = Console(stderr=stderr, soft_wrap=True, highlight=False, emoji=False)  # `:ab:` is a fingerprint
    console.push_render_hook(_Harmless())
    return console


def fail(what: str, remedy: str, code: int = CANNOT_TELL) -> NoReturn:
    """Say on stderr what is in the way, and what to do; exit."""
    console = out(stderr=True)
    console.print(f"[red]error:[/red] {escape(what)}")
    console.print(f"  {escape(remedy)}")
    raise typer.Exit(code)


def must_exist(path: Path, remedy: str, code: int = CANNOT_TELL) -> None:
    """Exit where there is no such file or folder, or nobody may look."""
    if why := out_of_reach(path, "does not exist"):
        fail(f"{path} {why}", remedy, code)


def must_hold_manifests(paths: Sequence[Path], remedy: str, code: int = CANNOT_TELL) -> None:
    """Exit where there is nothing to read: whoever names the wrong folder would be told that all is fine."""
    for path in paths:
        must_exist(path, remedy, code)
    if paths and not any(any(list_manifests(path)) for path in paths):
        fail(f"{', '.join(map(str, paths))}: no manifests are there", FILES_OF_MANIFESTS, code)


class _Harmless(RenderHook):
    """Keeps what people named their objects from steering the terminal of whoever looks at them."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        """Wrap whatever is about to be written."""
        return [_Shown(each) for each in renderables]


class _Shown:
    """Something as wide as fits, without control characters save those that `rich` itself adds."""

    def __init__(self, inner: ConsoleRenderable) -> None:
        self._inner = inner

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        inner, fitting = self._inner, options.update(width=ENDLESS)
        if console.is_terminal:
            fitting = options.update(no_wrap=False, overflow="fold")
            inner = _hanging(inner, console, options.max_width) if isinstance(inner, Text) else inner
        for text, style, control in console.render(inner, fitting):
            yield Segment(text if control else harmless(text), style, control)


def _hanging(text: Text, console: Console, width: int) -> Text:
    """Break long lines at words, and indent the rest of each."""
    lines = text.split("\n", allow_blank=True)
    return Text("\n", end=text.end).join(part for line in lines for part in _broken(line, console, width))


def _broken(line: Text, console: Console, width: int) -> Iterator[Text]:
    margin = len(line.plain) - len(line.plain.lstrip(" "))
    room = width - margin - HANG
    if line.cell_len <= width or room <= 0:
        yield line
        return
    for number, part in enumerate(line[margin:].wrap(console, room)):
        part.rstrip()
        part.pad_left(margin + (HANG if number else 0))
        yield part


def host_port(text: str | HostPort) -> HostPort:
    """Read HOST:PORT; an IPv6 address stands in brackets. A default has been read already."""
    if isinstance(text, HostPort):
        return text
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:  # noqa: PLR2004  # the highest port there is
        raise typer.BadParameter(NO_ADDRESS)
    return HostPort(host.strip("[]") or "127.0.0.1", int(port))
