"""Services that say whether requests may pass, by HTTP and by gRPC, and what they were asked."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import grpc
from envoy.service.auth.v3 import external_auth_pb2
from msgspec import Struct

from tests.handshakes.acceptor import Pair, accepting
from tests.handshakes.backends import calls_taken
from tests.loopback import LOOPBACK

LENGTH = re.compile(r"content-length: (\d+)\r\n")


class Asked(Struct, frozen=True):
    """A service that says yes to whoever has a certain word, and what it was asked."""

    port: int
    heads: list[str]


@asynccontextmanager
async def deciding(word: str, answer: str, address: str = LOOPBACK) -> AsyncIterator[Asked]:
    """Run a service that says yes, with headers of its own, to requests that have a word in them."""
    heads: list[str] = []

    async def serve(connection: Pair) -> None:
        reader, writer = connection
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        heads.append(head)
        length = LENGTH.search(head)
        body = await reader.readexactly(int(length[1])) if length else b""
        status = "200 OK" if word in head or word.encode() in body else "403 Forbidden"
        writer.write(f"HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n{answer}\r\n".encode())
        await writer.drain()

    async with accepting(serve, address=address) as port:
        yield Asked(port, heads)


@asynccontextmanager
async def knowing(host: str, asked: list[str]) -> AsyncIterator[int]:
    """Run a service that knows one host, and tells backends that it does; yields the port."""

    async def check(request: bytes, _: grpc.aio.ServicerContext) -> bytes:
        wanted = external_auth_pb2.CheckRequest.FromString(request).attributes.request.http.host
        asked.append(wanted)
        answer = external_auth_pb2.CheckResponse()
        if wanted != host:
            answer.status.code = grpc.StatusCode.PERMISSION_DENIED.value[0]
            return bytes(answer.SerializeToString())
        answer.ok_response.headers.add(header={"key": "x-known", "value": "yes"})
        return bytes(answer.SerializeToString())

    async with calls_taken(grpc.unary_unary_rpc_method_handler(check)) as port:
        yield port
