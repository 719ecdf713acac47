"""What an API server, or what stands before one, may answer on a bad day."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from aiohttp import web

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | None"
Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


def refusal(code: int, message: str, headers: Mapping[str, str] | None = None) -> web.Response:
    """Refuse as an API server does."""
    status = {"kind": "Status", "status": "Failure", "code": code, "message": message}
    return web.json_response(status, status=code, headers=headers)


def bookmark(revision: int, *, ends_list: bool = False) -> dict[str, Json]:
    """Return a bookmark."""
    annotations: dict[str, Json] = {"k8s.io/initial-events-end": "true"} if ends_list else {}
    metadata: dict[str, Json] = {"resourceVersion": str(revision), "annotations": annotations}
    return {"type": "BOOKMARK", "object": {"metadata": metadata}}


def refusing(code: int, message: str = "no", **headers: str) -> Answer:
    """Return what refuses."""

    async def answer(_: web.Request) -> web.StreamResponse:
        return refusal(code, message, {name.replace("_", "-"): value for name, value in headers.items()})

    return answer


def saying(*chunks: bytes, whole: bool = True) -> Answer:
    """Return what says this, each piece apart, and then ends its stream in good order or breaks it."""

    async def answer(request: web.Request) -> web.StreamResponse:
        response = await streaming(request)
        for chunk in chunks:
            await response.write(chunk)
            await asyncio.sleep(0)
        if not whole:
            assert request.transport is not None
            request.transport.abort()
        return response

    return answer


def silence(*chunks: bytes) -> Answer:
    """Return what says this and then nothing for as long as the connection stands."""

    async def answer(request: web.Request) -> web.StreamResponse:
        response = await streaming(request)
        for chunk in chunks:
            await response.write(chunk)
        await asyncio.Event().wait()
        return response

    return answer


async def trickle(request: web.Request) -> web.StreamResponse:
    """Say something again and again that never comes to an end."""
    response = await streaming(request)
    while True:
        await response.write(b" ")
        await asyncio.sleep(0.02)


async def mute(_: web.Request) -> web.StreamResponse:
    """Take the request and never answer."""
    await asyncio.Event().wait()
    return web.Response()


async def send(response: web.StreamResponse, event: Json) -> None:
    """Send one line of a watch."""
    await response.write(json.dumps(event).encode() + b"\n")


async def streaming(request: web.Request) -> web.StreamResponse:
    """Begin an answer that comes in pieces."""
    response = web.StreamResponse(headers={"content-type": "application/json"})
    response.enable_chunked_encoding()
    await response.prepare(request)
    return response
