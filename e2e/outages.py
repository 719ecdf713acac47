"""What becomes of a process of the cluster, or of its network, for a while; it is well again afterwards."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager

from e2e.cluster import network
from e2e.cluster.own import Own
from e2e.cluster.tools import with_nft


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


@contextmanager
def parted(own: Own, one: Iterable[str], other: Iterable[str]) -> Iterator[None]:
    """Drop every packet between the pods at these addresses and those: nobody hears of it."""
    name, environment = own.place.name, with_nft(own.place.cache)
    network.part(name, one, other, environment)
    try:
        yield
    finally:
        network.rejoin(name, environment)
