"""A real Envoy at a hub in this process, started as ours are."""

import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from legation.addresses import Socket
from legation.bootstrap import Start, as_fields, bootstrap
from tests.real_envoy import RunningEnvoy, running_envoy
from translator.names import Name
from xds_server.hub import Hub
from xds_server.service import Address, Terms, serving

Changed = Mapping[str, object | None]


@asynccontextmanager
async def real_envoy(hub: Hub, gateway: Name, changed: Changed | None = None) -> AsyncIterator[RunningEnvoy]:
    """Run an Envoy until the block ends; fields of its bootstrap may be others, or None for not at all."""
    with tempfile.TemporaryDirectory() as home:
        own, admin = Path(home, "xds"), Path(home, "admin")
        start = as_fields(bootstrap(Start(gateway, "envoy-1", Socket(own), Socket(admin))))
        del start["admin"]  # the harness has its own
        fields = {name: value for name, value in (start | dict(changed or {})).items() if value is not None}
        async with (
            serving(hub, [Address(f"unix:{own}")], Terms(drain=0.0)),
            running_envoy(fields, wait_ready=False) as envoy,
        ):
            yield envoy
