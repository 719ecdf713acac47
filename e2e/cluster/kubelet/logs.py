"""Serves what containers have said, for `kubectl logs`."""

import asyncio
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import web

from e2e.cluster.kubelet.host import Settings, log_path
from e2e.cluster.kubelet.node import PORT
from e2e.cluster.network import NODE_ADDRESS

LOOK_AGAIN = 0.2  # seconds
CHUNK = 65536


@asynccontextmanager
async def served(settings: Settings) -> AsyncGenerator[None]:
    """Serve logs for the length of a block."""
    logs = Path(settings.logs)

    async def answer(request: web.Request) -> web.StreamResponse:
        asked = request.match_info
        path = log_path(logs, asked["namespace"], asked["pod"], asked["container"])
        if not path.exists():
            raise web.HTTPNotFound
        return await _send(request, path)

    application = web.Application()
    application.router.add_get("/containerLogs/{namespace}/{pod}/{container}", answer)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(settings.certificate, settings.key)
    await web.TCPSite(runner, NODE_ADDRESS, PORT, ssl_context=tls).start()
    try:
        yield
    finally:
        await runner.cleanup()


async def _send(request: web.Request, path: Path) -> web.StreamResponse:
    answer = web.StreamResponse(headers={"Content-Type": "text/plain"})
    await answer.prepare(request)
    with path.open("rb") as log:
        if "tailLines" in request.query:
            last = int(request.query["tailLines"])
            lines = log.read().splitlines(keepends=True)
            await answer.write(b"".join(lines[len(lines) - last :] if last < len(lines) else lines))
        while True:
            if said := log.read(CHUNK):
                await answer.write(said)
            elif request.query.get("follow") == "true":
                await asyncio.sleep(LOOK_AGAIN)
            else:
                return answer
