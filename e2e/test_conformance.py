"""Gateway API's own suite, against Legation as its chart installs it."""

import os
import subprocess
from collections.abc import Iterator

import pytest

from deploy.permissions import CHART
from e2e.cluster.build import Programs
from e2e.cluster.place import PROJECT, here
from e2e.official import LOGS, chosen, run, told

RELEASE = ("legation", "--namespace", "legation-system")
CHOICE = "SUITE"  # core, full, or a pattern of the names of tests
QUICK = "BackendTLSPolicy.*|HTTPRouteSimple.*|HTTPRouteMatching|GRPCExact.*|TLSRouteSimple.*|UDPRoute"


def helm(*arguments: str) -> None:
    """Run Helm."""
    command = [str(Programs(here().programs).path("helm")), *arguments]
    done = subprocess.run(command, text=True, capture_output=True, check=False)  # noqa: S603  as written here
    assert done.returncode == 0, f"helm {' '.join(arguments)}: {done.stderr}"


@pytest.fixture
def legation(inside: None) -> Iterator[None]:  # noqa: ARG001  a fixture cannot be marked to use another
    """Legation is installed, with a class of its own name."""
    helm("install", *RELEASE, str(CHART), "--create-namespace", "--wait")
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
