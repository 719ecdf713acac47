"""Backends that are found by their DNS names: what Envoy looks up, and what it sends to whoever is there."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from msgspec import Struct

from tests.handshakes.backends import Backend, http_backend, speaks
from tests.handshakes.cases import HOSTNAME, RIGHT, trusting
from tests.handshakes.manifests import Json, edge, http_listener, manifest, policy
from tests.handshakes.names import Names, name_server
from tests.handshakes.rig import Channel, Rig, rigged
from tests.handshakes.shop import HTTP, OPEN, SHUT, gateway, visit

pytestmark = [pytest.mark.envoy, pytest.mark.asyncio(loop_scope="module")]

FOUND_AT = "api.pay.example"
X_BACKEND: Json = {"group": "gateway.networking.x-k8s.io", "kind": "XBackend", "name": "pay"}


class Stage(Struct, frozen=True):
    """A backend behind two names: a Service's and an XBackend's."""

    rig: Rig
    backend: Backend
    names: Names

    async def told(self, route: str) -> int | None:
        """Return what a request is answered, having made sure that nothing went out in cleartext."""
        answer = await visit(self.rig, route)
        assert not self.backend.tap.cleartext
        return answer

    async def apply(self, *manifests: Json) -> None:
        """Put objects, and wait for Envoy."""
        self.rig.apply(*manifests)
        await self.rig.settled()


def parameters(word: str) -> Json:
    """Return what the operator says."""
    return manifest("GatewayParameters", "own", "legation.dev/v1alpha1", spec={"externalNames": word})


def x_backend(port: int, hostname: str) -> Json:
    """Return an XBackend that is found by its name, and has to prove another."""
    tls = {"mode": "ServerOnly", "validation": trusting("root", hostname=hostname)}
    place = {
        "type": "ExternalHostname",
        "externalHostname": {"hostname": f"x.{FOUND_AT}"},
        "port": {"number": port},
    }
    return manifest("XBackend", "pay", "gateway.networking.x-k8s.io/v1alpha1", spec={**place, "tls": tls})


def routed(name: str, ref: Json) -> Json:
    """Return a route for the name's own host."""
    rules = [{"backendRefs": [ref]}]
    spec = {"parentRefs": [{"name": "edge"}], "hostnames": [f"{name}.test"], "rules": rules}
    return manifest("HTTPRoute", name, spec=spec)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage() -> AsyncIterator[Stage]:
    async with (
        http_backend(speaks(RIGHT)) as backend,
        name_server() as names,
        rigged(Channel(resolver=names.port)) as rig,
    ):
        own = {"parametersRef": {"group": "legation.dev", "kind": "GatewayParameters", "name": "own"}}
        service = {"type": "ExternalName", "externalName": FOUND_AT, "ports": [{"port": backend.port}]}
        rig.apply(
            *gateway(),
            edge(http_listener(HTTP), infrastructure=own),
            parameters("Permit"),
            manifest("Service", "pay", "v1", spec=service),
            policy("pay", trusting("root")),
            routed("pay", {"name": "pay", "port": backend.port}),
            x_backend(backend.port, HOSTNAME),
            routed("x", X_BACKEND),
        )
        await rig.settled()
        yield Stage(rig, backend, names)


async def test_a_service_that_is_another_name_is_reached_with_the_tls_of_its_policy(stage: Stage) -> None:
    assert await stage.told("pay") == OPEN
    assert stage.backend.tap.opened


async def test_an_xbackend_with_a_hostname_is_reached_with_its_own_tls(stage: Stage) -> None:
    assert await stage.told("x") == OPEN


async def test_names_are_looked_up_as_they_are_written(stage: Stage) -> None:
    assert set(stage.names.asked) == {FOUND_AT, f"x.{FOUND_AT}"}


async def test_whoever_answers_to_the_name_has_to_prove_what_was_asked_for(stage: Stage) -> None:
    heard = len(stage.backend.told)
    await stage.apply(x_backend(stage.backend.port, "other.test"))
    assert await stage.told("x") == SHUT
    await stage.apply(policy("pay", trusting("other")))
    assert await stage.told("pay") == SHUT
    assert len(stage.backend.told) == heard
    await stage.apply(x_backend(stage.backend.port, HOSTNAME), policy("pay", trusting("root")))
    assert (await stage.told("x"), await stage.told("pay")) == (OPEN, OPEN)


async def test_nobody_is_reached_by_a_name_once_the_operator_forbids_it(stage: Stage) -> None:
    await stage.apply(parameters("Forbid"))
    opened = stage.backend.tap.opened
    assert (await stage.told("x"), await stage.told("pay")) == (SHUT, SHUT)
    assert stage.backend.tap.opened == opened
    await stage.apply(parameters("Permit"))
    assert (await stage.told("x"), await stage.told("pay")) == (OPEN, OPEN)
