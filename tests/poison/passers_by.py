"""Clients of somebody who is quiet: they ask without end while another is hostile."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.loopback import ask


@asynccontextmanager
async def asking(port: int, host: str, path: str = "/", more_than: int = 0) -> AsyncIterator[None]:
    """Ask all the while; nothing but the right answer may come, and that more than so many times."""
    said = Counter[tuple[int, str]]()

    async def without_end() -> None:
        while True:
            answer = await ask(port, path, {"host": host})
            said[answer.status, answer.body] += 1

    traffic = asyncio.create_task(without_end())
    try:
        yield
        assert not traffic.done(), traffic
    finally:
        traffic.cancel()
        await asyncio.wait([traffic])
    assert said.keys() == {(200, "store")}
    assert said.total() > more_than
