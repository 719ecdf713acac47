"""Gateway API's own suite, against Legation as its chart installs it."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from time import monotonic

import pytest

from deploy.permissions import CHART
from e2e.cluster.place import PROJECT
from e2e.helm import helm
from e2e.kubectl import read, wait_for
from e2e.official import CLASS, LOGS, chosen, run, shortcomings, told
from e2e.scenarios.pods import Pods

RELEASE = ("legation", "--namespace", "legation-system")
CHOICE = "SUITE"  # core, full, or a pattern of the names of tests
REPLICAS = "REPLICAS"  # of the control plane
KILLED = "KILLED"  # every how many seconds its leader is killed
CONTROL_PLANE = Pods("legation-system", "app.kubernetes.io/name=legation")
QUICK = (
    "BackendTLSPolicy.*|HTTPRouteSimple.*|HTTPRouteMatching|GRPCExact.*|"
    "TLSRouteSimple.*|TCPRouteParent.*|UDPRoute"
)


@pytest.fixture
def legation(inside: None) -> Iterator[None]:  # noqa: ARG001  a fixture cannot be marked to use another
    """Legation is installed, with a class of its own name."""
    replicas = f"replicas={os.environ.get(REPLICAS) or 1}"
    helm("install", *RELEASE, str(CHART), "--create-namespace", "--wait", "--set", replicas)
    wait_for("default", "condition=Accepted", f"gatewayclass/{CLASS}")  # which then says what it has
    yield
    helm("uninstall", *RELEASE, "--wait")


@contextmanager
def killed_every(seconds: float) -> Iterator[None]:
    """End the replica that leads again and again, as when its node is lost; never, if it is 0."""
    if not seconds:
        yield
        return
    done, kills = Event(), 0

    def kill() -> None:
        nonlocal kills
        while not done.wait(seconds):
            with suppress(AssertionError, OSError):  # the API server was busy, or the pod ended meanwhile
                leader = read("lease", "legation", "--namespace", "legation-system")["spec"]["holderIdentity"]
                for pod in CONTROL_PLANE.all():
                    if pod.name == leader:
                        pod.vanish()
                        kills += 1

    killing, began = Thread(target=kill), monotonic()
    killing.start()
    try:
        yield
    finally:
        done.set()
        killing.join()
        sys.stderr.write(f"the control plane was killed {kills} times\n")
    assert kills >= (monotonic() - began) / seconds / 2


@pytest.mark.usefixtures("legation")
def test_the_official_suite_finds_nothing_wrong() -> None:
    wanted = os.environ.get(CHOICE) or QUICK
    log = LOGS / "suite.log"
    selection = chosen(wanted)
    if os.environ.get(REPLICAS) or os.environ.get(KILLED):
        selection = selection._replace(report=None)  # a report tells of what the chart does by itself
    with killed_every(float(os.environ.get(KILLED) or 0)):
        code = run(selection, log)
    found = told(log.read_text().splitlines())
    if code or not found.passed:
        pytest.fail(f"{found}\n\nall that it said: {log.relative_to(PROJECT)}", pytrace=False)
    if selection.report is not None and wanted == "full":
        assert shortcomings(selection.report.read_text()) == []
