"""Sessions: a real Envoy sends requests of one session to one endpoint of each backend."""

import asyncio
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from http.client import HTTPConnection
from http.cookies import SimpleCookie

import pytest

from tests.loopback import LOOPBACK, Answer, Backend, ask, http_backend
from tests.sessions import bodies, cookies, many
from tests.translator.envoy.plans import TABLE, backend
from tests.translator.envoy.routed import PAY, REFUSED, entry, envoy_of
from translator.rules.backends import Share
from translator.rules.filters import Rewrite
from translator.rules.http_routes import Forward, HttpRule, Part, Split
from translator.rules.matches import HttpMatch, PathPrefix
from translator.rules.paths import FullPath
from translator.rules.sessions import Cookie, Header

pytestmark = pytest.mark.envoy

WEB = backend("web")
HALVES = (Share(PAY, 1, Cookie("legation-pay", "/")), Share(WEB, 1, Cookie("legation-web", "/")))
RULES = {
    "/named": HttpRule(Forward((Share(PAY, 1, Cookie("SID", "/")),))),
    "/below": HttpRule(Forward((Share(PAY, 1, Cookie("SID", "/below", lifetime=90, is_permanent=True)),))),
    "/ending": HttpRule(Forward((Share(PAY, 1, Cookie("SID", "/", lifetime=90)),))),
    "/header": HttpRule(Forward((Share(PAY, 1, Header("x-session")),))),
    "/halves": HttpRule(Forward((*HALVES, Share(REFUSED, 1)))),
    "/parts": HttpRule(
        Split(
            tuple(
                Part(1, HttpRule(Forward((share,), rewrite=Rewrite(path=FullPath(path)))))
                for share, path in zip(HALVES, ("/pay", "/web"), strict=True)
            )
        )
    ),
}
EXPIRES = b"\x10"  # what in a cookie's value stands before its end, in seconds since 1970


@asynccontextmanager
async def before(*pay: Backend, web: Sequence[Backend] = ()) -> AsyncIterator[int]:
    """Run an Envoy before endpoints of two backends."""
    hosts = {"*": [entry(HttpMatch(PathPrefix(path)), rule) for path, rule in RULES.items()]}
    async with envoy_of({TABLE: hosts}, {PAY: pay, WEB: web}) as ports:
        yield ports[TABLE]


@asynccontextmanager
async def servers(*names: str) -> AsyncIterator[list[Backend]]:
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(http_backend(name)) for name in names]


async def visits(port: int, path: str, headers: Mapping[str, str] | None = None) -> list[Answer]:
    return await many(lambda: ask(port, path, headers))


async def test_a_cookie_leads_to_the_same_endpoint_for_as_long_as_the_endpoint_is_there() -> None:
    async with servers("one", "two", "three") as them:
        async with before(*them) as port:
            assert bodies(await visits(port, "/named")) == {"one", "two", "three"}
            first = await ask(port, "/named")
            shown = cookies([first])
            assert bodies(await visits(port, "/named", shown)) == {first.body}
            assert any(f"cookie: {shown['cookie']}\r\n" in head for server in them for head in server.heads)
        rest = [
            server for server, name in zip(them, ("one", "two", "three"), strict=True) if name != first.body
        ]
        async with before(*rest) as port:
            again = await ask(port, "/named", shown)
            assert again.status == 200
            assert again.body != first.body
            assert bodies(await visits(port, "/named", cookies([again]))) == {again.body}


async def test_a_cookie_says_no_more_than_is_asked_for() -> None:
    async with servers("one") as them, before(*them) as port:
        session = SimpleCookie((await ask(port, "/named")).headers["set-cookie"])["SID"]
        permanent = SimpleCookie((await ask(port, "/below")).headers["set-cookie"])["SID"]
    assert (session["path"], session["samesite"], session["httponly"]) == ("/", "Strict", True)
    assert (session["max-age"], session["expires"], session["secure"]) == ("", "", "")
    assert (permanent["path"], permanent["max-age"]) == ("/below", "90")


def given(port: int, path: str) -> list[str]:
    """Return all cookies of an answer, as they are written."""
    connection = HTTPConnection(LOOPBACK, port, timeout=60)
    connection.request("GET", path)
    found = connection.getresponse().headers.get_all("set-cookie", [])
    connection.close()
    return found


async def test_a_cookie_may_end_at_the_gateway_and_say_nothing_of_it_while_others_are_as_they_were() -> None:
    own = {"set-cookie": "SIDE=x; Max-Age=7"}
    async with http_backend("one", headers=own) as one, before(one) as port:
        [others, session] = sorted(
            await asyncio.to_thread(given, port, "/ending"), key=lambda each: each.startswith("SID=")
        )
    assert others == own["set-cookie"]
    assert "max-age" not in session.lower()
    assert EXPIRES in b64decode(SimpleCookie(session)["SID"].value)


@pytest.mark.parametrize("path", ["/below", "/ending"])
async def test_a_cookie_leads_nowhere_after_its_end_even_if_a_client_still_has_it(path: str) -> None:
    async with servers("one", "two") as them, before(*them) as port:
        first = await ask(port, path)
        value = b64decode(SimpleCookie(first.headers["set-cookie"])["SID"].value)
        address, end = value[: 2 + value[1]], value[2 + value[1] :]
        assert end[:1] == EXPIRES
        for brought, served in ((value, {first.body}), (address + EXPIRES + b"\x01", {"one", "two"})):
            shown = {"cookie": f'SID="{b64encode(brought).decode()}"'}
            assert bodies(await visits(port, path, shown)) == served


async def test_a_header_leads_to_the_same_endpoint() -> None:
    async with servers("one", "two") as them, before(*them) as port:
        first = await ask(port, "/header")
        shown = {"x-session": first.headers["x-session"]}
        assert bodies(await visits(port, "/header", shown)) == {first.body}
        assert bodies(await visits(port, "/header")) == {"one", "two"}


@pytest.mark.parametrize("path", ["/halves", "/parts"])
async def test_a_session_has_one_endpoint_of_each_backend_and_leaves_the_shares_as_they_are(
    path: str,
) -> None:
    async with (
        servers("pay one", "pay two", "web one", "web two") as them,
        before(*them[:2], web=them[2:]) as port,
    ):
        assert bodies(await visits(port, path)) == {"pay one", "pay two", "web one", "web two"}
        shown = cookies(await visits(port, path))
        assert shown["cookie"].count("legation-") == 2
        answers = await visits(port, path, shown)
        assert {each.partition(" ")[0] for each in bodies(answers)} == {"pay", "web"}
        assert len(bodies(answers)) == 2
        assert {answer.status for answer in answers} == ({200, 500} if path == "/halves" else {200})
