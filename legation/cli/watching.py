"""Shows how things stand, anew at every moment: on a terminal one picture, elsewhere what changed."""

import asyncio
import contextlib
import signal
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from datetime import datetime
from time import monotonic

import typer
from msgspec import Struct
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.live import Live
from rich.segment import Segment, SegmentLines
from rich.text import Text

from legation.answers import Answers, UnansweredError
from legation.cli.asking import reached
from legation.cli.drawing import drawn, sections
from legation.cli.overviews import QUESTION, together
from legation.cli.sections import Changes, Sections, signs
from legation.cli.terminal import fail, out
from legation.cli.whom import Whom
from legation.settings import ADMIN
from legation.standing import Overview, as_json
from legation.telemetry.logs import harmless

LOOK_AGAIN = 1.0  # seconds
KEYS = "+ new, * changed, - gone; Ctrl-C ends"


class Look(Struct, frozen=True):
    """What was seen last, and when and why nothing newer can be had."""

    who: str
    overview: Overview
    at: datetime
    away: str = ""


Show = Callable[[Look], None]


def watch_live(whom: Whom, *, for_machines: bool) -> None:
    """Show the answer anew every moment, until Ctrl-C."""
    try:
        with contextlib.suppress(KeyboardInterrupt, asyncio.CancelledError):
            _watch(whom, for_machines=for_machines)
    except UnansweredError as error:  # there is no way to anybody
        fail(str(error), error.remedy)


def _watch(whom: Whom, *, for_machines: bool) -> None:
    console = out()
    if for_machines:
        asyncio.run(_follow(whom, Lines(lambda look: typer.echo(as_json(look.overview))).show))
    elif console.is_terminal:
        _on_terminal(whom)
    else:
        asyncio.run(_follow(whom, Lines(lambda look: _print(console, look)).show))


def _on_terminal(whom: Whom) -> None:
    """Draw on a screen of its own; what was seen last stays when that is gone."""
    console, picture = Console(highlight=False, emoji=False), _Picture()
    try:
        with Live(console=console, screen=True, auto_refresh=False) as live:
            asyncio.run(_follow(whom, lambda look: live.update(picture.of(look), refresh=True)))
    finally:
        if picture.last is not None:
            _print(console, picture.last)


async def _follow(whom: Whom, show: Show) -> None:
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    async with aclosing(_looks(whom)) as looks:
        async for look in looks:
            show(look)


async def _looks(whom: Whom) -> AsyncGenerator[Look]:
    """Look again and again; who answered once may be away for a while."""
    last: Look | None = None
    async with reached(whom) as ask:
        while True:
            try:
                last = _look(whom, await ask(QUESTION))
                yield last
            except UnansweredError as error:
                if last is None:
                    fail(str(error), error.remedy)
                yield Look(last.who, last.overview, last.at, str(error))
            await asyncio.sleep(LOOK_AGAIN)


def _look(whom: Whom, answers: Answers) -> Look:
    replicas = ", ".join(each.who for each in answers.told if each.who)
    return Look(replicas or str(whom.admin or ADMIN), together(answers), datetime.now().astimezone())


class Lines:
    """Passes on looks at which something is different."""

    def __init__(self, show: Show) -> None:
        """Show nothing yet."""
        self._show = show
        self._known: object = None

    def show(self, look: Look) -> None:
        """Show it, unless that was shown last; a finding may be of what stands in no table."""
        state = (signs(sections(look.overview)), look.overview.findings, look.away)
        if state != self._known:
            self._known = state
            self._show(look)


class _Picture:
    """Draws looks with a mark at what changed."""

    def __init__(self) -> None:
        self._changes = Changes()
        self.last: Look | None = None

    def of(self, look: Look) -> RenderableType:
        self.last = look
        tables = Sections(self._changes.mark(sections(look.overview), monotonic()), marked=True)
        return _Cropped(Group(_heading(look), drawn(look.overview, tables), _summary(look.overview)))


class _Cropped(Struct, frozen=True):
    """As much of something as the terminal is high, and how much is missing."""

    whole: RenderableType

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        lines = console.render_lines(self.whole, options.update(height=None), pad=False)
        height = options.height or console.height
        if len(lines) > height:
            more = Text(f"{len(lines) - height + 1} more lines: make the terminal higher", style="reverse")
            lines = [*lines[: height - 1], *console.render_lines(more, options.update(height=1), pad=False)]
        # what people named their objects must not steer the terminal, and this goes there past `out`
        shown = [[Segment(harmless(text), style) for text, style, _ in line] for line in lines]
        yield SegmentLines(shown, new_lines=True)


def _heading(look: Look) -> Text:
    heading = Text(f"{look.who}  {look.at:%H:%M:%S}  ", style="bold").append(KEYS, style="dim")
    if look.away:
        heading.append(f"\naway since {look.at:%H:%M:%S}, this is how it stood: {look.away}", style="red")
    return heading


def _summary(overview: Overview) -> Text:
    problems = sum(each.is_problem for each in overview.findings)
    words = f"{problems} to look at: legation check" if problems else "nothing to look at"
    return Text(words, style="red" if problems else "green")


def _print(console: Console, look: Look) -> None:
    console.print(_heading(look) if look.away else Text(f"{look.who}  {look.at:%H:%M:%S}", style="bold"))
    console.print(drawn(look.overview, Sections(sections(look.overview))))
    console.print(_summary(look.overview))
