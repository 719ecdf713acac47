"""Backends of one rule that each get something else: what reaches them, and how much of it."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import pytest

from tests.loopback import Backend as Server
from tests.loopback import ask, http_backend
from tests.real_envoy import until
from tests.translator.envoy.plans import TABLE, backend
from tests.translator.envoy.routed import PAY, REFUSED, entry, envoy_of, said
from translator.envoy import routes
from translator.rules.backends import Backend, Share
from translator.rules.filters import Redirect, Rewrite
from translator.rules.headers import HeaderChanges
from translator.rules.http_routes import Fail, Forward, HttpRule, Part, Split
from translator.rules.matches import HttpMatch, PathPrefix
from translator.rules.mirrors import Mirror
from translator.rules.paths import FullPath, NewPrefix

pytestmark = pytest.mark.envoy

WEB = backend("web")
FAILED = HttpRule(Fail(500, "no backend can be reached"))
ASKED = 800  # of so many requests a quarter is between 115 and 285, save once in 10^12 runs
AT_A_TIME = 40


def to(target: Backend, rewrite: Rewrite | None = None, mirrors: tuple[Mirror, ...] = ()) -> Forward:
    return Forward((Share(target, 1),), rewrite=rewrite, mirrors=mirrors)


def split(*parts: tuple[int, HttpRule]) -> HttpRule:
    return HttpRule(Split(tuple(Part(*part) for part in parts)))


@asynccontextmanager
async def before(rules: Mapping[str, HttpRule]) -> AsyncIterator[tuple[int, Server, Server]]:
    """Run an Envoy with a rule for each path, before two backends."""
    hosts = {"*": [entry(HttpMatch(PathPrefix(path)), rule) for path, rule in rules.items()]}
    async with (
        http_backend("pay") as pay,
        http_backend("web") as web,
        envoy_of({TABLE: hosts}, {PAY: [pay], WEB: [web]}) as ports,
    ):
        yield ports[TABLE], pay, web


async def tally(port: int, path: str) -> Counter[str]:
    """Ask many times, and count who answers."""
    counted: Counter[str] = Counter()
    for _ in range(ASKED // AT_A_TIME):
        counted.update(map(said, await asyncio.gather(*(ask(port, path) for _ in range(AT_A_TIME)))))
    return counted


def first_lines(server: Server) -> set[str]:
    return {head.partition("\r\n")[0] for head in server.heads}


async def test_a_new_path_for_one_backend_leaves_all_their_exact_shares() -> None:
    shown = split(
        (2, HttpRule(to(PAY, Rewrite("pay.example", NewPrefix("/new"))))),
        (1, FAILED),
        (2, HttpRule(Redirect(302, hostname="other.example"))),
        (3, HttpRule(to(WEB, Rewrite(path=FullPath("/full"))))),
    )
    async with before({"/old": shown}) as (port, pay, web):
        counted = await tally(port, "/old/a?b=c")
    assert counted.keys() == {"pay", "500", "302", "web"}
    assert all(115 < counted[each] < 285 for each in ("pay", "302"))
    assert 40 < counted["500"] < 170
    assert 200 < counted["web"] < 400
    assert first_lines(pay) == {"GET /new/a?b=c HTTP/1.1"}
    assert all("\r\nhost: pay.example\r\n" in head for head in pay.heads)
    assert first_lines(web) == {"GET /full?b=c HTTP/1.1"}


async def test_what_changes_with_the_backend_does_not_reach_the_other_one() -> None:
    to_pay = HttpRule(
        to(PAY, Rewrite("pay.example")),
        HeaderChanges(set=(("x-who", "pay"),), remove=("x-gone",)),
        HeaderChanges(add=(("x-back", "pay"),)),
    )
    to_web = HttpRule(to(WEB), HeaderChanges(set=(("x-who", "web"),)))
    async with before({"/": split((1, to_pay), (1, FAILED), (2, to_web))}) as (port, pay, web):
        asking = (ask(port, "/", {"host": "a.example", "x-gone": "no"}) for _ in range(AT_A_TIME * 2))
        answers = await asyncio.gather(*asking)
    assert {said(each) for each in answers} == {"pay", "web", "500"}
    assert {(said(each), each.headers.get("x-back")) for each in answers} == {
        ("pay", "pay"),
        ("web", None),
        ("500", None),
    }
    for head in pay.heads:
        assert {"host: pay.example", "x-who: pay"} <= set(head.split("\r\n"))
        assert "x-gone" not in head
    for head in web.heads:
        assert {"host: a.example", "x-who: web", "x-gone: no"} <= set(head.split("\r\n"))


async def test_a_mirror_of_one_backend_gets_its_part_of_that_share_wherever_the_share_begins() -> None:
    mirrored = HttpRule(to(WEB, mirrors=(Mirror(PAY, 500_000),)))
    async with before({"/": split((1, HttpRule(Redirect(302, scheme="https"))), (1, mirrored))}) as (
        port,
        pay,
        web,
    ):
        counted = await tally(port, "/")

        async def enough() -> bool:
            return len(pay.heads) > 115

        await until(enough)
    assert len(pay.heads) < 285
    assert len(web.heads) == counted["web"]


def test_a_split_names_all_its_clusters_and_no_more() -> None:
    by_number = split(
        (1, HttpRule(to(PAY, Rewrite(path=FullPath("/a"))))), (1, FAILED), (1, HttpRule(to(WEB)))
    )
    by_cluster = split((1, HttpRule(to(PAY, Rewrite("a.example")))), (1, FAILED))
    assert _targets(by_number) == ("shop/pay:8080", "shop/web:8080")
    assert _targets(by_cluster) == ("legation/refused", "shop/pay:8080")
    assert by_number.backends == {PAY, WEB}
    assert HttpRule(Forward((Share(PAY, 1), Share(REFUSED, 1)))).backends == {PAY}
    assert FAILED.backends == HttpRule(Redirect(301)).backends == frozenset()


def _targets(rule: HttpRule) -> tuple[str, ...]:
    return routes.build(TABLE, "*", [entry(HttpMatch(PathPrefix("/")), rule)]).targets
