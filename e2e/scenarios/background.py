"""What goes on beside a test that waits for other things."""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import TypeVar

T = TypeVar("T")


@contextmanager
def beside(opening: AbstractAsyncContextManager[T]) -> Iterator[T]:
    """Hold something open on an event loop of its own, in a thread of its own."""
    opened: Future[tuple[T, Callable[[], object]]] = Future()

    async def hold() -> None:
        over, loop = asyncio.Event(), asyncio.get_running_loop()
        try:
            async with opening as thing:
                opened.set_result((thing, lambda: loop.call_soon_threadsafe(over.set)))
                await over.wait()
        except BaseException as error:
            if not opened.done():
                opened.set_exception(error)
            raise

    with ThreadPoolExecutor(1) as thread:
        holding = thread.submit(asyncio.run, hold())
        thing, end = opened.result()
        try:
            yield thing
        finally:
            end()
            holding.result()
