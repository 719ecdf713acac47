"""Waiting for what only looking can tell, because nobody tells it."""

import asyncio
from collections.abc import Callable

SOON = 120.0  # seconds, for a machine that does much else; it passes in failure only
PAUSE = 0.005


async def eventually(holds: Callable[[], object], within: float = SOON) -> None:
    """Look until it holds."""
    async with asyncio.timeout(within):
        while not holds():  # noqa: ASYNC110  # what sets no event
            await asyncio.sleep(PAUSE)
