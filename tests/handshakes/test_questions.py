"""Services that a listener asks about every request before it looks at routes, by a real Envoy."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from http import HTTPStatus

import pytest
import pytest_asyncio
from msgspec import Struct

from tests.handshakes.backends import Speech, http_backend, speaks
from tests.handshakes.cases import AUTHORITIES, RIGHT, trusting
from tests.handshakes.deciders import Asked, deciding
from tests.handshakes.manifests import Json, edge, endpoints, policy, route, service
from tests.handshakes.rig import Rig, rigged

pytestmark = [pytest.mark.envoy, pytest.mark.asyncio(loop_scope="module")]

HTTP, PLAIN, WITHIN = 18080, 80, 120.0
HOST, OPEN_HOST = "pay.test", "open.test"
SERVICES = ("first", "second", "pay", "tenant")
DENIED, ANSWERED = HTTPStatus.FORBIDDEN, HTTPStatus.OK


class Stage(Struct, frozen=True):
    """A listener that asks two services, another one that asks nobody, and backends by header."""

    rig: Rig
    asked: tuple[Asked, Asked]
    told: Mapping[str, list[str]]

    async def ask(self, path: str = "/", host: str = HOST, **headers: str) -> int:
        """Return what a request is answered, having forgotten all before."""
        for each in (*(one.heads for one in self.asked), *self.told.values()):
            each.clear()
        place = self.rig.place(HTTP)
        lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        async with asyncio.timeout(WITHIN):
            reader, writer = await asyncio.open_connection(place.address, place.port)
            writer.write(f"GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{lines}\r\n".encode())
            head = await reader.readline()
            writer.transport.abort()
        return int(head.split()[1])

    @property
    def questions(self) -> list[int]:
        """How often each service was asked."""
        return [len(each.heads) for each in self.asked]


def asking(*names: str) -> Json:
    """Return a Gateway with a listener that asks services, and one that asks nobody."""
    requests = [
        {
            "type": "ExternalAuth",
            "externalAuth": {
                "protocol": "HTTP",
                "http": {"allowedHeaders": ["x-tenant"]},
                "backendRef": {"name": name, "port": PLAIN},
            },
        }
        for name in names
    ]
    strict = {"name": "strict", "port": HTTP, "protocol": "HTTP", "filters": {"requests": requests}}
    return edge(strict, {"name": "open", "port": HTTP, "protocol": "HTTP", "hostname": OPEN_HOST})


def served(ports: Mapping[str, int]) -> Iterable[Json]:
    """Return Services with where they are."""
    for name, port in ports.items():
        yield service(name, {PLAIN: None})
        yield from endpoints(name, PLAIN, port)


def routed() -> Iterable[Json]:
    """Return a route for everybody below a path, and one for a tenant."""
    for name, match in (
        ("pay", {"path": {"value": "/pay"}}),
        ("tenant", {"path": {"value": "/pay"}, "headers": [{"name": "x-tenant", "value": "second"}]}),
    ):
        rule = {"matches": [match], "backendRefs": [{"name": name, "port": PLAIN}]}
        yield route("HTTPRoute", name, [], rules=[rule])


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage() -> AsyncIterator[Stage]:
    async with (
        deciding("one", "x-tenant: first\r\nhost: elsewhere.test\r\n") as first,
        deciding("two", "x-tenant: second\r\n") as second,
        http_backend(Speech()) as pay,
        http_backend(Speech()) as tenant,
        rigged() as rig,
    ):
        ports = (first.port, second.port, pay.port, tenant.port)
        rig.apply(asking("first", "second"), *served(dict(zip(SERVICES, ports, strict=True))), *routed())
        await rig.settled()
        yield Stage(rig, (first, second), {"pay": pay.told, "tenant": tenant.told})


async def test_who_is_denied_reaches_nobody_and_nobody_else_is_asked(stage: Stage) -> None:
    assert await stage.ask("/pay", authorization="two") == DENIED
    assert stage.questions == [1, 0]
    assert not any(stage.told.values())


async def test_the_second_is_asked_after_the_first_and_may_say_no(stage: Stage) -> None:
    assert await stage.ask("/pay", authorization="one") == DENIED
    assert stage.questions == [1, 1]
    assert "x-tenant: first" in stage.asked[1].heads[0]
    assert not any(stage.told.values())


async def test_routes_are_chosen_by_what_the_last_one_said_and_not_by_what_the_client_said(
    stage: Stage,
) -> None:
    assert await stage.ask("/pay", authorization="one two", x_tenant="nobody") == ANSWERED
    [head] = stage.told["tenant"]
    assert "x-tenant: second" in head
    assert "nobody" not in head
    assert not stage.told["pay"]


async def test_the_host_stays_what_the_client_said(stage: Stage) -> None:
    assert await stage.ask("/pay", authorization="one two") == ANSWERED
    [head] = stage.told["tenant"]
    assert f"host: {HOST}\r\n" in head
    assert "elsewhere" not in head


async def test_requests_that_no_route_takes_are_asked_about_all_the_same(stage: Stage) -> None:
    assert await stage.ask("/nowhere", authorization="one two") == HTTPStatus.NOT_FOUND
    assert stage.questions == [1, 1]
    assert await stage.ask("/nowhere") == DENIED


async def test_nobody_is_asked_about_hosts_of_another_listener(stage: Stage) -> None:
    assert await stage.ask("/pay", host=OPEN_HOST) == ANSWERED
    assert stage.questions == [0, 0]


@pytest.mark.parametrize("missing", ["service", "endpoints"])
async def test_where_somebody_cannot_be_asked_nothing_is_served(stage: Stage, missing: str) -> None:
    stage.rig.delete(service("second", {PLAIN: None})) if missing == "service" else stage.rig.apply(
        *endpoints("second", PLAIN, None)
    )
    await stage.rig.settled()
    assert await stage.ask("/pay", authorization="one two") == HTTPStatus.SERVICE_UNAVAILABLE
    assert not any(stage.told.values())
    stage.rig.apply(*served({"second": stage.asked[1].port}))
    await stage.rig.settled()
    assert await stage.ask("/pay", authorization="one two") == ANSWERED


async def test_who_is_asked_by_tls_is_told_nothing_before_its_proof(stage: Stage) -> None:
    async with http_backend(speaks(RIGHT)) as proved:
        stage.rig.apply(
            *AUTHORITIES,
            *served({"second": proved.port}),
            policy("second", trusting("root")),
        )
        await stage.rig.settled()
        assert await stage.ask("/pay", authorization="one") == ANSWERED
        assert len(proved.told) == 1
        stage.rig.apply(policy("second", trusting("other")))
        await stage.rig.settled()
        assert await stage.ask("/pay", authorization="one") == HTTPStatus.SERVICE_UNAVAILABLE
        assert len(proved.told) == 1
        assert not proved.tap.cleartext
