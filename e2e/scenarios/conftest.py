"""One release that most scenarios share, for each of them leaves it as it was."""

from collections.abc import Iterator

import pytest

from e2e.kubectl import eventually
from e2e.scenarios.release import REPLICAS, Release, installed
from e2e.scenarios.shop import Shop


@pytest.fixture(scope="package")
def shared(inside: None) -> Iterator[Release]:  # noqa: ARG001  a fixture cannot be marked to use another
    """Two replicas of Legation, with two proxies for each Gateway."""
    with installed(f"replicas={REPLICAS}", f"gatewayClass.parameters.envoy.replicas={REPLICAS}") as release:
        yield release


@pytest.fixture
def release(shared: Release) -> Release:
    """Both replicas are ready."""
    eventually(lambda: shared.pods.ready(REPLICAS))
    return shared


@pytest.fixture
def shop(namespace: str) -> Shop:
    """A namespace in which nothing is sold yet."""
    return Shop(namespace)
