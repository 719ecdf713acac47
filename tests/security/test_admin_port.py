"""The admin port, attacked by pages in an operator's browser and by whoever reaches it, at every route."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import NamedTuple

import pytest

from legation.addresses import HostPort
from legation.admin.maps import Question
from legation.admin.metrics import Telemetry
from legation.admin.server import AdminPort, answering
from legation.folder import Folder, read
from legation.standing import Standing
from legation.workbench import Workbench
from tests.legation.manifest_texts import LEGATION_CLASS, gateway, route, together
from tests.looking import SOON
from xds_server.hub import Hub

SHOP = together(LEGATION_CLASS, gateway("edge", 80), route("store", "store"))

HOST = "localhost"
FILLED = {"kind": "Gateway", "namespace": "infra", "name": "edge"}
METHODS = ("POST", "PUT", "PATCH", "DELETE", "TRACE", "OPTIONS", "PROPFIND", "LEGATION")
# What a browser that was led here by a name of somebody else's would send, and what tries to look like ours.
NAMES_OF_OTHERS = (
    "evil.example",
    "localhost.evil.example",
    "localhost@evil.example",
    "evil.example@localhost.evil.example:19080",
    "127.0.0.1.evil.example",
    "127.0.0.1@evil.example",
    "evil.example:19080",
    "localhost.",
    "xn--lcalhost-q4a",
    "evil.example#localhost",
    "evil.example/localhost",
)
OUT_OF_THE_FOLDER = (
    "/assets/../server.py",
    "/assets/..%2fserver.py",
    "/assets/%2e%2e/server.py",
    "/assets/%2e%2e%2f%2e%2e%2fserver.py",
    "/assets/..%5cserver.py",
    "/assets/page.html%00.css",
    "/assets//etc/passwd",
    "/assets/%2fetc%2fpasswd",
    "//etc/passwd",
    "/../../etc/passwd",
    "/assets/",
    "/assets/.",
)


class Answer(NamedTuple):
    """An answer as it came."""

    status: int
    headers: Mapping[str, str]
    body: bytes


CUT_OFF = Answer(0, {}, b"")


class Port:
    """An admin port, and every path that it has something to say at."""

    def __init__(self, number: int, paths: tuple[str, ...]) -> None:
        self.number = number
        self.paths = paths

    async def ask(self, target: str, *headers: str, method: str = "GET", host: str | None = HOST) -> Answer:
        """Send a request as bytes, without a client that would correct it."""
        named = [f"Host: {host}"] if host is not None else []
        lines = (f"{method} {target} HTTP/1.1", *named, *headers, "Connection: close", "", "")
        return await self.send("\r\n".join(lines).encode())

    async def send(self, request: bytes) -> Answer:
        """Send any bytes, and read until the port has said all."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.number)
        try:
            writer.write(request)
            async with asyncio.timeout(SOON):
                head, _, body = (await reader.read()).partition(b"\r\n\r\n")
        except ConnectionError:  # it had enough, and did not wait for the rest
            return CUT_OFF
        finally:
            writer.close()
        first, *lines = head.decode().split("\r\n")
        found = dict(line.lower().split(": ", 1) for line in lines)
        return Answer(int(first.split()[1]), found, body)


@asynccontextmanager
async def admin_port() -> AsyncIterator[Port]:
    """Open the port of a process that serves a small shop."""
    workbench, standing, folder = Workbench(), Standing(Hub(lambda _: None), dict), Folder()
    folder.take("shop.yaml", read(SHOP, "shop.yaml"))
    standing.take(workbench.work(folder.changes()))

    async def ask(question: Question) -> bytes | None:
        return question(workbench.world)

    port = AdminPort(standing, Telemetry(), frozenset({HOST}), ask=ask)
    resources = (route.resource for route in port.app().router.routes())
    paths = {each.canonical.format(**FILLED) for each in resources if each is not None}
    async with answering(port, HostPort("127.0.0.1", 0)) as at:
        yield Port(at, (*sorted(paths), "/nowhere", "/assets/page.html"))


@pytest.fixture
async def port() -> AsyncIterator[Port]:
    async with admin_port() as opened:
        yield opened


async def test_every_route_that_there_is_answers_somebody_here(port: Port) -> None:
    """So that what is refused below is refused for its reason."""
    assert {"/", "/metrics", "/api/v1/status"} <= {*port.paths}
    for path in port.paths:
        assert (await port.ask(path)).status in {200, 404}, path


async def test_a_page_that_had_its_name_led_here_gets_nothing_by_any_route(port: Port) -> None:
    for path in port.paths:
        for name in NAMES_OF_OTHERS:
            answer = await port.ask(path, host=name)
            assert answer.status in {400, 421}, (path, name)
            assert b"infra/edge" not in answer.body


async def test_a_name_that_is_none_is_refused_as_others_are_and_breaks_nothing(port: Port) -> None:
    for name in (b"\xff", b"a\xc3\xa9\xff", b"\xed\xa0\x80"):
        answer = await port.send(b"GET /healthz HTTP/1.1\r\nHost: " + name + b"\r\nConnection: close\r\n\r\n")
        assert answer.status in {400, 421}, name


@pytest.mark.parametrize("host", ["localhost:99999", "127.0.0.1:1:2", "localhost:x", "a\u2024" * 64])
async def test_what_can_be_no_host_is_refused_as_one_of_others_and_is_no_mistake_of_ours(
    port: Port, host: str, caplog: pytest.LogCaptureFixture
) -> None:
    answer = await port.ask("/api/v1/status", host=host)
    assert (answer.status, answer.headers.get("server")) == (421, "legation")
    assert caplog.records == []


async def test_the_host_that_counts_is_the_one_that_a_browser_sends(port: Port) -> None:
    for path in port.paths:
        absolute = await port.ask(f"http://evil.example{path}")
        twice = await port.ask(path, "Host: localhost", host="evil.example")
        forwarded = await port.ask(
            path, "X-Forwarded-Host: localhost", "Forwarded: host=localhost", host="evil.test"
        )
        for answer in (absolute, twice, forwarded):
            assert answer.status in {400, 421}, path
            assert b"infra/edge" not in answer.body


async def test_a_browser_that_asked_a_secure_place_is_answered_whatever_name_that_passed_on(
    port: Port,
) -> None:
    for path in port.paths:
        for site in ("none", "same-origin"):
            answer = await port.ask(path, f"Sec-Fetch-Site: {site}", host="api.cluster.example:6443")
            assert answer.status in {200, 404}, path


async def test_nothing_but_reading_is_possible_by_any_route(port: Port) -> None:
    for path in port.paths:
        for method in METHODS:
            answer = await port.ask(path, "Content-Length: 0", method=method)
            assert answer.status in {400, 404, 405}, (method, path)


async def test_no_page_of_another_origin_may_read_an_answer(port: Port) -> None:
    asks = ("Origin: http://evil.example", "Access-Control-Request-Private-Network: true")
    wishes = ("Access-Control-Request-Method: GET", "Access-Control-Request-Headers: sec-legation")
    for path in port.paths:
        for answer in (await port.ask(path, *asks), await port.ask(path, *asks, *wishes, method="OPTIONS")):
            assert not [name for name in answer.headers if name.startswith("access-control")], path
            assert answer.headers["cross-origin-resource-policy"] == "same-origin", path


async def test_every_answer_forbids_to_be_guessed_at_framed_or_to_load_from_elsewhere(port: Port) -> None:
    asking = [port.ask(path, host=host) for path in port.paths for host in (HOST, "evil.example")]
    asking += [port.ask(path, method="POST") for path in port.paths]
    for ask in asking:
        answer = await ask
        if answer.status == 400:
            continue  # no request at all
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("path", OUT_OF_THE_FOLDER)
async def test_no_path_leads_out_of_the_pages_files(port: Port, path: str) -> None:
    answer = await port.ask(path)
    assert answer.status in {400, 404}
    assert b"import" not in answer.body
    assert b"root:" not in answer.body


async def test_no_path_writes_a_header_of_an_answer(port: Port) -> None:
    for path in port.paths:
        for added in ("%0d%0aset-cookie:%20a=b", "?q=%0d%0aset-cookie:%20a=b", "%0aset-cookie: a=b"):
            answer = await port.ask(f"{path}{added}")
            assert "set-cookie" not in answer.headers
            assert answer.status in {200, 400, 404}


_GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n"
ODD_REQUESTS = {
    "two lengths": _GET + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "long header": _GET + b"X: " + b"x" * (1 << 20) + b"\r\n\r\n",
    "long path": b"GET /" + b"x" * (1 << 20) + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "folded header": _GET + b" bad: folded\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
}


@pytest.mark.parametrize("odd", ODD_REQUESTS)
async def test_what_is_no_proper_request_is_refused_and_no_other_waits(port: Port, odd: str) -> None:
    assert (await port.send(ODD_REQUESTS[odd])).status in {400, CUT_OFF.status}
    assert (await port.ask("/healthz")).status == 200


async def test_requests_that_are_begun_and_left_keep_no_other_waiting(port: Port) -> None:
    left = [await asyncio.open_connection("127.0.0.1", port.number) for _ in range(200)]
    for _, writer in left:
        writer.write(b"GET /api/v1/status HTTP/1.1\r\nHost: local")
    for path in port.paths:
        assert (await port.ask(path)).status in {200, 404}
    for _, writer in left:
        writer.close()
