"""A small API server over real HTTP, with which things go wrong when a test says so."""

import asyncio
import json
import re
import ssl
from bisect import bisect_right, insort
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from operator import itemgetter
from pathlib import Path
from random import Random

from aiohttp import web
from msgspec import Struct

from tests.k8s_watch.faults import Answer, Json, bookmark, refusal, send, streaming

SOON = 120.0  # seconds; a deadline, not a pause
LAGS = 0.1  # seconds at most by which a watch is late
LOOPBACK = "127.0.0.1"
ROOT = re.compile(r"/apis/[^/]+/[^/]+|/api/[^/]+")
PARTIAL = "as=PartialObjectMetadata"
COMPACTED = "The resourceVersion for the provided watch is too old"

Key = tuple[str, str, str]  # plural, namespace, name


class Fault(Struct, frozen=True):
    """Something that goes wrong with the next request of one sort: find, list, watch, get, write."""

    sort: str
    answer: Answer
    lasts: bool = False  # it goes wrong with each that follows, too


class Seen(Struct, frozen=True):
    """A request, as it came, and when by the event loop's clock."""

    at: float
    sort: str
    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes


class FaultyApi:
    """Objects of `example.com/v1`, with lists in pages, watches and optimistic concurrency."""

    def __init__(self) -> None:
        self.objects: dict[Key, dict[str, Json]] = {}
        self.roots = {"/apis/example.com/v1"}  # where kinds are served
        self.kinds = {"widgets", "secrets"}
        self.away: frozenset[str] = frozenset()  # kinds that are not answered about for a while
        self.forbidden: frozenset[str] = frozenset()  # names of which nobody may read the objects
        self.blank = Counter[str]()  # how many lists of a kind are to come back without anything
        self.lags: Random | None = None  # by which each watch is late on its own, if any is
        self.streams_lists = True
        self.token: str | None = None
        self.requests: list[Seen] = []
        self.faults: list[Fault] = []
        self.revision = 100
        self.forgotten = 0
        self.port = 0
        self._keys: dict[str, list[Key]] = defaultdict(list)  # by plural, and in order
        self._history: list[tuple[int, str, str, str]] = []
        self._ending = 0
        self._hushed: dict[str, int] = {}
        self._news = asyncio.Condition()

    # what users do

    async def put(self, name: str, plural: str = "widgets", namespace: str = "shop", **fields: Json) -> None:
        """Create or change an object."""
        self.revision += 1
        key = (plural, namespace, name)
        metadata: dict[str, Json] = {
            "name": name,
            "namespace": namespace,
            "labels": fields.pop("labels", {}),
            "ownerReferences": fields.pop("owners", []),
            "generation": fields.pop("generation", 0) or self._generation(key, fields),
            "resourceVersion": str(self.revision),
        }
        kind = "MODIFIED" if key in self.objects else "ADDED"
        if kind == "ADDED":
            insort(self._keys[plural], key)
        self.objects[key] = {"apiVersion": "example.com/v1", "metadata": metadata, **fields}
        await self._note(key, kind, self.objects[key])

    def _generation(self, key: Key, fields: dict[str, Json]) -> int:
        """Count how often an object was changed in more than its status."""
        if (before := self.objects.get(key)) is None:
            return 1
        known: int = before["metadata"]["generation"]  # type: ignore[call-overload, index, assignment]  # as we made it
        spec, said = ({**each, "status": None} for each in (_fields(before), fields))
        return known if spec == said else known + 1

    async def delete(self, name: str, plural: str = "widgets", namespace: str = "shop") -> None:
        """Delete an object."""
        self.revision += 1
        last = self.objects.pop((plural, namespace, name))
        self._keys[plural].remove((plural, namespace, name))
        metadata: dict[str, Json] = {
            "name": name,
            "namespace": namespace,
            "resourceVersion": str(self.revision),
        }
        await self._note((plural, namespace, name), "DELETED", {**last, "metadata": metadata})

    async def end_watches(self) -> None:
        """End every watch in good order."""
        async with self._news:
            self._ending += 1
            self._news.notify_all()

    async def hush(self, plural: str) -> None:
        """Say nothing more on the watches of a kind that stand now, and do not end them either."""
        async with self._news:
            self._hushed[plural] = len(self.requests)
            self._news.notify_all()

    def forget(self) -> None:
        """Forget how everything came to be as it is."""
        self.forgotten = self.revision

    async def lose_memory(self, lists: int) -> None:
        """Forget how everything came to be as it is and, for so many lists of each kind, what there is."""
        self.revision += 1
        self.forget()
        self.blank.update(dict.fromkeys(self.kinds, lists))
        await self.end_watches()

    async def leave(self, *kinds: str) -> None:
        """Answer about all but these kinds from now on."""
        self.away = frozenset(kinds)
        async with self._news:
            self._news.notify_all()

    def fault(self, sort: str, answer: Answer, times: int = 1) -> None:
        """Let something go wrong with the next requests of a sort."""
        self.faults += [Fault(sort, answer)] * times

    def fail(self, sort: str, answer: Answer) -> None:
        """Let something go wrong with all requests of a sort, until the faults are cleared."""
        self.faults.append(Fault(sort, answer, lasts=True))

    def count(self, sort: str) -> int:
        """Return how many requests of a sort there were."""
        return sum(seen.sort == sort for seen in self.requests)

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until what was asked makes something hold."""
        async with asyncio.timeout(SOON), self._news:
            await self._news.wait_for(holds)

    async def _note(self, key: Key, kind: str, thing: dict[str, Json]) -> None:
        plural, namespace, _ = key
        line = json.dumps({"type": kind, "object": thing})
        self._history.append((self.revision, plural, namespace, line))
        async with self._news:
            self._news.notify_all()

    # HTTP

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer one request, or let it go wrong."""
        body, at = await request.read(), asyncio.get_running_loop().time()
        sort = _sort(request)
        self.requests.append(
            Seen(at, sort, request.method, request.path, dict(request.query), request.headers.copy(), body)
        )
        fault = next((each for each in self.faults if each.sort == sort), None)
        if fault is not None and not fault.lasts:
            self.faults.remove(fault)
        async with self._news:
            self._news.notify_all()
        if fault is not None:
            return await fault.answer(request)
        if self.token and request.headers.get("authorization") != f"Bearer {self.token}":
            return refusal(401, "Unauthorized")
        answers = {"find": self._find, "list": self._list, "watch": self._watch, "get": self._get}
        return await answers.get(sort, self._write)(request)

    async def _find(self, request: web.Request) -> web.StreamResponse:
        if request.path not in self.roots:
            return refusal(404, "no such version")
        return web.json_response({"resources": [{"name": plural} for plural in sorted(self.kinds)]})

    async def _list(self, request: web.Request) -> web.StreamResponse:
        plural, namespace = _collection(request)
        if plural in self.away:
            return refusal(503, "nobody leads")
        if plural not in self.kinds:
            return refusal(404, "no such kind")
        revision, _, start = request.query.get("continue", f"{self.revision}:0").partition(":")
        if int(revision) < self.forgotten:
            return refusal(410, "the token is too old")
        found = self._listed(plural, namespace)
        begin = int(start)
        end = begin + int(request.query.get("limit", len(found)))
        more = f"{revision}:{end}" if end < len(found) else ""
        metadata = {"resourceVersion": revision, "continue": more}
        items = [_as_asked(request, each) for each in found[begin:end]]
        return web.json_response({"metadata": metadata, "items": items or None})

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        plural, namespace = _collection(request)
        if plural in self.away:
            return refusal(503, "nobody leads")
        streams = request.query.get("sendInitialEvents") == "true"
        after = int(request.query.get("resourceVersion", "0") or "0")
        if plural not in self.kinds:
            return refusal(404, "no such kind")
        if streams and not self.streams_lists:
            return refusal(422, "sendInitialEvents is forbidden")
        if after and after < self.forgotten:
            return refusal(410, COMPACTED)
        response = await streaming(request)
        if streams:
            after = self.revision
            for thing in self._listed(plural, namespace):
                await send(response, {"type": "ADDED", "object": thing})
            await send(response, bookmark(after, ends_list=True))
        await self._follow(response, plural, namespace, after)
        return response

    async def _follow(self, response: web.StreamResponse, plural: str, namespace: str, after: int) -> None:
        ending, begun = self._ending, len(self.requests)
        place = bisect_right(self._history, after, key=itemgetter(0))  # all that was before is not looked at
        while ending == self._ending and plural not in self.away:
            while place < len(self._history):
                _, kind, where, line = self._history[place]
                place += 1
                if kind == plural and namespace in ("", where):
                    if begun <= self._hushed.get(plural, -1):
                        await asyncio.Event().wait()
                    if self.lags is not None:
                        await asyncio.sleep(LAGS * self.lags.random())
                    await response.write(line.encode() + b"\n")
            after = self.revision
            async with self._news:
                while after == self.revision and ending == self._ending and plural not in self.away:
                    await self._news.wait()

    async def _get(self, request: web.Request) -> web.StreamResponse:
        key = _key(request)
        if key[2] in self.forbidden:
            return refusal(403, "you may not")
        thing = self.objects.get(key)
        return refusal(404, "not found") if thing is None else web.json_response(_as_asked(request, thing))

    async def _write(self, request: web.Request) -> web.StreamResponse:
        plural, namespace, name = key = _key(request)
        body = json.loads(await request.read() or b"{}")
        if request.method == "POST":
            name = body["metadata"].get("name", "made")
            if (plural, namespace, name) in self.objects:
                return refusal(409, "there is one already")
            await self.put(name, plural, namespace, **_fields(body))
            return web.json_response(self.objects[plural, namespace, name], status=201)
        before = self.objects.get(key)
        if request.method == "PATCH" and "apply-patch" in request.headers["content-type"]:
            before = before or {"metadata": {"resourceVersion": ""}}
            body |= {"owners": body["metadata"].get("ownerReferences", [])}
        if before is None:
            return refusal(404, "not found")
        if request.method == "DELETE":
            await self.delete(name, plural, namespace)
            return web.json_response({"kind": "Status", "status": "Success"})
        wanted = body.get("metadata", {}).get("resourceVersion")
        if wanted not in (None, before["metadata"]["resourceVersion"]):  # type: ignore[call-overload, index]  # an object's own
            return refusal(409, "the object has been modified")
        fields = _fields(body) if request.method == "PUT" else merged(_fields(before), _fields(body))
        await self.put(name, plural, namespace, **fields)
        return web.json_response(self.objects[key])

    def _listed(self, plural: str, namespace: str) -> list[dict[str, Json]]:
        if self.blank[plural]:
            self.blank[plural] -= 1
            return []
        return self._matching(plural, namespace)

    def _matching(self, plural: str, namespace: str) -> list[dict[str, Json]]:
        keys = (key for key in self._keys[plural] if namespace in ("", key[1]))
        return [self.objects[key] for key in keys]


@asynccontextmanager
async def serving(api: FaultyApi, tls: ssl.SSLContext | None = None) -> AsyncIterator[FaultyApi]:
    """Serve on a port of loopback."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", api.handle)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, LOOPBACK, 0, ssl_context=tls)
    await site.start()
    api.port = runner.addresses[0][1]
    try:
        yield api
    finally:
        await runner.cleanup()


def write_kubeconfig(folder: Path, server: str, **user: Json) -> Path:
    """Write a kubeconfig; `authority` is a file with the server's CA."""
    cluster = {"server": server} | (
        {"certificate-authority": user.pop("authority")} if "authority" in user else {}
    )
    config = {
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me"}}],
        "clusters": [{"name": "here", "cluster": cluster}],
        "users": [{"name": "me", "user": user}],
    }
    path = folder / "kubeconfig"
    path.write_text(json.dumps(config))  # JSON is YAML
    return path


def _as_asked(request: web.Request, thing: dict[str, Json]) -> dict[str, Json]:
    """Return an object, or its metadata if no more is asked for."""
    return {"metadata": thing["metadata"]} if PARTIAL in request.headers.get("accept", "") else thing


def _steps(request: web.Request) -> list[str]:
    return ROOT.sub("", request.path).split("/")[1:]


def _sort(request: web.Request) -> str:
    """Tell what sort of request it is."""
    steps = _steps(request)
    if request.method != "GET":
        return "write"
    if not steps:
        return "find"
    if len(steps) in (2, 4):
        return "get"
    return "watch" if request.query.get("watch") == "true" else "list"


def _collection(request: web.Request) -> tuple[str, str]:
    steps = _steps(request)
    return (steps[0], "") if len(steps) == 1 else (steps[2], steps[1])


def _key(request: web.Request) -> Key:
    steps = _steps(request)
    if len(steps) == 2:  # a kind without namespaces: no more than its name and the object's
        return steps[0], "", steps[1]
    _, namespace, plural, *name = steps
    return plural, namespace, name[0] if name else ""


def _fields(thing: dict[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in thing.items() if name not in ("apiVersion", "kind", "metadata")}


def merged(before: Json, patch: Json) -> dict[str, Json]:
    """Apply a JSON merge patch."""
    after = dict(before) if isinstance(before, dict) else {}
    for name, value in patch.items() if isinstance(patch, dict) else ():
        if value is None:
            after.pop(name, None)
        else:
            after[name] = merged(after.get(name), value) if isinstance(value, dict) else value
    return after
