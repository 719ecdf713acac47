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
from legation.cli.terminal import CANNOT_TELL, PROBLEMS, fail, out
from legation.standing import Overview, read_overview

WITHIN = aiohttp.ClientTimeout(total=5)
LOOK_AGAIN = 1.0  # seconds


def show(admin: HostPort, *, as_json: bool) -> None:
    """Show the answer once; say by the exit code whether anything is refused."""
    written = asyncio.run(ask(admin, "status"))
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
    overview = _read(await ask(admin, "status"))
    with Live(drawn(overview), auto_refresh=False) as live:
        while True:
            await asyncio.sleep(LOOK_AGAIN)
            live.update(drawn(_read(await ask(admin, "status"))), refresh=True)


async def ask(admin: HostPort, what: str, code: int = CANNOT_TELL) -> bytes:
    """Return what the admin port says about something; exit with this code where it says nothing."""
    url = f"http://{admin}/api/v1/{what}"
    try:
        async with aiohttp.ClientSession(timeout=WITHIN) as session, session.get(url) as answer:
            if answer.status != HTTPStatus.OK:
                fail(f"{url} answers {answer.status}", "is it the admin port of `legation up`?", code=code)
            return await answer.read()
    except (OSError, aiohttp.ClientError, TimeoutError) as error:
        fail(
            f"nobody answers at {url}: {error}",
            "is `legation up` running? Name its port with --admin HOST:PORT",
            code=code,
        )


def _read(written: bytes) -> Overview:
    try:
        return read_overview(written)
    except msgspec.MsgspecError as error:
        fail(f"the answer is not what was expected: {error}", "use the same version of `legation` for both")
