"""What becomes of a process of the control plane for a while, and that it is well again afterwards."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from e2e.cluster.own import Own


@asynccontextmanager
async def away(own: Own, name: str) -> AsyncIterator[None]:
    """Kill it for as long as the block runs; others go on meanwhile, also while it starts again."""
    await asyncio.to_thread(own.kill, name)
    try:
        yield
    finally:
        await asyncio.to_thread(own.start, name)


@contextmanager
def paused(own: Own, name: str) -> Iterator[None]:
    """Stop it in its tracks: its connections stand, and nothing comes through them."""
    process = own.process(name).pid
    os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process, signal.SIGCONT)
