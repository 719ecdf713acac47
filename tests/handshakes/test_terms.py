"""What a policy's options and changed facts do to the handshake."""

import ssl
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from http import HTTPStatus

import pytest
import pytest_asyncio
from msgspec import Struct

from tests.handshakes.backends import Speech, http_backend, speaks
from tests.handshakes.cases import HOSTNAME, LAST_YEAR, RIGHT, ROOT, trusting
from tests.handshakes.client_hello import Hello
from tests.handshakes.clients import get
from tests.handshakes.manifests import (
    config_map,
    edge,
    endpoints,
    http_listener,
    policy,
    route,
    service,
    tcp_listener,
)
from tests.handshakes.rig import Rig, rigged
from tests.handshakes.shop import HTTP, HTTPS, OPEN, SHUT, encrypted, gateway, routed, visit
from tests.pki import Authority
from translator.rules.certificates import NOW

pytestmark = [pytest.mark.envoy, pytest.mark.asyncio(loop_scope="module")]

TCP = 18081
TLS12, TLS13 = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3
AES_256 = "ECDHE-ECDSA-AES256-GCM-SHA384"
RENEGOTIATION = 0x00FF  # no suite, but a sign among them: RFC 5746


class Terms(Struct, frozen=True):
    """Options of a policy, how the backend is limited, and what comes of it."""

    options: dict[str, str]
    backend: tuple[ssl.TLSVersion, ssl.TLSVersion] = (TLS12, TLS13)
    reached: bool = True
    said: tuple[str, tuple[object, ...]] | None = None  # a field of the ClientHello


TERMS = {
    "1.3 at least": Terms({"min-tls-version": "1.3"}, said=("versions", (TLS13,))),
    "1.3 at least, backend older": Terms({"min-tls-version": "1.3"}, (TLS12, TLS12), reached=False),
    "1.2 at most": Terms({"max-tls-version": "1.2"}, said=("versions", (TLS12,))),
    "1.2 at most, backend newer": Terms({"max-tls-version": "1.2"}, (TLS13, TLS13), reached=False),
    "any version, backend older": Terms({}, (TLS12, TLS12), said=("versions", (TLS13, TLS12))),
    "one suite": Terms({"max-tls-version": "1.2", "cipher-suites": AES_256}, said=("ciphers", (0xC02C,))),
    "two curves": Terms({"curves": "P-384, X25519"}, said=("groups", (24, 29))),
    "own protocols": Terms({"alpn": "http/1.1, x"}, said=("alpn", ("http/1.1", "x"))),
    "a choice of protocols": Terms({"alpn": "h2, http/1.1"}, said=("alpn", ("h2", "http/1.1"))),
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def rig() -> AsyncIterator[Rig]:
    async with rigged() as rig:
        rig.apply(*gateway(), edge(http_listener(HTTP), tcp_listener(TCP)))
        yield rig


@pytest.mark.parametrize("name", TERMS)
async def test_options_limit_the_handshake_of_requests_and_of_connections(rig: Rig, name: str) -> None:
    terms = TERMS[name]
    speech = speaks(RIGHT)
    assert speech.tls is not None
    speech.tls.minimum_version, speech.tls.maximum_version = terms.backend
    async with http_backend(speech) as backend:
        rig.apply(
            *encrypted("pay", backend.port, options=terms.options),
            routed("pay", "pay"),
            route("TCPRoute", "pay", [("pay", HTTPS)]),
        )
        await rig.settled()
        assert await visit(rig, "pay") == (OPEN if terms.reached else SHUT)
        assert await get(rig.place(TCP), "any.test") == (OPEN if terms.reached else None)
        assert len(backend.tap.hellos) == 2
        assert len(backend.told) == (2 if terms.reached else 0)
        if terms.said is not None:
            field, value = terms.said
            assert [_without_signs(hello, field) for hello in backend.tap.hellos] == [value, value]


def _without_signs(hello: Hello, field: str) -> tuple[object, ...]:
    return tuple(each for each in getattr(hello, field) if each != RENEGOTIATION)


async def test_roots_that_expire_prove_nothing_any_more(rig: Rig) -> None:
    brief = Authority("brief", not_after=datetime.now(UTC) + timedelta(hours=1))
    async with http_backend(speaks(brief.issue(dns=[HOSTNAME]))) as backend:
        rig.apply(
            config_map("brief", brief.pem),
            *encrypted("brief", backend.port),
            policy("brief", trusting("brief")),
            routed("brief", "brief"),
        )
        for hours, status in ((0, OPEN), (2, SHUT), (0, OPEN)):
            rig.state(NOW, datetime.now(UTC) + timedelta(hours=hours))
            await rig.settled()
            assert await visit(rig, "brief") == status
        assert len(backend.tap.hellos) == 2


async def test_roots_that_begin_later_wait_and_keep_nobody_else_from_being_proved(rig: Rig) -> None:
    later = Authority("later", not_before=datetime.now(UTC) - timedelta(minutes=15))
    ended = Authority("ended", not_before=LAST_YEAR, not_after=LAST_YEAR + timedelta(days=1))
    async with (
        http_backend(speaks(later.issue(dns=[HOSTNAME]))) as waiting,
        http_backend(speaks(RIGHT)) as proved,
    ):
        for name, backend in (("waiting", waiting), ("proved", proved)):
            rig.apply(
                config_map(name, ended.pem + later.pem + ROOT.pem),
                *encrypted(name, backend.port),
                policy(name, trusting(name)),
                routed(name, name),
            )
        for hours, status in ((-0.5, SHUT), (0, OPEN)):
            rig.state(NOW, datetime.now(UTC) + timedelta(hours=hours))
            await rig.settled()
            assert await visit(rig, "waiting") == status
            assert await visit(rig, "proved") == OPEN


async def test_a_port_that_says_nothing_is_spoken_to_in_cleartext_until_a_policy_targets_it(rig: Rig) -> None:
    async with http_backend(Speech()) as backend:
        plain = service("plain", {HTTPS: None})
        rig.apply(plain, *endpoints("plain", HTTPS, backend.port), routed("plain", "plain"))
        await rig.settled()
        assert await visit(rig, "plain") == HTTPStatus.OK
        assert backend.tap.cleartext.startswith(b"GET / HTTP/1.1\r\n")
        rig.apply(policy("plain", trusting("root")))
        await rig.settled()
        backend.tap.cleartext.clear()
        assert await visit(rig, "plain") == SHUT
        assert backend.tap.cleartext == b""
        assert [hello.server_name for hello in backend.tap.hellos] == [HOSTNAME]


async def test_a_root_that_is_added_to_a_config_map_is_trusted(rig: Rig) -> None:
    async with http_backend(speaks(RIGHT)) as backend:
        rig.apply(
            config_map("growing", Authority("first").pem),
            *encrypted("growing", backend.port),
            policy("growing", trusting("growing")),
            routed("growing", "growing"),
        )
        await rig.settled()
        assert await visit(rig, "growing") == SHUT
        rig.apply(config_map("growing", Authority("first").pem + ROOT.pem))
        await rig.settled()
        assert await visit(rig, "growing") == OPEN
