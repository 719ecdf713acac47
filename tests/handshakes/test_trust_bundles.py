"""Backends proved by a ClusterTrustBundle: what GEP-5075 lists, with real handshakes."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from msgspec import Struct

from tests.handshakes.backends import Backend, http_backend, speaks
from tests.handshakes.cases import HOSTNAME, OTHER, RIGHT, ROOT, trusting
from tests.handshakes.manifests import endpoints, policy, service, trust_bundle
from tests.handshakes.rig import Rig, rigged
from tests.handshakes.shop import HTTPS, OPEN, SHUT, encrypted, gateway, routed, visit
from tests.real_envoy import until
from translator.rules.ca_references import CLUSTER_TRUST_BUNDLES

pytestmark = [pytest.mark.envoy, pytest.mark.asyncio(loop_scope="module")]

SOON = 60.0
BUNDLE, OTHERS = trust_bundle("root", ROOT.pem), trust_bundle("root", OTHER.pem)


class Stage(Struct, frozen=True):
    """A backend that is proved by a bundle, and one that is proved by a ConfigMap."""

    rig: Rig
    backend: Backend

    async def told(self, answer: int) -> None:
        """Wait until requests are answered so: Envoy's workers do soon after it says so what it was told."""
        await self.rig.settled()

        async def answered() -> bool:
            return await visit(self.rig, "pay") == answer

        await until(answered, SOON)

    async def refuses(self) -> None:
        """See that requests fail, that the policy says so, and that nobody even connects."""
        await self.told(SHUT)
        opened = self.backend.tap.opened
        assert await visit(self.rig, "pay") == SHUT
        assert self.backend.tap.opened == opened
        assert not self.rig.accepts("pay")
        assert await visit(self.rig, "cart") == OPEN

    async def serves(self) -> None:
        """See that requests succeed, and that the policy says so."""
        await self.told(OPEN)
        assert self.rig.accepts("pay")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage() -> AsyncIterator[Stage]:
    async with http_backend(speaks(RIGHT)) as backend, http_backend(speaks(RIGHT)) as other, rigged() as rig:
        rig.apply(
            *gateway(),
            service("pay", {HTTPS: "https"}),
            *endpoints("pay", HTTPS, backend.port),
            policy("pay", trusting("ClusterTrustBundle/root", hostname=HOSTNAME)),
            *encrypted("cart", other.port),
            routed("pay", "pay"),
            routed("cart", "cart"),
        )
        yield Stage(rig, backend)


async def test_a_bundle_that_does_not_exist_proves_nothing(stage: Stage) -> None:
    await stage.serves()
    stage.rig.apply(policy("pay", trusting("ClusterTrustBundle/absent")))
    await stage.refuses()
    stage.rig.apply(policy("pay", trusting("ClusterTrustBundle/root")))
    await stage.serves()


async def test_an_api_server_without_bundles_takes_nothing_from_others(stage: Stage) -> None:
    stage.rig.state(CLUSTER_TRUST_BUNDLES, value=False)
    await stage.refuses()
    stage.rig.state(CLUSTER_TRUST_BUNDLES, value=True)
    await stage.serves()


@pytest.mark.parametrize("text", [" ", "nonsense"])
async def test_a_bundle_that_cannot_be_read_proves_nothing(stage: Stage, text: str) -> None:
    stage.rig.apply(trust_bundle("root", text))
    await stage.refuses()
    stage.rig.apply(BUNDLE)
    await stage.serves()


async def test_what_a_bundle_holds_now_is_what_proves(stage: Stage) -> None:
    stage.rig.apply(OTHERS)
    await stage.told(SHUT)
    opened, told = stage.backend.tap.opened, len(stage.backend.told)
    assert await visit(stage.rig, "pay") == SHUT
    assert stage.backend.tap.opened > opened
    assert len(stage.backend.told) == told
    stage.rig.apply(BUNDLE)
    await stage.serves()


async def test_a_deleted_bundle_proves_nothing_until_it_is_back(stage: Stage) -> None:
    stage.rig.delete(BUNDLE)
    await stage.refuses()
    stage.rig.apply(OTHERS)
    await stage.told(SHUT)
    stage.rig.apply(BUNDLE)
    await stage.serves()
