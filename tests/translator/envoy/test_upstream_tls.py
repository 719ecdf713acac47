"""What a certificate must prove, as a real Envoy sees it."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Unpack

import pytest
from msgspec import Struct

from tests.envoy_validate import runnable
from tests.loopback import LOOPBACK, ask, http_backend, server_tls
from tests.pki import CLIENT, Authority, Issued, Wish, self_signed
from tests.real_envoy import running_envoy
from tests.translator.envoy.plans import BOUND, TABLE, Hop, Plans, backend, bodies, build, judged
from tests.translator.envoy.routed import said
from translator.rules.backend_tls import DnsName, SystemRoots, TrustBundle, UpstreamTls, UriName
from translator.rules.backends import Protocol, Share
from translator.rules.endpoints import Endpoint
from translator.rules.http_routes import Forward, HttpRule
from translator.rules.matches import HttpMatch, PathExact
from translator.rules.ports import HttpPort, Site
from translator.rules.tables import Entry

PAY = DnsName("pay.shop.example")
ANY_SHOP = DnsName("*.shop.example")
SPIFFE = UriName("spiffe://shop/pay")
LAST_YEAR = datetime.now(UTC) - timedelta(days=365)
NEXT_YEAR = datetime.now(UTC) + timedelta(days=365)


class Proof(Struct, frozen=True):
    """What a backend shows, what a policy wants, and whether they fit."""

    shows: Issued
    trusts: str
    wants: tuple[DnsName | UriName, ...] = (PAY,)
    reached: bool = True


ROOT, OTHER = Authority("root"), Authority("other")
BELOW = Authority("below", parent=ROOT)
ALONE = self_signed(dns=["pay.shop.example"])


def names(want: DnsName | UriName, *, reached: bool, **shown: Unpack[Wish]) -> Proof:
    return Proof(ROOT.issue(**shown), ROOT.pem, (want,), reached)


PROOFS = {
    "the same name": names(PAY, dns=["pay.shop.example"], reached=True),
    "the same name in other case": names(PAY, dns=["PAY.Shop.example"], reached=True),
    "one of several names": names(PAY, dns=["a.example", "pay.shop.example"], reached=True),
    "a wildcard for its label": names(PAY, dns=["*.shop.example"], reached=True),
    "a wildcard for two labels": names(PAY, dns=["*.example"], reached=False),
    "a wildcard for part of a label": names(PAY, dns=["p*.shop.example"], reached=False),
    "another name where the dot is": names(PAY, dns=["payxshop.example"], reached=False),
    "another name where a wildcard's dot is": names(ANY_SHOP, dns=["payxshop.example"], reached=False),
    "a single label": names(DnsName("pay"), dns=["Pay"], reached=True),
    "a wildcard for a single label": names(DnsName("pay"), dns=["*"], reached=False),
    "another name": names(PAY, dns=["pay.shop.example.org"], reached=False),
    "a name in the subject only": Proof(ROOT.issue(common_name="pay.shop.example"), ROOT.pem, reached=False),
    "a URI that says the name": names(PAY, uri=["pay.shop.example"], reached=False),
    "the same wildcard": names(ANY_SHOP, dns=["*.shop.example"], reached=True),
    "one label for a wildcard": names(ANY_SHOP, dns=["Pay-1.shop.Example"], reached=True),
    "a label with a low line for a wildcard": names(ANY_SHOP, dns=["pay_1.shop.example"], reached=True),
    "an empty label for a wildcard": names(ANY_SHOP, dns=[".shop.example"], reached=False),
    "two labels for a wildcard": names(ANY_SHOP, dns=["a.pay.shop.example"], reached=False),
    "no label for a wildcard": names(ANY_SHOP, dns=["shop.example"], reached=False),
    "a wildcard further down": names(ANY_SHOP, dns=["*.pay.shop.example"], reached=False),
    "a wildcard's dot is a dot": names(ANY_SHOP, dns=["pay.shopxexample"], reached=False),
    "the same URI": names(SPIFFE, uri=["spiffe://shop/pay"], reached=True),
    "a URI in other case": names(SPIFFE, uri=["spiffe://shop/Pay"], reached=False),
    "a longer URI": names(SPIFFE, uri=["spiffe://shop/pay/2"], reached=False),
    "the second of two names": Proof(ROOT.issue(uri=["spiffe://shop/pay"]), ROOT.pem, (PAY, SPIFFE)),
    "no other name than those": Proof(
        ROOT.issue(dns=["sni.example"]), ROOT.pem, (PAY, SPIFFE), reached=False
    ),
    "roots beside the right one": Proof(ROOT.issue(dns=["pay.shop.example"]), OTHER.pem + ROOT.pem),
    "another root": Proof(OTHER.issue(dns=["pay.shop.example"]), ROOT.pem, reached=False),
    "an intermediate that is shown": Proof(BELOW.issue(dns=["pay.shop.example"]), ROOT.pem),
    "an intermediate as anchor": Proof(BELOW.issue(dns=["pay.shop.example"])._replace(above=()), BELOW.pem),
    "an intermediate that is missing": Proof(
        BELOW.issue(dns=["pay.shop.example"])._replace(above=()), ROOT.pem, reached=False
    ),
    "a leaf that vouches for itself": Proof(ALONE, ALONE.pem),
    "an expired certificate": Proof(
        ROOT.issue(
            dns=["pay.shop.example"], not_before=LAST_YEAR, not_after=datetime.now(UTC) - timedelta(1)
        ),
        ROOT.pem,
        reached=False,
    ),
    "a certificate of the future": Proof(
        ROOT.issue(
            dns=["pay.shop.example"],
            not_before=datetime.now(UTC) + timedelta(days=1),
            not_after=NEXT_YEAR,
        ),
        ROOT.pem,
        reached=False,
    ),
    "a certificate for clients": Proof(
        ROOT.issue(dns=["pay.shop.example"], eku=[CLIENT]), ROOT.pem, reached=False
    ),
}


@asynccontextmanager
async def gateway(hops: Iterable[Hop]) -> AsyncIterator[int]:
    """Run an Envoy whose path `/N` leads to the Nth of these hops; its port."""
    hops = tuple(hops)
    entries = [
        Entry(HttpMatch(PathExact(f"/{n}")), HttpRule(Forward((Share(hop.backend, 1),))), f"rule {n}")
        for n, hop in enumerate(hops)
    ]
    plans = Plans({BOUND: Site((LOOPBACK,), 0, HttpPort(TABLE))}, {TABLE: {"*": entries}}, hops)
    async with running_envoy(runnable(bodies(build(plans)))) as envoy:
        yield await envoy.listener_port(str(BOUND))


async def test_a_certificate_is_believed_exactly_where_a_trusted_chain_proves_a_name(tmp_path: Path) -> None:
    hops = []
    async with AsyncExitStack() as stack:
        for n, (title, proof) in enumerate(PROOFS.items()):
            server = await stack.enter_async_context(http_backend(title, server_tls(proof.shows, tmp_path)))
            tls = UpstreamTls("sni.example", TrustBundle(f"trust/shop/{n}"), proof.wants)
            at = (Endpoint(LOOPBACK, server.port),)
            hops.append(Hop(backend(f"pay{n}", policy="tls"), at, tls, proof.trusts))
        port = await stack.enter_async_context(gateway(hops))
        answers = await asyncio.gather(*(ask(port, f"/{n}") for n in range(len(hops))))
    assert {title: said(answer) for title, answer in zip(PROOFS, answers, strict=True)} == {
        title: title if proof.reached else "503" for title, proof in PROOFS.items()
    }


async def test_the_handshake_says_and_takes_what_the_policy_says(tmp_path: Path) -> None:
    pay = ROOT.issue(dns=["pay.shop.example"])
    modern, legacy = server_tls(pay, tmp_path), server_tls(pay, tmp_path)
    legacy.maximum_version = ssl.TLSVersion.TLSv1_2
    modern.set_alpn_protocols(["h2", "http/1.1"])
    asked: list[str | None] = []
    modern.sni_callback = lambda _, name, __: asked.append(name)
    trust = TrustBundle("trust/shop/pay")
    strict = UpstreamTls("pay.internal", trust, (PAY,), min_version="1.3")
    weak = UpstreamTls(
        "pay.internal", trust, (PAY,), max_version="1.2", cipher_suites=("ECDHE-ECDSA-AES128-GCM-SHA256",)
    )
    async with http_backend("modern", modern) as new, http_backend("legacy", legacy) as old:
        hops = [
            Hop(backend(f"pay{n}", policy="tls"), (Endpoint(LOOPBACK, server.port),), tls, ROOT.pem)
            for n, (server, tls) in enumerate([(new, strict), (old, strict), (new, weak)])
        ]
        async with gateway(hops) as port:
            assert [said(await ask(port, f"/{n}")) for n in (0, 0, 1, 2)] == [
                "modern",
                "modern",
                "503",
                "modern",
            ]
    first, second, weakest = new.handshakes
    assert first.version() == "TLSv1.3"
    assert asked == ["pay.internal"] * 3
    assert first.selected_alpn_protocol() == "http/1.1"
    assert not second.session_reused
    assert weakest.cipher() == ("ECDHE-ECDSA-AES128-GCM-SHA256", "TLSv1.2", 128)


def test_every_setting_is_one_that_envoy_takes() -> None:
    settings = UpstreamTls(
        "pay.internal",
        SystemRoots(),
        (PAY, ANY_SHOP, SPIFFE),
        max_version="1.2",
        cipher_suites=("ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-RSA-CHACHA20-POLY1305"),
        curves=("X25519", "P-256", "P-384"),
        alpn=("h2", "http/1.1"),
    )
    judged(
        Plans(
            hops=tuple(
                Hop(backend("pay", each, policy="tls"), tls=settings)
                for each in (Protocol.HTTP, Protocol.HTTP2, Protocol.TCP)
            )
        )
    )


@pytest.mark.parametrize("first", ["a" * 60, "*"])
def test_the_longest_name_is_proved_by_a_pattern_that_envoy_takes(first: str) -> None:
    longest = ".".join([first, *["b" * 60] * 3, "c" * (253 - len(first) - 3 * 61 - 1)])
    assert len(longest) == 253
    settings = UpstreamTls("pay.internal", SystemRoots(), (DnsName(longest),))
    judged(Plans(hops=(Hop(backend("pay", policy="tls"), tls=settings),)))
