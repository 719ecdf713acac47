"""`legation status`: how a running `legation up` stands."""

import asyncio
from enum import Enum
from http import HTTPStatus
from typing import Annotated

import aiohttp
import msgspec
import typer
from rich.live import Live

from legation.bootstrap import HostPort
from legation.cli.overview import drawn, print_overview
from legation.cli.terminal import PROBLEMS, fail, host_port, out, print_findings
from legation.settings import ADMIN
from legation.standing import Overview, read_overview

EXAMPLES = """
Examples:

`legation status` once; `legation status --watch` until Ctrl-C

`legation status -o json` for machines

Exit codes: 0 nothing to look at, 1 something is refused, 2 nobody answers
"""
WITHIN = aiohttp.ClientTimeout(total=5)
LOOK_AGAIN = 1.0  # seconds


class Output(Enum):
    """How to write it."""

    TEXT = "text"
    JSON = "json"


def status(
    *,
    admin: Annotated[
        HostPort, typer.Option(parser=host_port, metavar="HOST:PORT", help="Where `up` answers.")
    ] = ADMIN,
    output: Annotated[Output, typer.Option("--output", "-o", help="How to write it.")] = Output.TEXT,
    watch: Annotated[bool, typer.Option("--watch", help="Show it live, until Ctrl-C.")] = False,
) -> None:
    """Show Gateways, routes, policies and Envoys of a running `legation up`."""
    if watch:
        asyncio.run(_watch(admin))
        return
    written = asyncio.run(_ask(admin))
    overview = _read(written)
    if output is Output.JSON:
        typer.echo(msgspec.json.format(written).decode())
    else:
        print_overview(out(), overview)
        print_findings(out(), overview.findings)
    if any(each.is_problem for each in overview.findings):
        raise typer.Exit(PROBLEMS)


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
