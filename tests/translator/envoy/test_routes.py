"""Route tables: where a real Envoy sends requests, and how it answers those that it sends nowhere."""

import asyncio
from collections import Counter

from tests.loopback import LOOPBACK, Answer, ask, http_backend
from tests.real_envoy import until
from tests.translator.envoy.plans import EDGE, TABLE, Hop, Plans, judged
from tests.translator.envoy.routed import (
    NOWHERE,
    PAY,
    REFUSED,
    ROOT,
    TO_PAY,
    entry,
    gateway,
    gateway_of,
    said,
)
from translator.envoy import routes
from translator.envoy.resource import ROUTES
from translator.rules.backends import Share
from translator.rules.filters import Redirect, Rewrite
from translator.rules.headers import HeaderChanges
from translator.rules.http_routes import Fail, Forward, HttpRule, Part, Split
from translator.rules.matches import HttpMatch, Named, PathExact, PathPattern, PathPrefix
from translator.rules.mirrors import Mirror
from translator.rules.paths import FullPath, NewPrefix
from translator.rules.questions import Question
from translator.rules.tables import Table


async def test_paths_headers_queries_and_methods_are_matched_as_they_are_written() -> None:
    hosts = {
        "*": [
            entry(HttpMatch(PathExact("/exact"))),
            entry(HttpMatch(PathPrefix("/below"))),
            entry(HttpMatch(PathPrefix("/slash/"))),
            entry(HttpMatch(PathPattern("/[^/]+/Pay"))),
            entry(
                HttpMatch(
                    PathExact("/header"),
                    (Named("X-Colour", "green"), Named("shade", "da.k", is_pattern=True)),
                )
            ),
            entry(HttpMatch(PathExact("/grpc"), grpc=True)),
            entry(
                HttpMatch(PathExact("/asked"), query=(Named("a", "1"), Named("b", "[0-9]+", is_pattern=True)))
            ),
            entry(HttpMatch(PathExact("/deleted"), method="DELETE")),
            entry(HttpMatch(PathExact("/got"), method="GET")),
        ]
    }
    taken = [
        "/asked?b=22&a=1",
        "/got",
        "/exact",
        "/exact?a=b",
        "/below",
        "/below/",
        "/below/a",
        "/below?a=b",
        "/slash",
        "/slash/a",
        "/a.b/Pay",
    ]
    left = [
        "/exact/",
        "/exactly",
        "/Exact",
        "/belowa",
        "/a/below",
        "/slasha",
        "/a/b/Pay",
        "/a/Payer",
        "/header",
        "/grpc",
        "/asked?a=1",
        "/asked?a=1&b=x2",
        "/deleted",
    ]
    async with gateway(hosts) as (port, _):
        answers = await asyncio.gather(*(ask(port, path) for path in taken + left))
        assert dict(zip(taken + left, map(said, answers), strict=True)) == {
            **dict.fromkeys(taken, "pay"),
            **dict.fromkeys(left, "404"),
        }
        assert said(await ask(port, "/header", {"x-COLOUR": "green", "Shade": "dark"})) == "pay"
        assert said(await ask(port, "/header", {"x-colour": "Green", "shade": "dark"})) == "404"
        assert said(await ask(port, "/grpc", {"content-type": "application/grpc+proto"})) == "pay"


async def test_the_port_behind_a_name_plays_no_part_and_reaches_the_backend_as_it_was_written() -> None:
    hosts = {
        name: [entry(HttpMatch(PathExact(f"/{name}")))] for name in ("a.example", "*.example", "*.b.example")
    }
    served = {
        "a.example": "a.example",
        "A.Example": "a.example",
        "a.example:8443": "a.example",
        "c.example": "*.example",
        "c.d.example:80": "*.example",
        "c.b.example:80": "*.b.example",
    }
    async with gateway(hosts) as (port, server):
        for host, name in served.items():
            assert said(await ask(port, f"/{name}", {"host": host})) == "pay"
            assert f"host: {host}\r\n" in server.heads[-1]
        for host in ("example", "example:80", "other", "aexample"):
            assert said(await ask(port, "/*.example", {"host": host})) == "404"


async def test_a_refused_share_fails_exactly_its_part_of_the_requests() -> None:
    def mixed(reached: int, refused: int, again: int, failure: int = 500) -> HttpRule:
        return HttpRule(Forward((Share(PAY, reached), Share(REFUSED, refused), Share(PAY, again)), failure))

    hosts = {
        "*": [
            entry(HttpMatch(PathExact("/half")), mixed(1, 2, 1)),
            entry(HttpMatch(PathExact("/grpc")), mixed(1, 10**6, 0, failure=503)),
            entry(HttpMatch(PathExact("/none")), mixed(0, 1, 0)),
            entry(HttpMatch(PathExact("/all")), mixed(1, 0, 0)),
            entry(HttpMatch(PathExact("/fail")), HttpRule(Fail(500, "never told to clients"))),
            entry(HttpMatch(PathExact("/away")), HttpRule(Forward((Share(NOWHERE, 1),)))),
        ]
    }
    async with gateway(hosts) as (port, server):
        half = Counter([said(await ask(port, "/half")) for _ in range(200)])
        assert half.keys() == {"pay", "500"}
        assert 50 < half["500"] < 150  # a fair coin leaves this range once in 10^12 runs
        assert len(server.heads) == half["pay"]
        call = await ask(port, "/grpc", {"content-type": "application/grpc"})
        assert (call.status, call.headers["grpc-status"]) == (200, "14")
        assert [said(await ask(port, f"/{path}")) for path in ("none", "all", "away")] == [
            "500",
            "pay",
            "503",
        ]
        failed = await ask(port, "/fail")
        assert failed == Answer(500, {"date": failed.headers["date"], "content-length": "0"}, "")


CLEAR, HIGH, SECURE = Table(EDGE, 80), Table(EDGE, 8080), Table(EDGE, 443, "shop.example")
REDIRECTS = [  # `a.example` is a virtual host of its own, `b.example` is one of all others
    (CLEAR, Redirect(301, scheme="https"), "a.example", "https://a.example/N?y=z"),
    (CLEAR, Redirect(301, scheme="https"), "a.example:8080", "https://a.example/N?y=z"),
    (CLEAR, Redirect(301, scheme="https"), "b.example", "https://b.example/N?y=z"),
    (CLEAR, Redirect(301, scheme="https"), "b.example:80", "https://b.example:443/N?y=z"),
    (CLEAR, Redirect(301, scheme="https"), "b.example:8080", "https://b.example:443/N?y=z"),
    (CLEAR, Redirect(302, hostname="c.example"), "b.example:8080", "http://c.example/N?y=z"),
    (CLEAR, Redirect(302, hostname="c.example", port=8080), "b.example", "http://c.example:8080/N?y=z"),
    (CLEAR, Redirect(303, hostname="c.example", port=80), "b.example", "http://c.example/N?y=z"),
    (HIGH, Redirect(302, scheme="https"), "b.example:8080", "https://b.example:443/N?y=z"),
    (HIGH, Redirect(302, scheme="http"), "a.example:8080", "http://a.example/N?y=z"),
    (HIGH, Redirect(302, scheme="https", port=8443), "b.example:8080", "https://b.example:8443/N?y=z"),
    (HIGH, Redirect(302, scheme="https", port=443), "a.example:8080", "https://a.example/N?y=z"),
    (HIGH, Redirect(302, hostname="c.example"), "b.example:8080", "http://c.example:8080/N?y=z"),
    (HIGH, Redirect(302, hostname="c.example"), "b.example", "http://c.example:8080/N?y=z"),
    (HIGH, Redirect(302), "b.example", "http://b.example:8080/N?y=z"),
    (HIGH, Redirect(307, scheme="ftp"), "a.example", "ftp://a.example:8080/N?y=z"),
    (SECURE, Redirect(308, scheme="http"), "a.example", "http://a.example/N?y=z"),
    (SECURE, Redirect(308, scheme="http", port=8080), "a.example", "http://a.example:8080/N?y=z"),
    (SECURE, Redirect(308, scheme="https", hostname="c.example"), "a.example", "https://c.example/N?y=z"),
    (CLEAR, Redirect(303, path=FullPath("/a%20b")), "a.example", "http://a.example/a%20b?y=z"),
    (
        CLEAR,
        Redirect(307, path=FullPath("/a"), scheme="https"),
        "b.example:80",
        "https://b.example:443/a?y=z",
    ),
]


async def test_a_redirect_shows_a_port_only_where_the_scheme_does_not_say_it() -> None:
    entries = {
        table: [
            entry(HttpMatch(PathExact(f"/{n}")), HttpRule(redirect))
            for n, (other, redirect, _, _) in enumerate(REDIRECTS)
            if other == table
        ]
        for table in (CLEAR, HIGH, SECURE)
    }
    tables = {table: {"a.example": routes, "*": routes} for table, routes in entries.items()}
    async with http_backend("pay") as server, gateway_of(tables, server) as ports:
        answers = [
            await ask(ports[table], f"/{n}?y=z", {"host": host})
            for n, (table, _, host, _) in enumerate(REDIRECTS)
        ]
    assert [(answer.status, answer.headers["location"]) for answer in answers] == [
        (redirect.status, location.replace("/N", f"/{n}"))
        for n, (_, redirect, _, location) in enumerate(REDIRECTS)
    ]


async def test_mirrors_get_their_part_of_the_requests_as_they_were_and_none_is_waited_for() -> None:
    mirrors = (Mirror(PAY), Mirror(PAY, 500_000), Mirror(NOWHERE))
    hosts = {"*": [entry(ROOT, HttpRule(Forward((Share(PAY, 1),), mirrors=mirrors)))]}
    async with gateway(hosts) as (port, server):
        for _ in range(100):
            assert said(await ask(port, "/a?b", {"host": "pay.example"})) == "pay"

        async def enough() -> bool:
            return len(server.heads) > 200

        await until(enough)
        assert len(server.heads) <= 300
        assert all(head.startswith("GET /a?b ") and "host: pay.example\r\n" in head for head in server.heads)
    assert routes.build(TABLE, "*", hosts["*"]).targets == (str(NOWHERE), str(PAY))


NEW_PATHS = [  # what is asked for, the prefix that takes it, its replacement, what becomes of it
    ("/foo/bar?a=/foo", "/foo", "/xyz", "/xyz/bar?a=/foo"),
    ("/foo", "/foo", "/xyz", "/xyz"),
    ("/foo/", "/foo", "/xyz", "/xyz/"),
    ("/foo/bar", "/foo", "", "/bar"),
    ("/foo/foo/bar?a=b", "/foo", "", "/foo/bar?a=b"),
    ("/foo/", "/foo", "", "/"),
    ("/foo", "/foo", "", "/"),
    ("/foo?a=b", "/foo", "", "/?a=b"),
    ("/bar", "/", "/xyz", "/xyz/bar"),
    ("/", "/", "/xyz", "/xyz/"),
    ("/bar?a=b", "/", "", "/bar?a=b"),
]


async def test_a_new_prefix_takes_the_place_of_the_one_that_matched_in_redirects_and_rewrites() -> None:
    for asked, prefix, new, becomes in NEW_PATHS:
        match, path = HttpMatch(PathPrefix(prefix)), NewPrefix(new)
        hosts = {
            "sent.example": [entry(match, HttpRule(Redirect(302, path=path)))],
            "*": [entry(match, HttpRule(Forward((Share(PAY, 1),), rewrite=Rewrite(path=path))))],
        }
        async with gateway(hosts) as (port, server):
            sent = await ask(port, asked, {"host": "sent.example"})
            assert sent.headers["location"] == f"http://sent.example{becomes}"
            assert said(await ask(port, asked)) == "pay"
            assert server.heads[-1].startswith(f"GET {becomes} HTTP/1.1\r\n")


async def test_a_rewrite_shows_the_backend_another_host_and_another_path() -> None:
    rewrite = Rewrite("other.example", FullPath("/new/%20path"))
    forward = Forward((Share(PAY, 1),), rewrite=rewrite)
    async with gateway({"*": [entry(ROOT, HttpRule(forward))]}) as (port, server):
        assert said(await ask(port, "/a/b?c=d/e")) == "pay"
    [head] = server.heads
    assert head.startswith("GET /new/%20path?c=d/e HTTP/1.1\r\n")
    assert "host: other.example\r\n" in head


async def test_headers_of_answers_are_changed_to_the_letter() -> None:
    gone = ("content-type", "server")
    changes = HeaderChanges(set=(("x-set", "100%"),), add=(("x-add", "%b"),), remove=gone)
    rules = {
        "/": HttpRule(TO_PAY.action, response_headers=changes),
        "/sent": HttpRule(Redirect(302, hostname="other.example"), response_headers=changes),
    }
    async with gateway({"*": [entry(HttpMatch(PathExact(path)), rule) for path, rule in rules.items()]}) as (
        port,
        _,
    ):
        for path in rules:
            headers = (await ask(port, path)).headers
            assert (headers["x-set"], headers["x-add"]) == ("100%", "%b")
            assert not set(gone) & set(headers)


async def test_request_headers_are_changed_to_the_letter_and_none_of_them_steers_envoy() -> None:
    changes = HeaderChanges(
        set=(("X-Set", "100%"), ("x-new", "%REQ(host)%")), add=(("x-add", "b"),), remove=("x-gone",)
    )
    sent = {"x-set": "a", "x-add": "a", "x-gone": "a", "x-kept": "a", "x-envoy-original-path": "/"}
    async with gateway({"*": [entry(ROOT, HttpRule(TO_PAY.action, changes))]}) as (port, server):
        await ask(port, "/", sent)
    [head] = server.heads
    headers = head.lower().split("\r\n")
    assert {"x-set: 100%", "x-new: %req(host)%", "x-add: a", "x-add: b", "x-kept: a"} <= set(headers)
    assert not {"x-set: a", "x-gone: a", "x-envoy-original-path: /"} & set(headers)


def test_a_table_names_the_clusters_that_its_requests_are_sent_to() -> None:
    part = HttpRule(Forward((Share(PAY, 1), Share(REFUSED, 1), Share(NOWHERE, 0))))
    alone = HttpRule(Forward((Share(REFUSED, 1),)))
    hosts = {
        "*": [entry(ROOT, rule) for rule in (part, alone, HttpRule(Fail(500, "")), HttpRule(Redirect(301)))]
    }
    built = judged(Plans(hosts={TABLE: hosts, SECURE: {"*": hosts["*"][1:]}}, hops=(Hop(PAY),)))[ROUTES]
    assert built[str(TABLE)].targets == ("legation/refused", "shop/pay:8080")
    assert built[str(SECURE)].targets == ()
    assert routes.build(TABLE, "a.example", hosts["*"]).targets == built[str(TABLE)].targets


def test_a_table_names_whom_its_routes_ask() -> None:
    asks = (Question(NOWHERE, by_grpc=False),)
    split = HttpRule(Split((Part(1, HttpRule(Redirect(301), asks=asks)), Part(1, TO_PAY))))
    assert routes.build(TABLE, "a.example", [entry(ROOT, split)]).targets == (str(NOWHERE), str(PAY))


async def test_a_match_by_connect_never_takes_a_request_which_is_why_it_is_refused() -> None:
    hosts = {"*": [entry(HttpMatch(PathPrefix("/"), method="CONNECT")), entry(HttpMatch(PathPrefix("/")))]}
    async with gateway(hosts) as (port, server):
        reader, writer = await asyncio.open_connection(LOOPBACK, port)
        writer.write(b"CONNECT pay.test:443 HTTP/1.1\r\nhost: pay.test:443\r\n\r\n")
        assert await reader.readuntil(b"\r\n") == b"HTTP/1.1 404 Not Found\r\n"
        writer.close()
        assert server.heads == []
