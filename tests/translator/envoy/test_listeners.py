"""Listeners: what a real Envoy does with what arrives at a port."""

import asyncio
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import cast

import pytest
from msgspec import Struct

from tests.envoy_validate import runnable
from tests.looking import SOON
from tests.loopback import LOOPBACK, ask, http_backend, server_tls
from tests.pki import Authority, Issued
from tests.real_envoy import RunningEnvoy, running_envoy, until
from tests.translator.envoy.plans import EDGE, Hop, Plans, backend, bodies, build, judged
from translator.envoy.resource import LISTENER, Resource
from translator.names import Name
from translator.rules.backends import Protocol, Share
from translator.rules.certificates import KeyPair
from translator.rules.endpoints import Endpoint
from translator.rules.http_routes import Forward, HttpRule
from translator.rules.matches import HttpMatch, PathExact, PathPrefix
from translator.rules.ports import Bound, Chain, HttpPort, Site, TcpPort, Terminate, TlsPort, UdpPort
from translator.rules.streams import NOWHERE, Streams
from translator.rules.tables import Entry, Table
from translator.verdict import Refused

REFUSED = Share(Refused("BackendNotFound", "Service shop/gone does not exist"), 1)
CLEAR, SECURE = Table(EDGE, 80), Table(EDGE, 443, "shop.example")
HTTP, HTTPS = Bound(EDGE, 80), Bound(EDGE, 443)
TCP, SHUT, NONE = Bound(EDGE, 5432), Bound(EDGE, 5433), Bound(EDGE, 5434)
UDP, DEAF = Bound(EDGE, 53, "UDP"), Bound(EDGE, 54, "UDP")
ROOT = Authority("root")


class Shown(Struct, frozen=True):
    """What a TLS client met: the certificate's names, the protocol agreed on, and the answer."""

    names: tuple[str, ...]
    alpn: str | None
    answer: bytes


def to(*shares: Share) -> Streams:
    return Streams(shares)


def hop(name: str, port: int, protocol: Protocol = Protocol.TCP) -> Hop:
    return Hop(backend(name, protocol), (Endpoint(LOOPBACK, port),))


def pair(issued: Issued) -> KeyPair:
    return KeyPair(issued.chain_pem, issued.key_pem)


@asynccontextmanager
async def gateway(plans: Plans) -> AsyncIterator[Mapping[Bound, int]]:
    """Run an Envoy for these plans; the ports that its listeners were given."""
    async with running_envoy(runnable(bodies(build(plans)))) as envoy:
        yield {bound: await envoy.listener_port(str(bound)) for bound in plans.sites}


def listeners(plans: Plans) -> Mapping[str, Resource]:
    return judged(plans)[LISTENER]


def test_a_listener_stands_on_all_addresses_of_its_gateway_and_names_what_it_leads_to() -> None:
    everywhere = ("0.0.0.0", "192.0.2.1", "2001:db8::1")  # noqa: S104  # nothing is bound here
    streams = to(Share(backend("b", Protocol.TCP), 2), Share(backend("a", Protocol.TCP), 1), REFUSED)
    datagrams = to(Share(backend("a", Protocol.UDP), 1), Share(backend("b", Protocol.UDP), 2), REFUSED)
    shop, pay = Name("shop", "web"), Name("shop", "pay")
    chains = (
        Chain(None, Terminate((shop,)), SECURE),
        Chain("*.example", Terminate((pay, shop)), streams),
        Chain("pay.example", None, to(Share(backend("c", Protocol.TCP), 1))),
    )
    sites = {
        HTTP: Site(everywhere, 80, HttpPort(CLEAR)),
        HTTPS: Site(everywhere, 443, TlsPort(chains)),
        TCP: Site(everywhere, 5432, TcpPort(streams)),
        UDP: Site(everywhere, 53, UdpPort(datagrams)),
        NONE: Site(everywhere, 5434, TcpPort(NOWHERE)),
    }
    certificates = {
        shop: pair(ROOT.issue(dns=["shop.example"])),
        pay: pair(ROOT.issue(dns=["pay.example"], key="rsa2048")),
    }
    built = listeners(Plans(sites, certificates=certificates))
    assert {name: (each.targets, each.secrets) for name, each in built.items()} == {
        "infra/edge:80": ((), ()),
        "infra/edge:443": (
            ("legation/refused", "shop/a:8080/tcp", "shop/b:8080/tcp", "shop/c:8080/tcp"),
            ("certificate/shop/pay", "certificate/shop/web"),
        ),
        "infra/edge:5432": (("legation/refused", "shop/a:8080/tcp", "shop/b:8080/tcp"), ()),
        "infra/edge:53/udp": (("legation/refused", "shop/a:8080/udp", "shop/b:8080/udp"), ()),
        "infra/edge:5434": (("legation/refused",), ()),
    }


async def test_a_path_is_brought_into_one_form_before_it_is_matched() -> None:
    rule = HttpRule(Forward((Share(backend("pay"), 1),)))
    hosts = {CLEAR: {"*": [Entry(HttpMatch(PathExact("/a/b")), rule, "exact")]}}
    async with http_backend("pay") as server:
        plans = Plans(
            {HTTP: Site((LOOPBACK,), 0, HttpPort(CLEAR))}, hosts, (hop("pay", server.port, Protocol.HTTP),)
        )
        async with gateway(plans) as ports:
            for path in ("/a/b", "/a//b", "/a/./b", "/c/../a/b", "/%61/b"):
                assert (await ask(ports[HTTP], path)).status == 200
            assert (await ask(ports[HTTP], "/a%2fb")).headers["location"] == "/a/b"
            assert (await ask(ports[HTTP], "/a/../b")).status == 404


async def test_tls_is_told_apart_by_server_name_and_ended_or_passed_through(tmp_path: Path) -> None:
    own = ROOT.issue(dns=["pass.example"])
    web, pay = Name("shop", "web"), Name("shop", "pay")
    chains = (
        Chain(None, Terminate((web,)), SECURE),
        Chain("*.example", Terminate((pay,)), to(Share(backend("stream", Protocol.TCP), 1))),
        Chain("pass.example", None, to(Share(backend("own", Protocol.TCP), 1))),
        Chain("shut.example", Terminate((pay,)), to(REFUSED)),
    )
    rule = HttpRule(Forward((Share(backend("web"), 1),)))
    hosts = {SECURE: {"*": [Entry(HttpMatch(PathPrefix("/")), rule, "all")]}}
    async with http_backend("web") as plain, http_backend("own", server_tls(own, tmp_path)) as passed:
        hops = (hop("web", plain.port, Protocol.HTTP), hop("stream", plain.port), hop("own", passed.port))
        certificates = {web: pair(ROOT.issue(dns=["web.other"])), pay: pair(ROOT.issue(dns=["*.example"]))}
        plans = Plans({HTTPS: Site((LOOPBACK,), 0, TlsPort(chains))}, hosts, hops, certificates)
        async with gateway(plans) as ports:
            port = ports[HTTPS]
            assert await shown(port, "web.other") == Shown(("web.other",), "http/1.1", b"web")
            assert (await shown(port, "web.other", "http/1.1", "h2")).alpn == "h2"
            assert await shown(port, "a.b.example") == Shown(("*.example",), None, b"web")
            assert await shown(port, "pass.example") == Shown(("pass.example",), None, b"own")
            with pytest.raises(ConnectionError):
                await shown(port, "shut.example")
            assert await said(port, b"GET / HTTP/1.1\r\nhost: web.other\r\n\r\n") == b""
    assert [server.version() for server in passed.handshakes] == ["TLSv1.3"]


async def test_cleartext_is_closed_where_all_tls_is_passed_through() -> None:
    async with http_backend("a") as server:
        chains = (Chain(None, None, to(Share(backend("a", Protocol.TCP), 1))),)
        plans = Plans({HTTPS: Site((LOOPBACK,), 0, TlsPort(chains))}, hops=(hop("a", server.port),))
        async with gateway(plans) as ports:
            assert await said(ports[HTTPS], b"GET / HTTP/1.1\r\n\r\n") == b""
    assert server.heads == []


async def test_connections_go_to_backends_by_weight_and_refused_ones_are_closed() -> None:
    async with http_backend("a") as a, http_backend("b") as b:
        shares = (Share(backend("a", Protocol.TCP), 1), Share(backend("b", Protocol.TCP), 1), REFUSED)
        only = (Share(backend("a", Protocol.TCP), 1), Share(backend("b", Protocol.TCP), 0))
        plans = Plans(
            {
                TCP: Site((LOOPBACK,), 0, TcpPort(to(*shares))),
                SHUT: Site((LOOPBACK,), 0, TcpPort(to(REFUSED))),
                NONE: Site((LOOPBACK,), 0, TcpPort(to(*only))),
            },
            hops=(hop("a", a.port), hop("b", b.port)),
        )
        async with gateway(plans) as ports:
            request = b"GET / HTTP/1.1\r\n\r\n"
            met = Counter([await said(ports[TCP], request) for _ in range(150)])
            assert met.keys() == {b"a", b"b", b""}
            assert all(count > 15 for count in met.values())  # 50 each, and once in 10^11 runs so few
            assert {await said(ports[SHUT], request) for _ in range(10)} == {b""}
            assert {await said(ports[NONE], request) for _ in range(10)} == {b"a"}


async def test_datagrams_go_to_backends_by_weight_and_refused_ones_are_dropped() -> None:
    async with datagrams(lambda: Echo(b"a")) as one, datagrams(lambda: Echo(b"b")) as other:
        a, b = (each.get_extra_info("sockname")[1] for each in (one, other))
        shares = (Share(backend("b", Protocol.UDP), 2), REFUSED, Share(backend("a", Protocol.UDP), 1))
        plans = Plans(
            {
                UDP: Site((LOOPBACK,), 0, UdpPort(to(*shares))),
                DEAF: Site((LOOPBACK,), 0, UdpPort(to(REFUSED, Share(backend("a", Protocol.UDP), 0)))),
            },
            hops=(hop("a", a, Protocol.UDP), hop("b", b, Protocol.UDP)),
        )
        async with running_envoy(runnable(bodies(build(plans)))) as envoy:
            met = Counter(await answered(envoy, UDP))
            assert met.keys() == {b"a", b"b"}
            assert 30 < met[b"a"] < 120 < met[b"b"] < 190  # 75 and 150 of 300, as 75 are dropped
            assert await answered(envoy, DEAF) == []


async def answered(envoy: RunningEnvoy, bound: Bound) -> list[bytes]:
    """Let 300 clients send one datagram each, a few at a time as kernels drop floods; the answers."""
    port = await envoy.listener_port(str(bound))
    dropped_before = await dropped(envoy)
    replies: list[bytes] = []

    async def accounted_for(sent: int) -> bool:
        return len(replies) + await dropped(envoy) - dropped_before == sent

    async with AsyncExitStack() as stack:
        for sent in range(1, 301):
            client = await stack.enter_async_context(datagrams(lambda: Heard(replies)))
            client.sendto(b"?", (LOOPBACK, port))
            if sent % 50 == 0:
                await until(partial(accounted_for, sent))
    return replies


async def dropped(envoy: RunningEnvoy) -> int:
    stats = await envoy.stats("cluster.legation/refused.upstream_cx_none_healthy")
    return sum(stats.values())


class Echo(asyncio.DatagramProtocol):
    """Answers every datagram with a word."""

    def __init__(self, word: bytes) -> None:
        self._word = word

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:  # noqa: ARG002  # asyncio's names
        self._transport.sendto(self._word, addr)


class Heard(asyncio.DatagramProtocol):
    """Keeps every datagram."""

    def __init__(self, replies: list[bytes]) -> None:
        self._replies = replies

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:  # noqa: ARG002  # asyncio's names
        self._replies.append(data)


@asynccontextmanager
async def datagrams(
    protocol: Callable[[], asyncio.DatagramProtocol],
) -> AsyncIterator[asyncio.DatagramTransport]:
    """Open a socket for datagrams."""
    transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(protocol, (LOOPBACK, 0))
    try:
        yield transport
    finally:
        transport.close()


async def said(port: int, request: bytes) -> bytes:
    """Send bytes, read until the other side closes, and return what was said in the body."""
    reader, writer = await asyncio.open_connection(LOOPBACK, port)
    return await _exchange(reader, writer, request)


async def shown(port: int, name: str, *alpn: str) -> Shown:
    """Do the same over TLS."""
    context = ssl.create_default_context(cadata=ROOT.pem)
    context.check_hostname = False
    context.set_alpn_protocols(alpn or ["http/1.1"])
    reader, writer = await asyncio.open_connection(LOOPBACK, port, ssl=context, server_hostname=name)
    tls = writer.get_extra_info("ssl_object")
    names = tuple(value for _, value in tls.getpeercert()["subjectAltName"])
    answer = await _exchange(
        reader, writer, f"GET / HTTP/1.1\r\nhost: {name}\r\nconnection: close\r\n\r\n".encode()
    )
    return Shown(names, tls.selected_alpn_protocol(), answer)


async def _exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> bytes:
    try:
        writer.write(request)
        whole = await asyncio.wait_for(reader.read(), SOON)
    except ConnectionError:  # closed with the request unread
        return b""
    finally:
        writer.close()
    return whole.rpartition(b"\r\n\r\n")[2]
