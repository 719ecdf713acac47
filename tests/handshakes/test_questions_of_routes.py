"""Services that rules and single backends ask about requests, by a real Envoy."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from http import HTTPStatus

import pytest
import pytest_asyncio
from msgspec import Struct

from tests.handshakes.acceptor import Pair
from tests.handshakes.backends import Backend, Speech, http_backend, speaks
from tests.handshakes.cases import AUTHORITIES, RIGHT, trusting
from tests.handshakes.deciders import Asked, deciding, knowing
from tests.handshakes.manifests import Json, edge, endpoints, policy, route, service
from tests.handshakes.rig import GATEWAY, Rig, rigged
from xds_server.snapshot import LDS, RDS

pytestmark = [pytest.mark.envoy, pytest.mark.asyncio(loop_scope="module")]

HTTP, PLAIN, WITHIN = 18080, 80, 120.0
HOST, STRICT, STRANGE = "pay.test", "strict.test", "strange.test"
ORIGIN = "https://page.test"
MOST = 40_000  # more than a connection holds back by itself
DENIED, ANSWERED, MOVED = HTTPStatus.FORBIDDEN, HTTPStatus.OK, HTTPStatus.FOUND
PAY: Json = {"name": "pay", "port": PLAIN}


class Stage(Struct, frozen=True):
    """Rules that ask, some of them behind a listener that asks as well, and who answers."""

    rig: Rig
    first: Asked  # by rules
    second: Asked  # by backends
    door: Asked  # by the strict listener
    known: list[str]  # hosts that the service was asked about that is asked by gRPC
    pay: Backend
    other: Backend

    async def ask(self, path: str, host: str = HOST, *, body: bytes = b"", **headers: str) -> int:
        """Return what a request on a connection of its own is answered, having forgotten all before."""
        asked = (self.first.heads, self.second.heads, self.door.heads)
        for each in (*asked, self.known, self.pay.told, self.other.told):
            each.clear()
        place = self.rig.place(HTTP)
        connection = await asyncio.open_connection(place.address, place.port)
        try:
            return (await said(connection, path, host, body, **headers))[0]
        finally:
            connection[1].transport.abort()

    @property
    def questions(self) -> list[int]:
        """How often each service was asked: the listener's, the rule's, the backend's, the one by gRPC."""
        heads = (self.door.heads, self.first.heads, self.second.heads, self.known)
        return [len(each) for each in heads]


async def said(
    connection: Pair, path: str, host: str, body: bytes = b"", *, method: str = "GET", **headers: str
) -> tuple[int, str]:
    """Return what a request is answered, and the head of the answer."""
    reader, writer = connection
    named = {"host": host, "content-length": str(len(body)), **headers}
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in named.items())
    async with asyncio.timeout(WITHIN):
        writer.write(f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode() + body)
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
    return int(head.split()[1]), head


def asks(name: str, protocol: str = "HTTP", *, body: int = 0, **settings: object) -> Json:
    """Return a filter that asks a service."""
    asked = {
        "protocol": protocol,
        protocol.lower(): settings,
        "backendRef": {"name": name, "port": PLAIN},
        "forwardBody": {"maxSize": body},
    }
    return {"type": "ExternalAuth", "externalAuth": asked}


def rule(path: str, *filters: Json, backend: Json = PAY, **match: object) -> Json:
    """Return what is done with requests below a path."""
    redirects = any(each["type"] == "RequestRedirect" for each in filters)
    matches = [{"path": {"value": path}, **match}]
    return {"matches": matches, "filters": list(filters), "backendRefs": [] if redirects else [backend]}


def late(*filters: Json) -> Json:
    """Return a route that asks only later."""
    return route("HTTPRoute", "late", [], rules=[rule("/late", *filters)])


def routed() -> Iterable[Json]:
    """Return a Gateway with a listener that asks and one that does not, and rules that do."""
    door = {"name": "strict", "port": HTTP, "protocol": "HTTP", "hostname": STRICT}
    yield edge(
        {"name": "open", "port": HTTP, "protocol": "HTTP"}, door | {"filters": {"requests": [asks("door")]}}
    )
    tenant = [{"name": "x-tenant", "value": "first"}]
    cors: Json = {"type": "CORS", "cors": {"allowOrigins": [ORIGIN], "allowMethods": ["GET"]}}
    away: Json = {"type": "RequestRedirect", "requestRedirect": {"scheme": "https"}}
    rules = [
        rule("/free"),
        rule("/asked", asks("first", allowedHeaders=["x-shown"], allowedResponseHeaders=["x-tenant"])),
        rule("/asked", backend={"name": "other", "port": PLAIN}, headers=tenant),
        rule("/both", asks("first"), backend=PAY | {"filters": [asks("second")]}),
        rule("/call", asks("call", "GRPC")),
        rule("/body", away, asks("first", body=MOST)),
        rule("/page", asks("first"), cors),
        rule("/gone", asks("absent")),
    ]
    yield route("HTTPRoute", "rules", [], rules=rules)
    yield late()


def served(ports: Mapping[str, int]) -> Iterable[Json]:
    """Return Services with where they are."""
    for name, port in ports.items():
        yield service(name, {PLAIN: None})
        yield from endpoints(name, PLAIN, port)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage() -> AsyncIterator[Stage]:
    known: list[str] = []
    async with (
        deciding("one", "x-tenant: first\r\nx-more: more\r\nupgrade: other\r\n") as first,
        deciding("two", "") as second,
        deciding("open", "") as door,
        knowing(HOST, known) as call,
        http_backend(Speech(lasting=True)) as pay,
        http_backend(Speech(lasting=True)) as other,
        rigged() as rig,
    ):
        ports = {"first": first.port, "second": second.port, "door": door.port, "call": call}
        rig.apply(*served(ports | {"pay": pay.port, "other": other.port}), *routed())
        await rig.settled()
        yield Stage(rig, first, second, door, known, pay, other)


async def test_who_is_denied_reaches_nobody(stage: Stage) -> None:
    assert await stage.ask("/asked", authorization="two") == DENIED
    assert stage.questions == [0, 1, 0, 0]
    assert not stage.pay.told


async def test_a_rule_that_does_not_ask_lets_pass_whom_others_would_not(stage: Stage) -> None:
    assert await stage.ask("/free") == ANSWERED
    assert stage.questions == [0, 0, 0, 0]


async def test_backends_get_the_headers_of_the_answer_that_are_allowed_and_no_other_route_is_chosen(
    stage: Stage,
) -> None:
    assert await stage.ask("/asked", authorization="one", x_shown="a", x_hidden="b") == ANSWERED
    [head] = stage.pay.told
    assert "x-tenant: first" in head
    assert "x-more" not in head
    assert not stage.other.told
    [question] = stage.first.heads
    assert "x-shown: a" in question
    assert "x-hidden" not in question


async def test_where_a_request_ends_is_not_for_the_answer_of_who_is_asked_to_say(stage: Stage) -> None:
    assert await stage.ask("/both", authorization="one two", body=b"six..") == ANSWERED
    head = stage.pay.told[0]
    assert "content-length: 5\r\n" in head
    assert "connection:" not in head
    assert "transfer-encoding:" not in head
    assert "x-more: more\r\n" in head


@pytest.mark.parametrize(
    ("word", "answer", "questions"),
    [("one two", ANSWERED, [0, 1, 1, 0]), ("one", DENIED, [0, 1, 1, 0]), ("two", DENIED, [0, 1, 0, 0])],
)
async def test_a_backend_asks_after_its_rule(
    stage: Stage, word: str, answer: int, questions: list[int]
) -> None:
    assert await stage.ask("/both", authorization=word) == answer
    assert stage.questions == questions
    assert len(stage.pay.told) == (answer == ANSWERED)


async def test_a_rule_asks_by_grpc(stage: Stage) -> None:
    assert await stage.ask("/call") == ANSWERED
    assert "x-known: yes" in stage.pay.told[0]
    assert await stage.ask("/call", STRANGE) == DENIED
    assert stage.known == [STRANGE]
    assert not stage.pay.told


@pytest.mark.parametrize(
    ("word", "answer", "questions"),
    [
        ("open one two", ANSWERED, [1, 1, 1, 0]),
        ("open one", DENIED, [1, 1, 1, 0]),
        ("open two", DENIED, [1, 1, 0, 0]),
        ("one two", DENIED, [1, 0, 0, 0]),
    ],
)
async def test_a_listener_asks_before_its_rules_and_none_is_left_out(
    stage: Stage, word: str, answer: int, questions: list[int]
) -> None:
    assert await stage.ask("/both", STRICT, authorization=word) == answer
    assert stage.questions == questions


@pytest.mark.parametrize("path", ["/free", "/asked"])
async def test_a_listener_asks_in_vain_where_only_a_rule_would_have_said_yes(stage: Stage, path: str) -> None:
    assert await stage.ask(path, STRICT, authorization="one") == DENIED
    assert await stage.ask(path, STRICT, authorization="open one") == ANSWERED


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        (b"one".rjust(MOST), MOVED),
        (b"two".rjust(MOST), DENIED),
        (b"one".rjust(MOST + 1), HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
    ],
)
async def test_who_is_asked_sees_the_whole_body_or_the_request_is_refused(
    stage: Stage, body: bytes, answer: int
) -> None:
    assert await stage.ask("/body", body=body) == answer
    assert len(stage.first.heads) == (len(body) <= MOST)


async def test_preflights_are_answered_and_asked_about_by_nobody(stage: Stage) -> None:
    answer = await stage.ask("/page", method="OPTIONS", origin=ORIGIN, access_control_request_method="GET")
    assert answer == ANSWERED
    assert stage.questions == [0, 0, 0, 0]
    assert await stage.ask("/page", origin=ORIGIN) == DENIED


async def test_where_nobody_can_be_asked_the_rule_fails(stage: Stage) -> None:
    assert await stage.ask("/gone", authorization="one") == HTTPStatus.INTERNAL_SERVER_ERROR
    stage.rig.apply(*endpoints("first", PLAIN, None))
    await stage.rig.settled()
    assert await stage.ask("/asked", authorization="one") == HTTPStatus.SERVICE_UNAVAILABLE
    assert not stage.pay.told
    stage.rig.apply(*endpoints("first", PLAIN, stage.first.port))
    await stage.rig.settled()
    assert await stage.ask("/asked", authorization="one") == ANSWERED


async def test_a_new_question_changes_no_listener_and_holds_for_open_connections(
    stage: Stage,
) -> None:
    before = stage.rig.hub.snapshot(str(GATEWAY))
    place = stage.rig.place(HTTP)
    connection = await asyncio.open_connection(place.address, place.port)
    status, _ = await said(connection, "/late", HOST)
    assert status == ANSWERED
    await connection[0].readexactly(len("ok"))
    stage.rig.apply(late(asks("first")))
    await stage.rig.settled()
    after = stage.rig.hub.snapshot(str(GATEWAY))
    assert before is not None
    assert after is not None
    assert after.entries[LDS] == before.entries[LDS]
    assert after.entries[RDS] != before.entries[RDS]
    status, head = await said(connection, "/late", HOST)
    assert status == DENIED
    assert "connection: close" not in head
    connection[1].transport.abort()
    stage.rig.apply(late())


async def test_who_is_asked_by_tls_is_told_nothing_before_its_proof(stage: Stage) -> None:
    async with http_backend(speaks(RIGHT)) as proved:
        stage.rig.apply(*AUTHORITIES, *served({"first": proved.port}), policy("first", trusting("root")))
        await stage.rig.settled()
        assert await stage.ask("/asked") == ANSWERED
        assert stage.rig.accepts("first")
        assert len(proved.told) == 1
        stage.rig.apply(policy("first", trusting("other")))
        await stage.rig.settled()
        assert await stage.ask("/asked") == HTTPStatus.SERVICE_UNAVAILABLE
        assert len(proved.told) == 1
        assert not proved.tap.cleartext


async def test_who_is_asked_by_grpc_is_asked_nothing_without_the_proof_that_a_policy_wants(
    stage: Stage,
) -> None:
    wants = policy("call", trusting("root"))
    stage.rig.apply(*AUTHORITIES, wants)
    await stage.rig.settled()
    assert await stage.ask("/call") == HTTPStatus.SERVICE_UNAVAILABLE
    assert stage.questions == [0, 0, 0, 0]
    stage.rig.delete(wants)
    await stage.rig.settled()
    assert await stage.ask("/call") == ANSWERED
