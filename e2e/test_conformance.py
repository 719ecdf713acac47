"""Gateway API's own suite, against Legation as its chart installs it."""

import os
from collections.abc import Iterator

import pytest

from deploy.permissions import CHART
from e2e.cluster.place import PROJECT
from e2e.helm import helm
from e2e.kubectl import wait_for
from e2e.official import CLASS, LOGS, chosen, run, told

RELEASE = ("legation", "--namespace", "legation-system")
CHOICE = "SUITE"  # core, full, or a pattern of the names of tests
QUICK = "BackendTLSPolicy.*|HTTPRouteSimple.*|HTTPRouteMatching|GRPCExact.*|TLSRouteSimple.*|UDPRoute"


@pytest.fixture
def legation(inside: None) -> Iterator[None]:  # noqa: ARG001  a fixture cannot be marked to use another
    """Legation is installed, with a class of its own name."""
    helm("install", *RELEASE, str(CHART), "--create-namespace", "--wait")
    wait_for("default", "condition=Accepted", f"gatewayclass/{CLASS}")  # which then says what it has
    yield
    helm("uninstall", *RELEASE, "--wait")


@pytest.mark.usefixtures("legation")
def test_the_official_suite_finds_nothing_wrong() -> None:
    wanted = os.environ.get(CHOICE) or QUICK
    log = LOGS / "suite.log"
    code = run(chosen(wanted), log)
    found = told(log.read_text().splitlines())
    if code or not found.passed:
        pytest.fail(f"{found}\n\nall that it said: {log.relative_to(PROJECT)}", pytrace=False)
