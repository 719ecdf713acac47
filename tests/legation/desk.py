"""A control plane's end of the xDS channel, with an authority to replace, and the files of an Envoy."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from cryptography import x509

from legation.channel.authority import Credential, issue, make_root, proxy_of, server
from legation.channel.revocation import Gate
from legation.channel.rotation import bundle
from tests.legation.replicas import day
from tests.real_envoy import RunningEnvoy, until
from translator.names import Name
from xds_server.hub import Hub
from xds_server.service import Address, Proof, Terms, mutual_tls, serving
from xds_server.snapshot import CDS, LDS, Snapshot

EDGE = Name("infra", "edge")
FILES = ("tls.crt", "tls.key", "ca.crt")


class Desk:
    """It serves next to nothing, to whoever its authority vouches for."""

    def __init__(self) -> None:
        """Begin with an authority."""
        self.hub = Hub(lambda _report: None)
        self.gate = Gate(self.hub.review)
        self.hub.publish(str(EDGE), Snapshot.of({CDS: {}, LDS: {}}))
        self.succeed()

    def succeed(self) -> None:
        """Have another authority, and believe in no other."""
        self.root = make_root(day())
        self.roots = (self.root,)
        self.leaf = issue(self.root, server(["localhost"]), day())

    def envoy(self) -> Credential:
        """Issue an Envoy's identity."""
        return issue(self.root, proxy_of(EDGE), day())

    def proof(self) -> Proof:
        """Give what connections that are new are shown, and must show."""
        return Proof(self.leaf.certificate.encode(), self.leaf.key.encode(), bundle(self.roots).encode())

    @asynccontextmanager
    async def open(self, port: int) -> AsyncIterator[int]:
        """Serve until the block ends."""
        door = Address(f"127.0.0.1:{port}", mutual_tls(self.proof))
        async with serving(self.hub, [door], Terms(group_of=self.gate.group_of, drain=0.0)) as [number]:
            yield number

    async def connected(self) -> None:
        """Wait until an Envoy is there."""

        async def there() -> bool:
            return len(self.hub.connected()) == 1

        await until(there)


def exchange(folder: Path, leaf: Credential, roots: tuple[Credential, ...]) -> None:
    """Exchange an identity as kubelet does: a new folder, and one link that leads to it."""
    folder.mkdir(exist_ok=True)
    fresh = folder / f"..{len(list(folder.iterdir()))}"
    fresh.mkdir()
    _write(fresh, leaf, roots)
    for name in FILES:
        if not (folder / name).is_symlink():
            (folder / name).symlink_to(Path("..data", name))
    (folder / "..new").symlink_to(fresh.name)
    (folder / "..new").rename(folder / "..data")


def move(folder: Path, leaf: Credential, roots: tuple[Credential, ...]) -> None:
    """Exchange an identity as people do: one file after the other."""
    fresh = folder.with_name(f"{folder.name}.new")
    for each in (folder, fresh):
        each.mkdir(exist_ok=True)
    _write(fresh, leaf, roots)
    for name in FILES:
        (fresh / name).rename(folder / name)


def _write(folder: Path, leaf: Credential, roots: tuple[Credential, ...]) -> None:
    for name, pem in zip(FILES, (leaf.certificate, leaf.key, bundle(roots)), strict=True):
        (folder / name).write_text(pem)


async def holds(envoy: RunningEnvoy, root: Credential) -> bool:
    """Say whether Envoy believes this root alone."""
    _, body = await envoy.get("/certs")
    shown = {
        int(each["serial_number"], 16)
        for pair in json.loads(body)["certificates"]
        for each in pair["ca_cert"]
    }
    return shown == {x509.load_pem_x509_certificate(root.certificate.encode()).serial_number}
