"""A Service in one process: a port whose connections go to one replica after the other."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from itertools import count


class Balancer:
    """Whose turn it is; replicas may be added while it runs."""

    def __init__(self, ports: list[int]) -> None:
        self.port = 0
        self._ports = ports
        self._turns = count()
        self._open: set[asyncio.Task[None]] = set()

    def add(self, port: int) -> None:
        """Have new connections go there, too."""
        self._ports.append(port)

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Take a connection on."""
        task = asyncio.ensure_future(self._carry(reader, writer))
        self._open.add(task)
        task.add_done_callback(self._open.discard)

    async def close(self) -> None:
        """Close what is open."""
        for task in (closing := list(self._open)):
            task.cancel()
        await asyncio.gather(*closing, return_exceptions=True)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry one connection to the replica whose turn it is, until either end closes it."""
        port = self._ports[next(self._turns) % len(self._ports)]
        async with AsyncExitStack() as open_ends:
            open_ends.push_async_callback(_close, writer)
            there, here = await asyncio.open_connection("127.0.0.1", port)
            open_ends.push_async_callback(_close, here)
            carrying = [asyncio.ensure_future(_pour(*way)) for way in ((reader, here), (there, writer))]
            for task in carrying:
                open_ends.callback(task.cancel)
            await asyncio.wait(carrying, return_when=asyncio.FIRST_COMPLETED)


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()


async def _pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while some := await reader.read(1 << 16):
            writer.write(some)
            await writer.drain()


@asynccontextmanager
async def balancing(*ports: int) -> AsyncIterator[Balancer]:
    """Balance over these ports of this machine while the block runs."""
    balancer = Balancer(list(ports))
    server = await asyncio.start_server(balancer.accept, "127.0.0.1", 0)
    balancer.port = server.sockets[0].getsockname()[1]
    try:
        yield balancer
    finally:
        server.close()
        await balancer.close()
