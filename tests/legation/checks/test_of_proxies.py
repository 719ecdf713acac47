"""What `check` says of the Envoys of Gateways."""

from legation.checks.findings import Finding
from legation.checks.of_proxies import of_proxies
from legation.contact import Stale
from legation.standing import Envoy, Gateway, LastNack, Overview
from legation.written_status import Condition

ACCEPTED = (Condition("Accepted", "True", "Accepted"),)
REFUSED = (Condition("Accepted", "False", "InvalidParameters"),)
NACK = LastNack("type.test/Listener", ("infra/edge:80",), "no such filter")


def envoy(*, current: bool, nack: LastNack | None = None, replica: str = "") -> Envoy:
    return Envoy("edge-1", "198.18.0.1:4000", 9.0, current, {}, nack, replica)


def told(*envoys: Envoy, conditions: tuple[Condition, ...] = ACCEPTED) -> list[Finding]:
    gateway = Gateway("infra/edge", ("198.18.0.1",), (), conditions, (), envoys)
    return [*of_proxies(Overview("1", True, (gateway,), (), (), ()))]  # noqa: FBT003  # it is ready


def test_envoys_that_hold_the_newest_are_no_finding_whatever_they_refused_before() -> None:
    assert told(envoy(current=True), envoy(current=True, nack=NACK)) == []


def test_an_envoy_that_is_behind_is_waited_for() -> None:
    [finding] = told(envoy(current=True), envoy(current=False, replica="legation-0"))
    assert (finding.check, finding.object, finding.is_problem) == (
        "proxy-lagging",
        "Gateway infra/edge",
        False,
    )
    assert finding.message == "Envoy edge-1 at legation-0 does not hold the newest of everything"


def test_an_envoy_that_refuses_is_a_problem_and_says_why() -> None:
    [finding] = told(envoy(current=False, nack=NACK))
    assert (finding.check, finding.is_problem) == ("proxy-rejecting", True)
    assert finding.message == "Envoy edge-1 refuses infra/edge:80: no such filter"


def test_a_gateway_without_an_envoy_is_told_of_unless_it_is_refused() -> None:
    [finding] = told()
    assert (finding.check, finding.is_problem) == ("proxy-absent", False)
    assert told(conditions=REFUSED) == []


def test_a_source_that_is_silent_is_told_of() -> None:
    stale = (Stale("Service", 12.3, "no answer"),)
    [finding] = of_proxies(Overview("1", True, (), (), (), (), stale))  # noqa: FBT003  # it is ready
    assert (finding.check, finding.object) == ("source-stale", "Service")
    assert finding.message == "out of date: Service for 12 s (no answer)"
