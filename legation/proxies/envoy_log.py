"""What an Envoy writes, as lines of our own log."""

import asyncio
from asyncio.subprocess import Process
from collections.abc import AsyncGenerator
from types import MappingProxyType

from structlog.typing import FilteringBoundLogger

LONGEST_LINE = 64 * 1024
LEVELS = MappingProxyType({
    "trace": "debug",
    "debug": "debug",
    "info": "info",
    "warning": "warning",
    "error": "error",
    "critical": "critical",
})  # fmt: skip


async def relay(process: Process, log: FilteringBoundLogger) -> None:
    """Write down every line until the process ends: its own words by their level, access logs as they are."""
    assert process.stdout is not None, "started with pipes"
    assert process.stderr is not None, "started with pipes"
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(_words(process.stderr, log))
        tasks.create_task(_access(process.stdout, log))


async def _words(stream: asyncio.StreamReader, log: FilteringBoundLogger) -> None:
    async for line in _lines(stream):
        first, _, rest = line.partition(" ")
        level = LEVELS.get(first)
        getattr(log, level or "info")("envoy", line=rest if level else line)


async def _access(stream: asyncio.StreamReader, log: FilteringBoundLogger) -> None:
    async for line in _lines(stream):
        log.info("access", line=line)


async def _lines(stream: asyncio.StreamReader) -> AsyncGenerator[str]:
    """Split what comes into lines; one without an end is cut, not waited for."""
    rest = b""
    while chunk := await stream.read(LONGEST_LINE):
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line.decode(errors="replace")
        if len(rest) > LONGEST_LINE:
            yield rest.decode(errors="replace")
            rest = b""
    if rest:
        yield rest.decode(errors="replace")
