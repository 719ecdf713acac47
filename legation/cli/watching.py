"""Shows how things stand, anew at every moment."""

import asyncio
import contextlib

from rich.live import Live

from legation.cli.asking import reached
from legation.cli.drawing import drawn
from legation.cli.overviews import QUESTION, together
from legation.cli.whom import Whom

LOOK_AGAIN = 1.0  # seconds


def watch_live(whom: Whom, *, as_json: bool) -> None:
    """Show the answer anew every moment, until Ctrl-C."""
    del as_json
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_watch(whom))


async def _watch(whom: Whom) -> None:
    async with reached(whom) as ask:
        with Live(drawn(together(await ask(QUESTION))), auto_refresh=False) as live:
            while True:
                await asyncio.sleep(LOOK_AGAIN)
                live.update(drawn(together(await ask(QUESTION))), refresh=True)
