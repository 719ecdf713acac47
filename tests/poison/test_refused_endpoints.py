"""Endpoints that only an Envoy refuses, through all of `up`: the last good ones, whose they are, their end.

An API server or our own checks refuse all wrong endpoints that are known. So a bug is planted in the rule.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.legation.manifest_texts import route, service, together
from tests.legation.running import Legation
from tests.loopback import ask
from tests.poison.bugs import with_bug
from tests.poison.passers_by import asking
from tests.poison.test_refused_cluster import (
    OTHER,
    is_programmed,
    is_refused,
    policy,
    programmed,
    served,
)
from tests.real_envoy import until

pytestmark = pytest.mark.envoy
STRANGER = "c.example"  # a name that the hostile tenant's backend cannot prove
HELD_BACK = 'legation_held_back_resources{type="ClusterLoadAssignment"}'
WHY = "Proto constraint validation failed"
OK, UNAVAILABLE = 200, 503
AT_ONCE = 10.0  # seconds; a cluster that waits for endpoints goes on without after 15
#: What Python reads before anything else: a rule that has a mistake about whatever is marked.
SITE = """
from translator.rules import endpoints

good = endpoints._ready

def failing(one):
    more = 65_536 if "planted" in one.metadata.labels else 0
    return ((name, each._replace(port=each.port + more)) for name, each in good(one))

endpoints._ready = failing
"""


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Have the bug; return a folder for manifests."""
    return with_bug(SITE, tmp_path, monkeypatch)


class Market(NamedTuple):
    """What is served to whom, and where."""

    legation: Legation
    port: int
    folder: Path
    base: str  # what is there from the first

    def have(self, bad: tuple[str, ...], *more: str) -> None:
        """Have more tenants, who are where the quiet one is; the bug is about endpoints of some."""
        number = int(self.base.partition("targetPort: ")[2].partition("}")[0])
        tenants = ((service(name, number), route(name, name, host=f"{name}.example")) for name in more)
        text = together(self.base, *(part for tenant in tenants for part in tenant))
        for name in bad:
            label = f"kubernetes.io/service-name: {name}"
            text = text.replace(label, f"{label}, planted: here")
        (self.folder / "a.yaml").write_text(text)

    def proves(self, hostname: str) -> None:
        """Have the hostile tenant's backend prove another name."""
        (self.folder / "policy.yaml").write_text(policy(hostname))

    async def reaches(self, name: str, status: int = OK) -> None:
        """Wait until requests to a tenant are answered so."""

        async def does() -> bool:
            return (await ask(self.port, headers={"host": f"{name}.example"})).status == status

        await until(does, within=AT_ONCE)

    async def names(self, *tenants: str) -> None:
        """Wait until the Gateway, the metric and the log name the endpoints of these, and of no others."""
        await until(lambda: self._says(tenants))
        assert await self.legation.metric(HELD_BACK) == len(tenants)
        rejected = [each for each in self.legation.entries() if each.get("event") == "Envoy rejected"]
        assert {name for each in rejected for name in each["resources"]} >= {f"shop/{n}:80" for n in tenants}

    async def _says(self, tenants: tuple[str, ...]) -> bool:
        told = (await programmed(self.legation)).message
        named = [f"shop/{name}:80 of Service shop/{name}: {WHY}" for name in tenants]
        return all(each in told for each in named) and told.count(" of Service ") == len(tenants)


@asynccontextmanager
async def opened(folder: Path, shop: Path) -> AsyncIterator[Market]:
    """Serve the hostile tenant and the quiet one, of whose requests none may fail until the end."""
    async with served(folder, shop) as (legation, port):
        await until(lambda: is_programmed(legation))
        async with asking(port, "quiet.example"):
            yield Market(legation, port, shop, (shop / "a.yaml").read_text())


async def test_endpoints_that_an_envoy_refuses_stay_as_they_were_name_their_service_and_heal(
    tmp_path: Path, planted: Path
) -> None:
    async with opened(tmp_path, planted) as market, asking(market.port, "evil.example"):
        market.have(("evil",), "late")
        await market.names("evil")
        assert await is_refused(market.legation)
        await market.reaches("late")
        market.have(("evil", "young"), "late", "young", "last")
        await market.names("evil", "young")
        await market.reaches("last")
        await market.reaches("young", UNAVAILABLE)
        market.have(("young",), "late", "young", "last")
        await market.names("young")
        assert "no longer refused" not in {each.get("event") for each in market.legation.entries()}
        market.have((), "young")
        await until(lambda: is_programmed(market.legation))
        await market.legation.logged("no longer refused")
        await market.reaches("young")
        assert await market.legation.metric(HELD_BACK) == 0


async def test_a_policy_that_changes_holds_at_once_though_the_endpoints_are_refused(
    tmp_path: Path, planted: Path
) -> None:
    async with opened(tmp_path, planted) as market:
        market.have(("evil",))
        await market.names("evil")
        market.proves(STRANGER)
        await market.reaches("evil", UNAVAILABLE)
        market.proves(OTHER)
        await market.reaches("evil")
        await market.names("evil")
