"""Backends that say protocol MCP: what they stream comes as they say it, and not when they are done."""

import asyncio

import pytest

from tests.handshakes.acceptor import Pair, accepting
from tests.handshakes.manifests import EDGE, edge, endpoints, http_listener, manifest
from tests.handshakes.rig import rigged
from tests.handshakes.shop import HTTP

pytestmark = pytest.mark.envoy

WITHIN = 60.0
X_GROUP = "gateway.networking.x-k8s.io"
PODS = {"app": "model"}
ASKED = b"POST /mcp HTTP/1.1\r\nhost: a.test\r\naccept: text/event-stream\r\ncontent-length: 2\r\n\r\n{}"
STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


def event(number: int) -> bytes:
    return f"data: {number}\n\n".encode()


async def test_events_arrive_one_by_one() -> None:
    heard = asyncio.Event()

    async def stream(connection: Pair) -> None:
        reader, writer = connection
        await reader.readuntil(b"{}")
        writer.write(STREAM)
        for number in range(3):
            writer.write(b"%x\r\n%s\r\n" % (len(event(number)), event(number)))
            await writer.drain()
            await heard.wait()  # nothing more is said until the client has this
            heard.clear()
        writer.write(b"0\r\n\r\n")
        await writer.drain()

    async with accepting(stream) as port, rigged() as rig, asyncio.timeout(WITHIN):
        spec = {
            "type": "EndpointSelector",
            "port": {"number": port},
            "endpointSelector": {"matchLabels": PODS},
            "protocol": "MCP",
        }
        ref = {"group": X_GROUP, "kind": "XBackend", "name": "model"}
        selecting = {"selector": PODS, "ports": [{"name": "p80", "port": 80}]}
        rig.apply(
            edge(http_listener(HTTP)),
            manifest("Service", "model", "v1", spec=selecting),
            *endpoints("model", 80, port),
            manifest("XBackend", "model", f"{X_GROUP}/v1alpha1", spec=spec),
            manifest("HTTPRoute", "model", spec={"parentRefs": [EDGE], "rules": [{"backendRefs": [ref]}]}),
        )
        await rig.settled()
        reader, writer = await asyncio.open_connection(rig.address, HTTP)
        writer.write(ASKED)
        for number in range(3):
            await reader.readuntil(event(number))
            heard.set()
        await reader.readuntil(b"0\r\n\r\n")
        writer.close()
