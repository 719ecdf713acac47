"""What every test in a cluster may count on."""

import os
from collections.abc import Iterator

import pytest

from e2e.cluster.own import INSIDE, Own
from e2e.cluster.place import here
from e2e.kubectl import namespaced


@pytest.fixture(scope="session")
def cluster() -> None:
    """A cluster is there, and Gateway API in it."""
    if not os.environ.get("KUBECONFIG"):
        pytest.fail("no cluster: run it by `make e2e`, or after `python -m e2e.cluster with`", pytrace=False)


@pytest.fixture(scope="session")
def inside(cluster: None) -> None:  # noqa: ARG001  a fixture cannot be marked to use another
    """The cluster is our own, and the test runs in it: see e2e/README.md for what no other cluster has."""
    if not os.environ.get(INSIDE):
        pytest.skip("this needs a cluster made of processes, whose Services, images and kinds are the test's")


@pytest.fixture
def own(inside: None) -> Own:  # noqa: ARG001  as above
    """The cluster that the test runs in, made of processes; what a test ends, it has to start again."""
    return Own(here())


@pytest.fixture
def namespace(cluster: None) -> Iterator[str]:  # noqa: ARG001  as above
    """A namespace for one test."""
    with namespaced() as name:
        yield name
