"""Installed for some namespaces, under traffic; elsewhere nothing happens, and afterwards nothing is left."""

import uuid
from collections.abc import Iterator

import pytest

from e2e.kubectl import eventually, kubectl, read
from e2e.scenarios.backend import Backend
from e2e.scenarios.release import installed
from e2e.scenarios.shop import EDGE, Shop, visited
from e2e.test_install import FORBIDDEN, everything
from tests.pki import Authority


@pytest.fixture
def elsewhere(cluster: None) -> Iterator[Shop]:  # noqa: ARG001  a fixture cannot be marked to use another
    """A namespace that is not watched."""
    name = f"test-{uuid.uuid4().hex[:8]}"
    kubectl("create", "namespace", name)
    yield Shop(name)
    kubectl("delete", "namespace", name, "--wait=false")


@pytest.mark.usefixtures("inside")
def test_where_nobody_watches_nothing_happens_and_what_is_uninstalled_is_gone(
    namespace: str, elsewhere: Shop
) -> None:
    before = ours()
    shop, old, new = Shop(namespace), Backend("old", Authority("old")), Backend("new", Authority("new"))
    with installed(f"watch={{{namespace}}}") as release:
        elsewhere.listens(80)
        with visited(shop, old, new) as traffic:
            shop.leads_to(new)
            traffic.reaches(new.name)
        assert traffic.losses == []
        told = read("gateway", EDGE, "--namespace", elsewhere.namespace)["status"]["conditions"]
        assert {each["status"] for each in told} == {"Unknown"}
        assert not any(elsewhere.namespace in each for each in ours())
        assert FORBIDDEN.search(release.pods.logs()) is None
        kubectl("delete", "gateway", EDGE, "--namespace", namespace)
    eventually(lambda: ours() <= before)


def ours() -> set[str]:
    """Name all objects that have our name in theirs."""
    return {each for each in everything() if "legation" in each}
