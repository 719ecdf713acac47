"""What the commands ask of what runs: explanations, and names to choose from."""

from collections.abc import Iterable, Mapping
from functools import partial

import msgspec
from aiohttp import web
from msgspec import Struct

from legation.admin.kept import Kept
from legation.admin.maps import REST, Ask
from legation.admin.maps import Question as Asked
from legation.explain.explanation import as_json, held_by
from legation.explain.held import held
from legation.explain.names import beginning_with
from legation.explain.question import Question, explained, read_question
from legation.explain.told import Statuses
from legation.standing import Standing
from translator.world import World
from xds_server.hub import Connected
from xds_server.snapshot import Snapshot


class Seen(Struct, frozen=True, eq=False):
    """What is known besides the world: what objects say, and what Envoys are offered and hold."""

    statuses: Statuses
    snapshots: Mapping[str, Snapshot]
    envoys: tuple[Connected, ...]


class Tools:
    """Answers the commands."""

    def __init__(self, standing: Standing, ask: Ask) -> None:
        """Ask the world by `ask`."""
        self._standing = standing
        self._ask = ask
        self._kept = Kept(REST)

    def routes(self) -> Iterable[web.RouteDef]:
        """Say who answers what."""
        return (
            web.get("/api/v1/explain", self._explain),
            web.get("/api/v1/names", self._names),
        )

    async def _explain(self, request: web.Request) -> web.Response:
        connected, outcome = await self._standing.connected(), self._standing.outcome
        seen = Seen(outcome.statuses, outcome.snapshots, tuple(connected))
        return await self._told(request, partial(_explained, read_question(request.query_string), seen))

    async def _names(self, request: web.Request) -> web.Response:
        text = request.query.get("of", "")
        return await self._told(request, lambda world: msgspec.json.encode(beginning_with(world, text)))

    async def _told(self, request: web.Request, question: Asked) -> web.Response:
        if not self._standing.ready:
            raise web.HTTPServiceUnavailable(text="nothing was read yet; ask again in a moment\n")

        async def make() -> bytes:
            return await self._ask(question) or b""

        anew = object()  # what Envoys hold changes by itself, so no state is ever the same
        answer = await self._kept.answer(request.path_qs, anew, make)
        return web.Response(body=answer.body, content_type="application/json")


def _explained(question: Question, seen: Seen, world: World) -> bytes:
    found = explained(world, seen.statuses, question)
    return as_json(held_by(found, held(found, seen.snapshots, seen.envoys)))
