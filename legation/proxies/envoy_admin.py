"""What is asked of one local Envoy over its admin socket."""

import re
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path

import aiohttp
import msgspec
from msgspec import Struct

WITHIN = aiohttp.ClientTimeout(total=5)
HANDSHAKES = "/stats?format=json&type=Counters&usedonly&filter=%5Ecluster%5C..*%5C.ssl%5C."
ACTIVE = "/stats?format=json&type=Gauges&filter=downstream_(cx|rq)_active$"

# What Envoy counts of its own interface, and of each worker; route tables have names of users in theirs.
OTHERS = re.compile(r"(http|listener)\.admin\.|listener\..*\.worker_")


class _Stat(Struct):
    name: str = ""
    value: int = 0


class _Stats(Struct):
    stats: list[_Stat]


class EnvoyAdmin:
    """One Envoy's admin interface."""

    def __init__(self, socket: Path) -> None:
        """Know where it is."""
        self._socket = socket

    async def drain(self) -> None:
        """Tell clients to go, without turning new ones away yet."""
        await self._ask("POST", "/drain_listeners?graceful&skip_exit")

    async def ready(self) -> bool:
        """Say whether it has its first configuration; one that does not answer has not."""
        try:
            status, _ = await self._ask("GET", "/ready")
        except (OSError, aiohttp.ClientError, TimeoutError):
            return False
        return status == HTTPStatus.OK

    async def busy(self) -> int:
        """Count requests in flight, and connections that carry no requests that we could tell apart."""
        return in_flight(await self._stats(ACTIVE))

    async def handshakes(self) -> Mapping[str, int]:
        """Count what became of TLS with each cluster; one that does not answer has counted nothing."""
        try:
            return await self._stats(HANDSHAKES)
        except (OSError, aiohttp.ClientError, TimeoutError):
            return {}

    async def _stats(self, path: str) -> Mapping[str, int]:
        _, body = await self._ask("GET", path)
        return {each.name: each.value for each in msgspec.json.decode(body, type=_Stats).stats}

    async def _ask(self, method: str, path: str) -> tuple[int, bytes]:
        connector = aiohttp.UnixConnector(str(self._socket))
        async with (
            aiohttp.ClientSession(connector=connector, timeout=WITHIN) as session,
            session.request(method, f"http://envoy{path}") as answer,
        ):
            return answer.status, await answer.read()


def in_flight(gauges: Mapping[str, int]) -> int:
    """Add requests to the connections that are no HTTP: an idle HTTP connection keeps nobody waiting.

    What a listener counts, each of its workers counts once more.
    """
    mine = {name: value for name, value in gauges.items() if not OTHERS.match(name)}
    requests = _sum(mine, "http.", ".downstream_rq_active")
    connections = _sum(mine, "listener.", ".downstream_cx_active")
    carrying_http = _sum(mine, "http.", ".downstream_cx_active")
    return requests + max(0, connections - carrying_http)


def _sum(gauges: Mapping[str, int], prefix: str, suffix: str) -> int:
    return sum(value for name, value in gauges.items() if name.startswith(prefix) and name.endswith(suffix))
