"""`make demo`: TLS to a backend kept, and refused. `make try EXAMPLE=...`: an example, to play with."""

import asyncio
import json
import os
import signal
import sys
from http import HTTPStatus

import aiohttp
from rich.console import Console
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Column, Table

from demo.authority import Authority, fingerprint
from demo.stage import ADMIN, EXAMPLES, PATIENCE, Stage, staged
from legation.proxies.handshakes import Handshakes
from legation.standing import Overview

CAST = "A Gateway, a route and a BackendTLSPolicy in a folder; a real Envoy; a backend with a CA of its own."
SHOP = "http://127.0.0.1:8080/"

console = Console(highlight=False, emoji=False)


async def demo() -> None:
    """Tell the story of one BackendTLSPolicy."""
    console.print(Panel(CAST, title="Legation"))
    async with staged("backend-tls") as stage:
        console.print(f"[dim]the folder: {stage.manifests}[/dim]\n")
        await kept(stage)
        await refused(stage)
        await nobody_to_trust(stage)
        await restored(stage)
        if not os.environ.get("ONCE"):
            await play(stage)


async def kept(stage: Stage) -> None:
    """Show that the policy's proof was asked for and given."""
    seen = json.loads(await answered(HTTPStatus.OK))
    step(1, "The right CA", f"200 from backend {seen['backend']}, over TLS")
    proof = Table(Column(), Column(style="bold"), show_header=False, box=None, padding=(0, 2))
    proof.add_row("asked for (SNI)", seen["tls"]["server name"])
    proof.add_row("spoken", seen["tls"]["version"])
    proof.add_row("had to prove", "pay.internal")
    proof.add_row("to", fingerprint(stage.authority.pem))
    console.print(proof, "")


async def refused(stage: Stage) -> None:
    """Show what becomes of a backend that cannot prove who it is."""
    stage.trust(Authority("Somebody Else"))
    await answered(HTTPStatus.SERVICE_UNAVAILABLE)
    found = await stage.until(lambda overview: any(each.failed for each in handshakes(overview)))
    step(2, "Somebody else's CA", "503, and nothing in cleartext instead; the status counts why:")
    for each in handshakes(found):
        for why, number in each.failed.items():
            say(f"{each.backend}: {each.done} handshakes, [red]{number} {why}[/red]")
    console.print()


async def nobody_to_trust(stage: Stage) -> None:
    """Show what the policy says of itself when it trusts nobody that could be trusted."""
    stage.trust(Authority("Demo Authority, long ago", expired=True))
    found = await stage.until(lambda overview: "Accepted" in failing(overview))
    await answered(HTTPStatus.SERVICE_UNAVAILABLE)
    step(3, "A CA that has expired", "503, and the policy says of itself:")
    for type_, message in failing(found).items():
        say(f"[red]{type_} False[/red]  {message}")
    console.print()


async def restored(stage: Stage) -> None:
    """Put everything right again."""
    stage.trust(stage.authority)
    await answered(HTTPStatus.OK)
    step(4, "The right CA again", "200, without a restart")


async def play(stage: Stage) -> None:
    """Stay up until Ctrl-C."""
    console.print(f"\nYour turn: edit the files in [bold]{stage.manifests}[/bold], then")
    typed(f"curl -i -H 'Host: shop.example' {SHOP}")
    typed(".venv/bin/legation status --watch")
    typed(f".venv/bin/legation translate -o tree {stage.manifests}")
    console.print(f"How things stand: http://{ADMIN}/   Ctrl-C ends everything.")
    await until_interrupted()


async def try_example(name: str) -> None:
    """Run one example and say how to reach it."""
    async with staged(name) as stage:
        what, commands = about(next((EXAMPLES / name).glob("*.yaml")).read_text())
        console.print(Panel(what, title=name))
        for command in commands:
            known = command.replace("CLIENT_ROOTS", str(stage.client_roots))
            typed(known.replace("BACKEND_ROOTS", str(stage.backend_roots)))
        console.print(f"Edit the files in [bold]{stage.manifests}[/bold]. Ctrl-C ends everything.")
        if not os.environ.get("ONCE"):
            await until_interrupted()


def about(example: str) -> tuple[str, list[str]]:
    """Return what an example says of itself, and the commands that it has one try."""
    said = [line.removeprefix("# ") for line in example.splitlines() if line.startswith("#")]
    what, _, then = "\n".join(said).partition("\nThen:")
    prose = (line for line in what.splitlines() if not line.startswith("Try it:"))
    commands = (line.strip() for line in then.splitlines())
    return "\n".join(prose), [each for each in commands if not each.startswith("where ")]


async def answered(wanted: HTTPStatus) -> str:
    """Make requests until one is answered so, and return its body."""
    async with asyncio.timeout(PATIENCE), aiohttp.ClientSession(headers={"Host": "shop.example"}) as session:
        while True:
            async with session.get(SHOP) as answer:
                if answer.status == wanted:
                    return await answer.text()


def handshakes(overview: Overview) -> list[Handshakes]:
    """Return what became of TLS with each backend."""
    return [each for gateway in overview.gateways for each in gateway.handshakes]


def failing(overview: Overview) -> dict[str, str]:
    """Return what the policy says is not so, by condition."""
    about = (about for policy in overview.policies for about in policy.by)
    return {each.type: each.message for one in about for each in one.conditions if each.status == "False"}


def step(number: int, title: str, outcome: str) -> None:
    """Announce one step with what came of it."""
    console.print(f"[green]✓[/green] [bold]{number}. {title}[/bold]: {outcome}")


def typed(command: str) -> None:
    """Show what somebody may type, in a line of its own that can be copied whole, however narrow it is."""
    console.print(f"  {command}", markup=False, soft_wrap=True)


def say(text: str) -> None:
    """Add to a step, below it."""
    console.print(Padding(text, (0, 0, 0, 4)))


async def until_interrupted() -> None:
    """Wait for Ctrl-C or SIGTERM."""
    ended = asyncio.Event()
    for each in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(each, ended.set)
    await ended.wait()


def main() -> None:
    """Run the demo, or the example that was named."""
    names = sorted(each.name for each in EXAMPLES.iterdir() if each.is_dir() and each.name != "broken")
    match sys.argv[1:]:
        case []:
            asyncio.run(demo())
        case [name] if name in names:
            asyncio.run(try_example(name))
        case _:
            sys.exit(f"usage: make demo, or make try EXAMPLE=... with one of {', '.join(names)}")


if __name__ == "__main__":
    main()
