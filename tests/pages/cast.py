"""Who plays the Services that pages speak of, and the certificates and roots that pages only name."""

import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from demo.stage import EXAMPLE_PIN
from tests.handshakes.backends import Backend, Speech, grpc_backend, http_backend, speaks
from tests.handshakes.manifests import (
    SERVED_BY_US,
    Json,
    config_map,
    root_secret,
    tls_secret,
    trust_bundle,
)
from tests.pki import CLIENT, SERVER, Authority, Issued

ROOTS = "backend-roots"
NAMES = ("pay.internal", "one.pay.internal", "till.internal", "vault.internal")


class Cast:
    """Backends by the names that pages use.

    `pay` has HTTP over TLS, `vault` the same for who shows a certificate, `till` gRPC over TLS, others none.
    """

    def __init__(self) -> None:
        """Make the certificates that everything here shows and believes."""
        lapsed = datetime.now(UTC) - timedelta(days=1)
        self.clients = Authority("clients")
        self.backends = Authority("backends")
        self._lapsed = Authority("lapsed", not_before=lapsed - timedelta(days=9), not_after=lapsed)
        self._next = Authority("next")
        self.shown = self.backends.issue(dns=NAMES, uri=["spiffe://shop.example/pay"])
        self._edge: Issued = self.clients.issue(dns=["shop.example"], eku=[SERVER, CLIENT])
        self.heard: Mapping[str, Backend] = {}

    @asynccontextmanager
    async def playing(self) -> AsyncIterator[None]:
        """Run every backend until the block ends."""
        async with AsyncExitStack() as stack:
            pay = await stack.enter_async_context(http_backend(speaks(self.shown)))
            till = await stack.enter_async_context(grpc_backend(self.shown))
            vault = await stack.enter_async_context(http_backend(self._asking()))
            others = await stack.enter_async_context(http_backend(Speech()))
            self.heard = {"pay": pay, "till": till, "vault": vault, "": others}
            yield

    def _asking(self) -> Speech:
        """Have whoever comes show a certificate of the clients' authority."""
        speech = speaks(self.shown)
        assert speech.tls is not None
        speech.tls.verify_mode = ssl.CERT_REQUIRED
        speech.tls.load_verify_locations(cadata=self.clients.pem)
        return speech

    def of(self, service: str) -> Backend:
        """Return who plays a Service."""
        return self.heard.get(service, self.heard[""])

    def properties(self) -> list[Json]:
        """Return what pages name and do not show: the class, roots of all sorts, certificates of the edge."""
        return [
            SERVED_BY_US,
            config_map(ROOTS, self.backends.pem),
            config_map("next-roots", self._next.pem),
            config_map("lapsed-roots", self._lapsed.pem),
            root_secret(ROOTS, self.backends.pem),
            trust_bundle(ROOTS, self.backends.pem),
            tls_secret("shop-example", self._edge),
            tls_secret("edge-client", self._edge),
            tls_secret("proxy-ssl", self._edge, {"ca.crt": self.backends.pem}),
        ]

    def hand_out(self, desk: Path) -> None:
        """Write the files that a reader would have: roots, and the certificate of a backend."""
        (desk / "pay.pem").write_text(self.shown.pem)
        (desk / "backend-roots.pem").write_text(self.backends.pem)

    def recast(self, text: str) -> str:
        """Put the pin of who plays here where a page has an example's."""
        return text.replace(EXAMPLE_PIN, self.shown.key_pin)
