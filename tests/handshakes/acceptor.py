"""A server whose connections all end when it does."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

from tests.loopback import LOOPBACK

Pair = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@asynccontextmanager
async def accepting(
    serve: Callable[[Pair], Awaitable[None]], tls: ssl.SSLContext | None = None, address: str = LOOPBACK
) -> AsyncIterator[int]:
    """Serve each connection until it has nothing more to say; yields the port."""
    left = (asyncio.IncompleteReadError, ConnectionError, ssl.SSLError)
    tasks: set[asyncio.Task[None]] = set()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None, "a server calls this in a task"
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        try:
            with suppress(*left, asyncio.CancelledError):  # the other side left, or the server ends
                if tls is not None:  # here, so that a handshake that never ends is ended with its task
                    await writer.start_tls(tls)
                await serve((reader, writer))
        finally:
            writer.close()

    server = await asyncio.start_server(accept, address, 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
