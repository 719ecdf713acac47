"""A shop that needs little: one Gateway, two backends that a policy proves, and visitors that are counted.

They come by HTTP and by HTTPS alike.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from signal import Signals
from ssl import create_default_context

from cryptography.hazmat.primitives.serialization import Encoding
from msgspec import Struct

from tests.changing.shop import PLAIN, SECURE, Visited
from tests.changing.visitor import Visitor
from tests.handshakes.backends import Backend, http_backend, speaks
from tests.handshakes.manifests import (
    SERVED_BY_US,
    Json,
    config_map,
    edge,
    endpoints,
    http_listener,
    policy,
    route,
    service,
    tls_listener,
    tls_secret,
)
from tests.handshakes.traffic import Answer, Traffic
from tests.legation.running import Legation, free_port, legation_up, run
from tests.link import Link, linked
from tests.loopback import LOOPBACK
from tests.pki import Authority, Issued
from tests.real_envoy import until

NAMES = ("old", "new")
HTTPS = 443
HOST = "kiosk.internal"
GUESTS, LATE = "kiosk.test", "late.test"  # whom visitors ask for, and what is there only at times
ALONE = ("--no-envoy", "--xds", "127.0.0.1:0")  # a control plane for Envoys of others
LASTING, PASSING = 3, 1  # visitors that keep their connection, and that open one for each request
SOME = 40  # answers that show what holds now
OPENS_WITHIN = 120.0
COPIED = "x-copied"  # a header by which a copy can be told from the request
COPY = re.compile(rf"GET / HTTP/1\.1\r\n([^\r]+\r\n)*{COPIED}: [^\r]+\r\n([^\r]+\r\n)*\r\n".encode())


class Kiosk:
    """What is sold, to whom, and how they were answered."""

    def __init__(self, folder: Path, behind: dict[str, Backend], authority: Authority) -> None:
        """Begin with the first of both backends."""
        self._clients = create_default_context(cadata=authority.pem)
        self.ports = {PLAIN: free_port(), SECURE: free_port()}
        self.traffic = Traffic(frozenset({NAMES[0]}))
        self.visitors = [self._visitor(port) for port in self.ports for _ in range(LASTING + PASSING)]
        self._folder = folder
        self.behind = behind
        self._authority = authority
        self._leads_to = frozenset(NAMES[:1])
        self._shown = self._issue()
        self._hosts: tuple[str, ...] = (GUESTS,)  # of HTTPS listeners
        self._save()

    def ways(self) -> Sequence[Callable[[], Awaitable[Answer]]]:
        """Return how each visitor asks: most keep their connection."""
        return [
            partial(_ask_in_passing, each) if number % (LASTING + PASSING) < PASSING else each.ask
            for number, each in enumerate(self.visitors)
        ]

    @property
    def broken(self) -> int:
        """How many connections of visitors ended without a word."""
        return sum(each.broken.total() for each in self.visitors)

    @property
    def dismissed(self) -> int:
        """How many connections of visitors ended with an answer that said so."""
        return sum(each.dismissed for each in self.visitors)

    @property
    def cleartext(self) -> list[bytes]:
        """What backends were told outside of TLS, except for copies."""
        return [said for each in self.behind.values() if (said := COPY.sub(b"", each.tap.cleartext))]

    def lead_to(self, *names: str) -> None:
        """Have the route lead to backends; until they are reached, those before are right, too."""
        self.traffic.enter(self._leads_to.union(names))
        self._leads_to = frozenset(names)
        self._save()

    async def reached(self) -> None:
        """Wait until those answer whom the route leads to; from then on nobody else is right."""
        await self.answered_by(*self._leads_to)
        self.traffic.enter(self._leads_to)

    async def answered_by(self, *names: str) -> None:
        """Wait until all of these answer and nobody else, or somebody was answered wrongly."""
        answering = frozenset[Answer]()
        while answering != frozenset(names) and not self.traffic.surprises:
            before = dict(self.traffic.answers)
            await self.traffic.more(SOME)
            after = self.traffic.answers.items()
            answering = frozenset(each for each, number in after if number > before.get(each, 0))

    def open_to(self, *hosts: str) -> None:
        """Have an HTTPS listener for each of these hosts, all at one port, and with one certificate."""
        self._hosts = hosts
        self._save()

    def renew_certificate(self) -> None:
        """Show clients another one."""
        self._shown = self._issue()
        self._save()

    async def is_let_in(self, host: str) -> bool:
        """Say whether who comes anew is answered, and by HTTPS for a host shown the newest certificate."""
        visitor = self._visitor(SECURE, host)
        shown = self._shown.certificate.public_bytes(Encoding.DER)
        return (
            await self._visitor(PLAIN).is_let_in()
            and await visitor.is_let_in()
            and visitor.certificate == shown
        )

    async def lets_in(self, host: str) -> None:
        """Wait until that is so."""
        await until(partial(self.is_let_in, host), within=OPENS_WITHIN)

    async def change_https(self) -> None:
        """See that listeners and certificates can still be changed, one after the other and together."""
        self.open_to(GUESTS, LATE)
        await self.lets_in(LATE)
        self.renew_certificate()
        await self.lets_in(GUESTS)
        self.open_to(GUESTS)
        self.renew_certificate()
        await self.lets_in(GUESTS)

    @property
    def objects(self) -> list[Json]:
        """Everything as it is meant to be now: what others need comes before them."""
        made = [SERVED_BY_US, tls_secret("shown", self._shown), edge(*self._listeners())]
        made.append(config_map("roots", self._authority.pem))
        for name, each in self.behind.items():
            roots = {"group": "", "kind": "ConfigMap", "name": "roots"}
            made.append(policy(name, {"hostname": HOST, "caCertificateRefs": [roots]}))
            made += [service(name, {HTTPS: None}), *endpoints(name, HTTPS, each.port)]
        return [*made, route("HTTPRoute", "kiosk", [(each, HTTPS) for each in sorted(self._leads_to)])]

    def _listeners(self) -> Iterator[Json]:
        yield http_listener(self.ports[PLAIN])
        for number, host in enumerate(self._hosts):
            named = {"hostname": host, "protocol": "HTTPS"}
            yield tls_listener(f"https-{number}", self.ports[SECURE], "shown", **named)

    def _issue(self) -> Issued:
        return self._authority.issue(dns=[GUESTS, LATE])

    def _visitor(self, port: str, host: str = GUESTS) -> Visitor:
        tls = self._clients if port == SECURE else None
        return Visitor(Visited(port, host, "/"), (LOOPBACK, self.ports[port]), tls)

    def _save(self) -> None:
        (self._folder / "new").write_text("---\n".join(json.dumps(each) + "\n" for each in self.objects))
        (self._folder / "new").rename(self._folder / "kiosk.yaml")


class Plane(Struct, frozen=True):
    """A control plane for Envoys that somebody else runs, and the way by which they reach it."""

    running: Legation
    link: Link

    def end(self, how: Signals) -> None:
        """Have it end by a signal, and whoever comes find nobody."""
        self.running.process.send_signal(how)

    @asynccontextmanager
    async def followed(self, folder: Path) -> AsyncIterator["Plane"]:
        """Have another one follow it, once it has ended, until the block ends."""
        await self.running.process.wait()
        async with legation_up(folder, *ALONE) as running:
            self.link.move(await xds_port(running))
            yield Plane(running, self.link)

    async def bootstrap(self) -> dict[str, object]:
        """Return what such an Envoy is started with."""
        return await bootstrap(self.link.port)


async def bootstrap(xds: int) -> dict[str, object]:
    """Have the command write what an Envoy is started with that finds its control plane at a port."""
    place = f"127.0.0.1:{xds}"
    code, out, err = await run("bootstrap", "-o", "json", "--gateway", "shop/edge", "--xds", place)
    assert code == 0, err
    made: dict[str, object] = json.loads(out)
    del made["admin"]  # the harness has its own
    return made


@asynccontextmanager
async def furnished(folder: Path) -> AsyncIterator[Kiosk]:
    """Have a kiosk that nobody serves yet."""
    authority = Authority("kiosk")
    async with AsyncExitStack() as stack:
        behind = {}
        for name in NAMES:
            speech = speaks(authority.issue(dns=[HOST]), lasting=True, word=name)
            behind[name] = await stack.enter_async_context(http_backend(speech))
        yield Kiosk(folder, behind, authority)


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[tuple[Kiosk, Plane]]:
    """Have a kiosk, and a control plane that follows it."""
    async with (
        furnished(folder) as kiosk,
        legation_up(folder, *ALONE) as running,
        linked("127.0.0.1", await xds_port(running)) as link,
    ):
        yield kiosk, Plane(running, link)


async def xds_port(running: Legation) -> int:
    """Wait for the port for Envoys, and return it."""
    _, _, port = (await running.logged("xDS port"))["address"].rpartition(":")
    return int(port)


@asynccontextmanager
async def visited(kiosk: Kiosk) -> AsyncIterator[None]:
    """Have visitors come until the block ends, and nothing go wrong: from when the first is served."""
    for each in kiosk.visitors:
        await until(partial(_is_open, each), within=OPENS_WITHIN)
    async with asyncio.TaskGroup() as tasks:
        sending = [tasks.create_task(kiosk.traffic.send(ask)) for ask in kiosk.ways()]
        await kiosk.traffic.more(SOME)
        yield
        await kiosk.traffic.more(SOME)
        for task in sending:
            task.cancel()
    for each in kiosk.visitors:
        each.close()
    assert kiosk.traffic.surprises == [], kiosk.traffic.surprises[:3]
    assert kiosk.cleartext == []


async def _ask_in_passing(visitor: Visitor) -> Answer:
    answer = await visitor.ask()
    visitor.close()
    return answer


async def _is_open(visitor: Visitor) -> bool:
    answer = await visitor.ask()
    visitor.broken.clear()
    return answer == NAMES[0]
