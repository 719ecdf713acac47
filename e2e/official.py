"""Gateway API's own suite: which of its tests to run with which flags, and what it said of each.

It is a Go test that writes as such tests do: a line that begins with three equals signs turns the talk to
another test, for many run at the same time, and how each of them went stands at the end.
"""

import re
import subprocess
import sys
from collections.abc import Iterable
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import yaml

from e2e.cluster.build import channel
from e2e.cluster.place import PROJECT

CLASS = "legation"
REPORTS = PROJECT / "e2e" / "conformance" / "reports"
LOGS = PROJECT / "build" / "conformance"
COUNTED = ("GATEWAY-HTTP", "GATEWAY-GRPC", "GATEWAY-TLS", "GATEWAY-TCP", "GATEWAY-UDP")
PROFILES = f"-conformance-profiles={','.join(COUNTED)}"
CORE = (
    *("Gateway", "ReferenceGrant", "HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute", "UDPRoute"),
    *("BackendTLSPolicy", "BackendTLSPolicySANValidation"),
    # A test that wants a feature to be absent runs where it is not claimed.
    *("TLSRouteModeTerminate", "TLSRouteModeMixed"),
)
SELECTIONS = MappingProxyType({
    "core": (PROFILES, f"-supported-features={','.join(CORE)}"),
    "full": (PROFILES,),  # what the class says that it has
})  # fmt: skip
# A machine that does much else takes long to empty a namespace, and that is nothing of ours.
PATIENCE = "-timeout-config-overrides=DeleteTimeout:120"
WHO = MappingProxyType({
    "organization": "legation",
    "project": "legation",
    "url": "https://legation.dev",
    "version": f"v{version('legation')}",
    "contact": "https://legation.dev",
})  # fmt: skip
HEADER = """\
# What the suite of Gateway API v1.7.0 says of Legation, on the CRDs of the {channel} channel. It comes from
#
#   make e2e SUITE={name} CHANNEL={channel}
#
# which installs the Helm chart into a cluster made of processes and runs there
#
#   {command}
#
# The suite asks for v0.2.0 of sigs.k8s.io/gateway-api-conformance-images, which the module proxy does not
# serve: v0.1.0 stands in for it.
"""
# What only the CRDs of the experimental channel have.
EXPERIMENTAL = frozenset({
    *("ClusterTrustBundle", "GatewayAddressRoutability", "GatewayAddressRoutabilityCluster"),
    *("GatewayListenerFilters", "HTTPRouteDestinationPortMatching"),
})  # fmt: skip
PROVISIONAL = 6  # tests of the suite that no profile counts
WHOLE = "TestConformance"
TURN = re.compile(r"=== (?:RUN|CONT|NAME|PAUSE) +(?P<test>\S+)$")
VERDICT = re.compile(r" *--- (?P<verdict>PASS|FAIL|SKIP): (?P<test>\S+) \((?P<seconds>[0-9.]+)s\)$")
TIDYING = re.compile(r" +apply\.go:")
LAST = 12  # lines of a test that failed, which say what it was waiting for


class Selection(NamedTuple):
    """Some of the suite's tests; only what is chosen by features makes a report."""

    name: str
    flags: tuple[str, ...]
    report: Path | None


class Told(NamedTuple):
    """What the suite said: how each test went, and the last lines of those that failed."""

    verdicts: dict[str, str]
    last_lines: dict[str, list[str]]

    @property
    def passed(self) -> int:
        """How many tests did, their parts not counted."""
        return self._count("PASS")

    def __str__(self) -> str:
        """Count, and give the last words of each test that failed."""
        counted = ", ".join(f"{self._count(each)} {each}" for each in ("PASS", "FAIL", "SKIP"))
        return "\n".join((counted, *chain(*(("", test, *said) for test, said in self.last_lines.items()))))

    def _count(self, wanted: str) -> int:
        return sum(test.count("/") == 1 and found == wanted for test, found in self.verdicts.items())


def chosen(wanted: str) -> Selection:
    """Choose tests: `core`, `full`, or a pattern of their names."""
    flags = SELECTIONS.get(wanted)
    if flags is None:
        return Selection(wanted, (f"-test.run=^{WHOLE}$/^({wanted})$",), None)
    return Selection(wanted, flags, REPORTS / f"{channel()}-{wanted}.yaml")


def run(selection: Selection, log: Path) -> int:
    """Run them, and write all that is said into a file; the report gets a head that says where it is from."""
    flags = (PATIENCE, *selection.flags, *_reporting(selection.report))
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w") as out:
        command = [sys.executable, "-m", "e2e.cluster", "conformance", CLASS, *flags]
        code = subprocess.run(command, cwd=PROJECT, stdout=out, stderr=out, check=False).returncode  # noqa: S603  as written above
    if selection.report is not None and selection.report.exists():
        command = ["python", *command[1:]]
        text = " ".join(command).replace(f"{PROJECT}/", "")
        head = HEADER.format(name=selection.name, channel=channel(), command=text)
        selection.report.write_text(head + selection.report.read_text())
    return code


def told(lines: Iterable[str]) -> Told:
    """Read what a Go test says with -test.v."""
    speaking = WHOLE
    said: dict[str, list[str]] = {}
    verdicts: dict[str, str] = {}
    for line in lines:
        if (turn := TURN.match(line)) is not None:
            speaking = turn["test"]
        elif (verdict := VERDICT.match(line)) is not None:
            verdicts[verdict["test"]] = verdict["verdict"]
        elif not TIDYING.match(line):
            said.setdefault(speaking, []).append(line)
    failed = {test for test, verdict in verdicts.items() if verdict == "FAIL"}
    blamed = [test for test in failed if not any(other.startswith(f"{test}/") for other in failed)]
    return Told(verdicts, {test: said.get(test, [])[-LAST:] for test in sorted(blamed)})


def shortcomings(report: str) -> list[str]:
    """Name whatever a report of everything says that is not: all passed, of all that the channel has."""
    read = yaml.safe_load(report)
    beyond = EXPERIMENTAL if read["gatewayAPIChannel"] == "standard" else frozenset()
    found = [
        f"{name} is not there" for name in sorted({*COUNTED} - {each["name"] for each in read["profiles"]})
    ]
    for profile in read["profiles"]:
        for part in ("core", "extended"):
            said = profile[part]
            lacking = sorted({*said.get("unsupportedFeatures", ())} - beyond)
            counts = {each: said["statistics"][each] for each in ("Failed", "Skipped")}
            if said["result"] != "success" or any(counts.values()) or lacking:
                found.append(f"{profile['name']}, {part}: {said['result']}, {counts}, without {lacking}")
    passed = len(read.get("succeededProvisionalTests", ()))
    return found if passed == PROVISIONAL else [*found, f"{passed} of {PROVISIONAL} provisional tests passed"]


def _reporting(report: Path | None) -> tuple[str, ...]:
    if report is None:
        return ()
    report.parent.mkdir(parents=True, exist_ok=True)
    report.unlink(missing_ok=True)  # what is left of an earlier run is no report of this one
    return (f"-report-output={report}", *(f"-{name}={value}" for name, value in WHO.items()))
