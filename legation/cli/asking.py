"""Asks a running `legation up` how it stands, and shows the answer."""

import asyncio
import contextlib
from http import HTTPStatus

import aiohttp
import msgspec
import typer
from rich.live import Live

from legation.addresses import HostPort
from legation.cli.drawing import drawn, print_findings, print_overview
from legation.cli.terminal import PROBLEMS, fail, out
from legation.standing import Overview, read_overview

WITHIN = aiohttp.ClientTimeout(total=5)
LOOK_AGAIN = 1.0  # seconds


def show(admin: HostPort, *, as_json: bool) -> None:
    """Show the answer once; say by the exit code whether anything is refused."""
    written = asyncio.run(_ask(admin))
    overview = _read(written)
    if as_json:
        typer.echo(msgspec.json.format(written).decode())
    else:
        print_overview(out(), overview)
        print_findings(out(), overview.findings)
    if any(each.is_problem for each in overview.findings):
        raise typer.Exit(PROBLEMS)


def watch_live(admin: HostPort) -> None:
    """Show the answer anew every moment, until Ctrl-C."""
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_watch(admin))


async def _watch(admin: HostPort) -> None:
    overview = _read(await _ask(admin))
    with Live(drawn(overview), auto_refresh=False) as live:
        while True:
            await asyncio.sleep(LOOK_AGAIN)
            live.update(drawn(_read(await _ask(admin))), refresh=True)


async def _ask(admin: HostPort) -> bytes:
    url = f"http://{admin}/api/v1/status"
    try:
        async with aiohttp.ClientSession(timeout=WITHIN) as session, session.get(url) as answer:
            if answer.status != HTTPStatus.OK:
                fail(f"{url} answers {answer.status}", "is it the admin port of `legation up`?")
            return await answer.read()
    except (OSError, aiohttp.ClientError, TimeoutError) as error:
        fail(
            f"nobody answers at {url}: {error}",
            "is `legation up` running? Name its port with --admin HOST:PORT",
        )


def _read(written: bytes) -> Overview:
    try:
        return read_overview(written)
    except msgspec.MsgspecError as error:
        fail(f"the answer is not what was expected: {error}", "use the same version of `legation` for both")
