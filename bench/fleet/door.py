"""How Envoys reach a control plane: in plaintext on loopback, or with a certificate of each Gateway."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType

import grpc
from msgspec import Struct

from legation.channel.authority import Lifetime, issue, make_root, proxy_of, server
from tests.legation.running import free_port
from translator.names import Name

SERVER_NAME = "legation.legation-system.svc"
OWN_CONNECTION = (("grpc.use_local_subchannel_pool", 1),)
BY_NAME = (("grpc.ssl_target_name_override", SERVER_NAME),)
NOBODY: Mapping[str, grpc.ChannelCredentials] = MappingProxyType({})


class Door(Struct, frozen=True):
    """An xDS port: where it is, what Envoys of each Gateway show there, and in which files its own is."""

    target: str
    shown: Mapping[str, grpc.ChannelCredentials] = NOBODY
    files: tuple[str, ...] = ()

    @property
    def flags(self) -> tuple[str, ...]:
        """Have the control plane open this port, and start no Envoy of its own."""
        return ("--no-envoy", "--xds", self.target, *self.files)

    def channel(self, gateway: str) -> grpc.aio.Channel:
        """Make a connection that nobody else has."""
        if not self.shown:
            return grpc.aio.insecure_channel(self.target, options=OWN_CONNECTION)
        return grpc.aio.secure_channel(self.target, self.shown[gateway], options=(*OWN_CONNECTION, *BY_NAME))


def plain() -> Door:
    """Choose a port on loopback, where Envoys are believed."""
    return Door(f"127.0.0.1:{free_port()}")


def guarded(folder: Path, gateways: Iterable[str]) -> Door:
    """Choose a port where both sides prove who they are; the control plane's files are written here."""
    now = datetime.now(UTC).replace(microsecond=0)
    day = Lifetime(now, now + timedelta(days=1))
    root = make_root(day)
    own = issue(root, server([SERVER_NAME]), day)
    written = {"cert": own.certificate, "key": own.key, "client-ca": root.certificate}
    for name, pem in written.items():
        (folder / name).write_text(pem)
    shown = {gateway: issue(root, proxy_of(Name(*gateway.split("/"))), day) for gateway in gateways}
    credentials = {
        gateway: grpc.ssl_channel_credentials(
            root.certificate.encode(), leaf.key.encode(), leaf.certificate.encode()
        )
        for gateway, leaf in shown.items()
    }
    files = tuple(text for name in written for text in (f"--xds-{name}", str(folder / name)))
    return Door(plain().target, credentials, files)
