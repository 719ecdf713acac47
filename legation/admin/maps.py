"""What the page asks: maps, objects, Envoys and trust as JSON. Answered in a thread, and kept for a while."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from time import time

import msgspec
from aiohttp import web
from msgspec import Struct

from legation.admin.kept import Answer, Kept
from legation.atlas.chart import Summary, chart, leads, summaries
from legation.atlas.portraits import Said, portrait, said, search
from legation.checks.findings import Finding, advice, in_order, read_findings
from legation.deliveries import Heard, Unsure, together
from legation.peers import Others
from legation.proofs.hops import as_json as audit_as_json
from legation.proofs.hops import audited
from legation.proofs.trust import Trusted, trusted
from legation.proofs.trust import as_json as trust_as_json
from legation.proxies.handshakes import Handshakes
from legation.proxies.local import Proxy
from legation.standing import Counters, Envoy, LastNack, Standing
from legation.telling import RELEASE
from legation.turns import aside
from translator.advice.everything import ASKED, answered
from translator.names import Name, Ref
from translator.world import World
from xds_server.hub import Connected
from xds_server.snapshot import Snapshot

MOST_FINDINGS = 500
MOST_TRUSTED = 5_000
LONGEST_SEARCH = 200  # characters
REST = 20.0  # so that pages, however many, take less than a twentieth of the batches' time
LOOK_AGAIN = 0.5  # seconds: what Envoys hold is no state of ours, and asking them costs no batch anything

Question = Callable[[World], bytes | None]
Ask = Callable[[Question], Awaitable[bytes | None]]
Count = Callable[[], Awaitable[Counters]]


class GatewayNow(Struct, frozen=True, rename="camel"):
    """A Gateway, its backends in sum, and what it says of itself."""

    summary: Summary
    bound: tuple[str, ...]
    conditions: tuple[Said, ...]


class Now(Struct, frozen=True, rename="camel"):
    """What `/api/v1/map` answers."""

    version: str
    ready: bool
    gateways: tuple[GatewayNow, ...]
    findings: tuple[Finding, ...]
    findings_left_out: int = 0


class EnvoyNow(Struct, frozen=True, rename="camel"):
    """A connected Envoy, and how many resources of each type it holds."""

    node: str
    address: str
    since: int  # in Unix time
    current: bool
    holds: Mapping[str, int]
    last_nack: LastNack | None


class RefusedElsewhere(Struct, frozen=True):
    """A resource that an Envoy at another replica refused, in its words."""

    resource: str
    words: str


class Elsewhere(Struct, frozen=True):
    """What the Envoys of a Gateway at other replicas hold, as those replicas tell."""

    present: bool  # there are any
    current: bool  # each holds the newest listeners
    refused: tuple[RefusedElsewhere, ...]


class EnvoysOf(Struct, frozen=True, rename="camel"):
    """The Envoys of a Gateway that are connected to this process, and in short those elsewhere."""

    gateway: str
    bound: tuple[str, ...]
    envoys: tuple[EnvoyNow, ...]
    process: Proxy | None
    handshakes: tuple[Handshakes, ...]
    elsewhere: Elsewhere


class EnvoysNow(Struct, frozen=True, rename="camel"):
    """What `/api/v1/envoys` answers."""

    gateways: tuple[EnvoysOf, ...]
    stale: tuple[str, ...]  # in words: what may be out of date


class Maps:
    """Answers what may be asked about the world and about Envoys."""

    def __init__(self, standing: Standing, ask: Ask, count: Count) -> None:
        """Ask the world by `ask`, and Envoys by `count`."""
        self._standing = standing
        self._ask = ask
        self._count = count
        self._kept = Kept(REST)
        self._envoys_now = Kept(REST, LOOK_AGAIN)
        self._advised = Kept(REST)
        self._fresh = Kept()

    def routes(self) -> Iterable[web.RouteDef]:
        """Say who answers what."""
        return (
            web.get("/api/v1/map", self._now),
            web.get("/api/v1/map/{namespace}/{name}", self._chart),
            web.get("/api/v1/map/{namespace}/{name}/leads", self._leads),
            web.get("/api/v1/object/{kind}/{namespace}/{name}", self._object),
            web.get("/api/v1/object/{kind}/{name}", self._object),
            web.get("/api/v1/search", self._search),
            web.get("/api/v1/trust", self._trust),
            web.get("/api/v1/envoys", self._envoys),
            web.get("/api/v1/audit", self._audit),
            web.get("/api/v1/findings", self._findings),
        )

    async def _now(self, request: web.Request) -> web.Response:
        standing, told = self._standing, self._standing.found()
        ready, statuses = standing.ready, standing.outcome.statuses

        def now(world: World) -> bytes:
            found = in_order(told)
            known = (each for each in summaries(world) if _gateway_ref(each.name) in statuses)
            gateways = tuple(_gateway_now(standing, each) for each in known)
            left_out = max(0, len(found) - MOST_FINDINGS)
            return msgspec.json.encode(Now(RELEASE, ready, gateways, found[:MOST_FINDINGS], left_out))

        return await self._told(request, now, "nothing")

    async def _chart(self, request: web.Request) -> web.Response:
        name = _named(request)
        return await self._told(
            request, lambda world: _encoded(chart(world, name)), f"Gateway {name} of this controller"
        )

    async def _leads(self, request: web.Request) -> web.Response:
        name, table, host = _named(request), request.query.get("table", ""), request.query.get("host", "")
        what = f"name {host!r} in a route table {table!r} of a Gateway {name} of this controller"
        return await self._told(
            request, lambda world: _encoded(leads(world, name, table, host)), what, ("table", "host")
        )

    async def _object(self, request: web.Request) -> web.Response:
        ref, statuses = Ref(request.match_info["kind"], _named(request)), self._standing.outcome.statuses
        return await self._told(request, lambda world: _encoded(portrait(world, statuses, ref)), str(ref))

    async def _search(self, request: web.Request) -> web.Response:
        text = request.query.get("q", "")[:LONGEST_SEARCH]
        return await self._told(request, lambda world: _encoded(search(world, text)), "nothing", ("q",))

    async def _trust(self, request: web.Request) -> web.Response:
        def soonest_first(world: World) -> bytes:
            return trust_as_json(tuple(sorted(trusted(world), key=_soonest)[:MOST_TRUSTED]))

        return await self._told(request, soonest_first, "nothing")

    async def _findings(self, request: web.Request) -> web.Response:
        """Say all that `legation check` names; advice walks the whole world, so it is given here only."""
        told, state = self._standing.found(), (self._standing.outcome, self._standing.problems)

        async def make() -> bytes:
            parts = [await self._ask(partial(_advice, title)) for title in ASKED]  # changes pass in between
            return await aside(partial(_findings, told, parts))

        return _answered(request, await self._advised.answer(request.path, state, make))

    async def _envoys(self, request: web.Request) -> web.Response:
        async def make() -> bytes:
            counters = await self._count()
            connected = await self._standing.connected()
            return await aside(partial(_envoys_now, self._standing.still(), connected, counters))

        return _answered(request, await self._envoys_now.answer(request.path, object(), make))

    async def _audit(self, request: web.Request) -> web.Response:
        snapshots = self._standing.outcome.snapshots

        async def make() -> bytes:
            return await aside(lambda: audit_as_json(audited(snapshots)))

        return _answered(request, await self._fresh.answer(request.path, self._standing.outcome, make))

    async def _told(
        self, request: web.Request, question: Question, what: str, parts: Sequence[str] = ()
    ) -> web.Response:
        """Answer a question that these parts of the query belong to; what is not there is said in words."""

        async def make() -> bytes:
            body = await self._ask(question)
            if body is None:
                raise web.HTTPNotFound(text=f"there is no {what}\n")
            return body

        state = (self._standing.outcome, self._standing.problems)
        asked = request.rel_url.with_query({part: request.query.get(part, "") for part in parts})
        return _answered(request, await self._kept.answer(str(asked), state, make))


def _advice(title: str, world: World) -> bytes:
    return msgspec.json.encode(advice(answered(world, title)))


def _answered(request: web.Request, answer: Answer) -> web.Response:
    """Answer, or say that the asker has it already."""
    tag = {"ETag": answer.tag}
    if request.headers.get("If-None-Match") == answer.tag:
        return web.Response(status=HTTPStatus.NOT_MODIFIED, headers=tag)
    return web.Response(body=answer.body, content_type="application/json", headers=tag)


def _named(request: web.Request) -> Name:
    return Name(request.match_info.get("namespace", ""), request.match_info["name"])


def _encoded(found: Struct | tuple[Struct, ...] | None) -> bytes | None:
    return None if found is None else msgspec.json.encode(found)


def _findings(told: Iterable[Finding], parts: Iterable[bytes | None]) -> bytes:
    advised = (each for part in parts for each in read_findings(part or b"[]"))
    return msgspec.json.encode(in_order((*told, *advised)))


def _soonest(found: Trusted) -> tuple[bool, bool, datetime, str]:
    """Put first what somebody uses and what ends first."""
    ends = found.soonest
    return not found.gateways, ends is None, ends or datetime.max.replace(tzinfo=UTC), found.name


def _gateway_ref(group: str) -> Ref:
    return Ref("Gateway", Name.read(group))


def _gateway_now(standing: Standing, summary: Summary) -> GatewayNow:
    gateway = standing.gateway(_gateway_ref(summary.name))
    return GatewayNow(summary, gateway.bound, tuple(map(said, gateway.conditions)))


def _envoys_now(standing: Standing, connected: Sequence[Connected], counters: Counters) -> bytes:
    others = standing.others()
    gateways = tuple(
        EnvoysOf(
            each.name,
            each.bound,
            tuple(map(_envoy_now, sorted(each.envoys, key=lambda envoy: envoy.node))),
            each.process,
            each.handshakes,
            _elsewhere(each.name, standing.outcome.snapshots, others),
        )
        for each in standing.gateways(counters, connected)
    )
    return msgspec.json.encode(EnvoysNow(gateways, tuple(map(str, standing.stale()))))


def _elsewhere(gateway: str, snapshots: Mapping[str, Snapshot], others: Others) -> Elsewhere:
    """Judge it by what is offered here."""
    snapshot = snapshots.get(gateway)
    if snapshot is None:
        return Elsewhere(present=False, current=False, refused=())
    match together(Name.read(gateway), snapshot, others.about(gateway)):
        case Heard(acknowledged=current, refusals=refused, present=present):
            told = tuple(RefusedElsewhere(each.resource, each.words) for each in refused)
            return Elsewhere(present, current, told)
        case Unsure():
            return Elsewhere(present=True, current=False, refused=())


def _envoy_now(envoy: Envoy) -> EnvoyNow:
    holds = {kind.rpartition(".")[2]: len(names) for kind, names in sorted(envoy.versions.items())}
    since = round(time() - envoy.connected_seconds)
    return EnvoyNow(envoy.node, envoy.address, since, envoy.current, holds, envoy.last_nack)
