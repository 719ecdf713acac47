"""BackendTLSPolicy where the official suite is silent: what clients get, statuses say and backends hear."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from types import MappingProxyType
from typing import NamedTuple

import pytest

from e2e.kubectl import eventually
from e2e.scenarios.release import Release
from e2e.scenarios.shop import EDGE
from e2e.scenarios.stage import HTTP, KINDS, Answers, Stage, Told, copying, staged
from tests.handshakes.cases import CASES, HOSTNAME, LAST_YEAR, OTHER, RIGHT, ROOT, Case, system, trusting
from tests.handshakes.manifests import Json, config_map, http_listener, manifest, policy
from tests.pki import Authority

CLOSED = None  # without an answer
REFUSAL = MappingProxyType({"HTTPRoute": 503, "GRPCRoute": 503, "TLSRoute": CLOSED, "TCPRoute": CLOSED})
REFUSED: Answers = frozenset(REFUSAL.items())
ANSWERED: Answers = frozenset((kind, HTTPStatus.OK) for kind in KINDS)
LAPSED = Authority("lapsed", not_before=LAST_YEAR, not_after=LAST_YEAR + timedelta(days=1))
SOON = timedelta(seconds=30)
BAD, NONE = "InvalidCACertificateRef", "NoValidCACertificate"
KIND, LATE = "InvalidKind", "ExpiredCertificate"


class Gap(NamedTuple):
    """A backend with its policy, and the reasons that the policy's status gives."""

    case: Case
    accepted: str = "Accepted"
    resolved: str = "ResolvedRefs"


def never(validation: Json) -> Case:
    """Return a backend with the right certificate that is not even connected to."""
    return Case(RIGHT, validation, reached=False, tried=False)


GAPS = {
    "right": Gap(CASES["right"]),
    "sni-is-no-name": Gap(CASES["hostname-is-only-sni"]),
    "wrong-name": Gap(CASES["wrong-name"]),
    "wrong-name-right-sni": Gap(CASES["hostname-beside-names"]),
    "other-authority": Gap(CASES["other-authority"]),
    "expired": Gap(CASES["expired"]),
    "private-for-system": Gap(CASES["private-for-system"]),
    "unknown-roots": Gap(never(system() | {"wellKnownCACertificates": "shop.test/roots"}), "Invalid"),
    "one-root-missing": Gap(CASES["one-reference-missing"], resolved=BAD),
    "one-root-unreadable": Gap(CASES["one-reference-unreadable"], resolved=BAD),
    "one-root-lapsed": Gap(Case(RIGHT, trusting("root", "lapsed")), resolved=LATE),
    "one-of-no-kind": Gap(Case(RIGHT, trusting("root", "Service/right")), resolved=KIND),
    "two-faults": Gap(Case(RIGHT, trusting("text", "root", "Service/right")), resolved=BAD),
    "no-roots": Gap(CASES["no-roots"], NONE, BAD),
    "no-kind": Gap(never(trusting("Service/right")), NONE, KIND),
    "no-root-in-time": Gap(never(trusting("lapsed")), NONE, LATE),
}


def told(accepted: str = "Accepted", resolved: str = "ResolvedRefs") -> Told:
    """Return what a status says at the one Gateway that leads to a policy's target."""
    reasons = {"Accepted": accepted, "ResolvedRefs": resolved}
    return {EDGE: {type_: f"{reason == type_} {reason}" for type_, reason in reasons.items()}}


def settles(question: Callable[[], object], wanted: object) -> None:
    """Wait until an answer is as wanted, and see that it stays so."""
    with suppress(AssertionError):  # what follows tells more
        eventually(lambda: question() == wanted)
    assert question() == wanted


def trusted(passing: Authority) -> Iterator[Json]:
    """Return all policies, and their roots."""
    pems = {"root": ROOT, "other": OTHER, "lapsed": LAPSED, "rotated": ROOT, "passing": passing}
    yield from (config_map(name, authority.pem) for name, authority in pems.items())
    yield config_map("text", "no certificate")
    yield from (policy(name, gap.case.validation, gap.case.options) for name, gap in GAPS.items())
    yield policy("older", trusting("root"), target="rivals")
    yield from (policy(name, trusting(name)) for name in ("rotated", "passing"))


@pytest.fixture(scope="module")
def stage(shared: Release) -> Iterator[Stage]:  # noqa: ARG001  a fixture cannot be marked to use another
    """Every case at once; whatever happens to them, no backend hears a word in cleartext."""
    passing = Authority("passing", not_after=datetime.now(UTC) + SOON)
    shown = {name: gap.case.shows for name, gap in GAPS.items()}
    changing = {"rivals": RIGHT, "rotated": RIGHT, "passing": passing.issue(dns=[HOSTNAME])}
    with staged(shown | changing, *trusted(passing)) as stage:
        yield stage
        backends = [*stage.cast.http.items(), *stage.cast.grpc.items()]
        assert {name for name, backend in backends if backend.tap.cleartext} == set()
        refused = {name for name, gap in GAPS.items() if not gap.case.reached}
        assert {name for name, backend in backends if backend.told} & refused == set()


@pytest.mark.parametrize("name", GAPS)
def test_a_policys_status_says_at_its_gateway_what_holds(stage: Stage, name: str) -> None:
    settles(lambda: stage.says(name), told(*GAPS[name][1:]))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", GAPS)
def test_a_backend_is_told_something_only_after_its_proof(stage: Stage, name: str, kind: str) -> None:
    case = GAPS[name].case
    backend = (stage.cast.grpc if kind == "GRPCRoute" else stage.cast.http)[name]
    settles(lambda: stage.ask(kind, name), HTTPStatus.OK if case.reached else REFUSAL[kind])
    assert bool(backend.tap.hellos) is case.tried
    assert bool(backend.told) is case.reached


@pytest.mark.parametrize("name", GAPS)
def test_a_backend_gets_copies_of_requests_only_after_its_proof(stage: Stage, name: str) -> None:
    case, backend = GAPS[name].case, stage.cast.http[name]
    greeted, heard = len(backend.tap.hellos), len(backend.told)
    settles(lambda: stage.copy(name), HTTPStatus.OK)
    if case.tried:
        eventually(lambda: len(backend.tap.hellos) > greeted)
    if case.reached:
        eventually(lambda: len(backend.told) > heard)
    else:
        assert backend.told == []


def test_a_status_speaks_to_each_gateway_that_leads_to_a_backend_if_only_by_copies(stage: Stage) -> None:
    other = manifest(
        "Gateway", "copying", spec={"gatewayClassName": "legation", "listeners": [http_listener(HTTP)]}
    )
    stage.put(other, copying("copying", "right", "wrong-name", parentRefs=[{"name": "copying"}]))
    entries = told()[EDGE]
    settles(lambda: stage.says("wrong-name"), {EDGE: entries, "copying": entries})
    settles(lambda: stage.says("right"), {EDGE: entries, "copying": entries})
    stage.delete("httproute", "copying")
    settles(lambda: stage.says("wrong-name"), told())
    stage.delete("gateway", "copying")
    settles(lambda: stage.says("right"), told())


def test_the_younger_of_two_policies_takes_over_when_the_older_one_goes(stage: Stage) -> None:
    settles(lambda: stage.answers("rivals"), ANSWERED)
    stage.put(policy("younger", trusting("other"), target="rivals"))
    settles(lambda: stage.says("younger"), told("Conflicted"))
    assert stage.says("older") == told()
    assert stage.answers("rivals") == ANSWERED
    stage.delete("backendtlspolicy", "older")
    settles(lambda: stage.answers("rivals"), REFUSED)
    settles(lambda: stage.says("younger"), told())
    stage.put(policy("younger", trusting("root"), target="rivals"))
    settles(lambda: stage.answers("rivals"), ANSWERED)
    settles(lambda: stage.says("younger"), told())


@pytest.mark.parametrize(
    ("roots", "answers", "status"),
    [
        pytest.param(ROOT.pem + OTHER.pem, ANSWERED, told(), id="two"),
        pytest.param(OTHER.pem, REFUSED, told(), id="another"),
        pytest.param(ROOT.pem, ANSWERED, told(), id="right"),
        pytest.param("no certificate", REFUSED, told(NONE, BAD), id="unreadable"),
        pytest.param(LAPSED.pem + ROOT.pem, ANSWERED, told(resolved=LATE), id="one-lapsed"),
        pytest.param(LAPSED.pem, REFUSED, told(NONE, LATE), id="lapsed"),
    ],
)
def test_a_backend_is_proved_by_the_roots_that_are_there_now(
    stage: Stage, roots: str, answers: Answers, status: Told
) -> None:
    stage.put(config_map("rotated", roots))
    settles(lambda: stage.says("rotated"), status)
    settles(lambda: stage.answers("rotated"), answers)


def test_roots_that_are_deleted_prove_nothing_and_those_that_come_do(stage: Stage) -> None:
    stage.put(config_map("rotated", ROOT.pem))
    settles(lambda: stage.answers("rotated"), ANSWERED)
    stage.delete("configmap", "rotated")
    settles(lambda: stage.says("rotated"), told(NONE, BAD))
    settles(lambda: stage.answers("rotated"), REFUSED)
    stage.put(config_map("rotated", ROOT.pem))
    settles(lambda: stage.says("rotated"), told())
    settles(lambda: stage.answers("rotated"), ANSWERED)


def test_roots_that_lapse_while_they_are_trusted_prove_nothing_any_more(stage: Stage) -> None:
    settles(lambda: stage.answers("passing"), REFUSED)
    stage.put(config_map("rotated", OTHER.pem))  # the clock is looked at with it, else once a minute
    settles(lambda: stage.says("passing"), told(NONE, LATE))
