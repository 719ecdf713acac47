"""Sessions while shares change: a session has an endpoint of each backend, and weights are what they are."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack

import pytest
import pytest_asyncio
from msgspec import Struct

from tests.handshakes.manifests import EDGE, Json, edge, endpoints, http_listener, manifest, service
from tests.handshakes.rig import Rig, rigged
from tests.handshakes.shop import HTTP
from tests.loopback import Answer, ask, http_backend
from tests.real_envoy import until
from tests.sessions import bodies, cookies, many

pytestmark = [pytest.mark.envoy, pytest.mark.asyncio(loop_scope="module")]

PORT = 80
PAY, WEB = {"pay one", "pay two"}, {"web one", "web two"}
UNNAMED: Json = {"cookie": {}}
NAMED: Json = {"cookie": {"name": "SID"}}
X_GROUP = "gateway.networking.x-k8s.io"
PATIENCE = 120.0


class Stage(Struct, frozen=True):
    """A Gateway before two backends with two endpoints each."""

    rig: Rig

    async def answers(self, shown: Mapping[str, str], count: int = 160) -> list[Answer]:
        """Return what a client is answered that shows this, in many requests at once."""
        return await many(lambda: ask(HTTP, headers=shown, address=self.rig.address), count)

    async def serves(self, shown: Mapping[str, str], them: set[str]) -> None:
        """Wait until a client that shows this is served by all of them and by nobody else."""
        await self.rig.settled()

        async def served() -> bool:
            return bodies(await self.answers(shown)) == them

        await until(served, PATIENCE)


def split(pay: int, web: int, session: Json | None, kind: str = "Service") -> Json:
    """Return a route to both backends."""
    own = {"group": X_GROUP, "kind": kind} if kind == "XBackend" else {"port": PORT}
    refs = [{"name": "pay", "weight": pay, **own}, {"name": "web", "weight": web, **own}]
    rule: Json = {"backendRefs": refs} | ({"sessionPersistence": session} if session else {})
    return manifest("HTTPRoute", "shop", spec={"parentRefs": [EDGE], "rules": [rule]})


def x_backend(name: str, port: int, session: Json, **spec: object) -> Json:
    """Return an XBackend that says itself how its sessions are kept."""
    selecting = {"type": "EndpointSelector", "endpointSelector": {"matchLabels": {"app": name}}}
    asked = {**selecting, "port": {"number": port}, "sessionPersistence": session, **spec}
    return manifest("XBackend", name, f"{X_GROUP}/v1alpha1", spec=asked)


def selecting(name: str) -> Json:
    """Return a Service with pods that an XBackend selects, too."""
    written = service(name, {PORT: None})
    assert isinstance(written["spec"], dict)
    return written | {"spec": written["spec"] | {"selector": {"app": name}}}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage() -> AsyncIterator[Stage]:
    async with AsyncExitStack() as stack:
        ports = {
            name: (await stack.enter_async_context(http_backend(name))).port for name in sorted(PAY | WEB)
        }
        rig = await stack.enter_async_context(rigged())
        rig.apply(
            edge(http_listener(HTTP)),
            *(selecting(name) for name in ("pay", "web")),
            *endpoints("pay", PORT, ports["pay one"], ports["pay two"]),
            *endpoints("web", PORT, ports["web one"], ports["web two"]),
        )
        yield Stage(rig)


@pytest.mark.parametrize("session", [UNNAMED, NAMED], ids=["unnamed", "named"])
async def test_a_session_finds_its_endpoint_of_each_backend_again_however_weights_change(
    stage: Stage, session: Json
) -> None:
    stage.rig.apply(split(1, 1, session))
    await stage.serves({}, PAY | WEB)
    shown = cookies(await stage.answers({}))
    [pay] = PAY & bodies(await stage.answers(shown))
    [web] = WEB & bodies(await stage.answers(shown))
    for weights, kept, new in (
        ((3, 1), {pay, web}, PAY | WEB),
        ((1, 0), {pay}, PAY),
        ((0, 1), {web}, WEB),
        ((1, 3), {pay, web}, PAY | WEB),
    ):
        stage.rig.apply(split(*weights, session))
        await stage.serves(shown, kept)
        await stage.serves({}, new)


async def test_a_session_decides_nothing_that_weights_decide(stage: Stage) -> None:
    stage.rig.apply(split(3, 1, NAMED))
    await stage.serves({}, PAY | WEB)
    shown = cookies(await stage.answers({}))
    for headers in ({}, shown):
        answers = [answer.body for answer in await stage.answers(headers, 400)]
        assert 240 < sum(answer in PAY for answer in answers) < 360  # 300, and seven deviations


async def test_the_first_backend_has_the_cookie_that_the_rule_names(stage: Stage) -> None:
    stage.rig.apply(split(1, 0, NAMED))
    await stage.serves({}, PAY)
    assert (await stage.answers({}, 1))[0].headers["set-cookie"].startswith('SID="')
    stage.rig.apply(split(0, 1, NAMED))
    await stage.serves({}, WEB)
    assert (await stage.answers({}, 1))[0].headers["set-cookie"].startswith("SID-")


async def test_a_header_keeps_a_session_with_the_only_backend_that_gets_anything(stage: Stage) -> None:
    header: Json = {"type": "Header", "header": {"name": "x-session"}}
    stage.rig.apply(split(1, 0, header))
    await stage.serves({}, PAY)
    [answer] = await stage.answers({}, 1)
    await stage.serves({"x-session": answer.headers["x-session"]}, {answer.body})
    stage.rig.apply(split(1, 1, header))
    await stage.rig.settled()

    async def refused() -> bool:
        return {answer.status for answer in await stage.answers({})} == {500}

    await until(refused, PATIENCE)


async def test_x_backends_keep_sessions_as_they_say_themselves(stage: Stage) -> None:
    async with http_backend("pay one") as one, http_backend("web one") as web:
        stage.rig.apply(
            x_backend("pay", one.port, {"type": "Header", "header": {"name": "x-pay"}}),
            x_backend("web", web.port, {"cookie": {"name": "WEB"}}),
            split(1, 1, NAMED, "XBackend"),
        )
        await stage.serves({}, {"pay one", "web one"})
        answers = await stage.answers({})
        assert {"x-pay" in each.headers for each in answers if each.body in PAY} == {True}
        assert {each.headers["set-cookie"][:5] for each in answers if each.body in WEB} == {'WEB="'}
        assert not [each for each in answers if each.body in PAY and "set-cookie" in each.headers]
