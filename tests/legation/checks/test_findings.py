"""What somebody should look at, and what nobody need."""

import json

import pytest

from legation.checks.findings import Finding, Told, findings, in_order
from legation.manifests import Place, Problem
from translator.names import Name, Ref
from translator.rules.gateways import CONTROLLER
from translator.translate import Mistake

EDGE, STORE = Ref("Gateway", Name("infra", "edge")), Ref("HTTPRoute", Name("shop", "store"))


def condition(condition_type: str, status: str, reason: str = "Reason") -> dict[str, str]:
    return {"type": condition_type, "status": status, "reason": reason, "message": "words"}


def of_gateway(*conditions: dict[str, str]) -> tuple[Finding, ...]:
    return findings((), {EDGE: json.dumps({"conditions": conditions}).encode()}, {})


def test_what_is_as_it_should_be_is_no_finding() -> None:
    assert of_gateway(condition("Accepted", "True"), condition("Conflicted", "False", "NoConflicts")) == ()


@pytest.mark.parametrize(
    ("problem", "is_said"),
    [
        (Problem(Place("a.yaml", 2), "is no field of this kind", STORE, "spec.host"), True),
        (Problem(Place("a.yaml", 2), "is also in b.yaml: that one is used", STORE), False),
        (Problem(Place("a.yaml", 1), "is a link that leads nowhere"), False),
    ],
)
def test_an_api_server_is_said_to_refuse_only_what_it_would_be_given(problem: Problem, is_said: bool) -> None:  # noqa: FBT001  # a column
    [finding] = findings([problem], {}, {})
    assert finding.remedy.startswith("correct it as the message says")
    assert ("API server" in finding.remedy) == is_said


def test_waiting_is_no_finding() -> None:
    assert of_gateway(condition("Programmed", "False", "Pending")) == ()


@pytest.mark.parametrize("bad", [condition("Accepted", "False"), condition("Conflicted", "True")])
def test_what_is_refused_is_a_problem(bad: dict[str, str]) -> None:
    [finding] = of_gateway(bad, condition("Programmed", "False", "Invalid"))
    assert finding.is_problem
    assert bad["type"] in finding.message


def test_a_consequence_is_told_when_nothing_else_is() -> None:
    [finding] = of_gateway(condition("Programmed", "False", "Invalid"))
    assert "Programmed" in finding.message


def test_a_remark_is_a_finding_and_no_problem() -> None:
    [finding] = of_gateway(condition("legation.dev/VerificationDegraded", "True"))
    assert not finding.is_problem


def test_a_collector_that_is_found_is_no_finding_and_one_that_is_not_is_a_problem() -> None:
    found = condition("legation.dev/CollectorsResolved", "True")
    assert of_gateway(found) == ()
    [finding] = of_gateway(condition("legation.dev/CollectorsResolved", "False", "RefNotPermitted"))
    assert finding.is_problem


def test_a_condition_says_which_field_it_speaks_of_by_its_message_or_by_its_reason() -> None:
    listener = {"name": "b", "conditions": [condition("Accepted", "False", "PortUnavailable")]}
    status = {"listeners": [{"name": "a"}, listener]}
    [of_listener] = findings((), {EDGE: json.dumps(status).encode()}, {})
    assert of_listener.field == "spec.listeners[1].port"
    named = {**condition("ResolvedRefs", "False", "RefNotPermitted"), "message": "spec.tls.backend.x: none"}
    [by_message] = of_gateway(named)
    assert by_message.field == "spec.tls.backend.x"


def test_what_another_controller_says_is_not_ours_to_tell() -> None:
    entries = [
        {
            "controllerName": name,
            "parentRef": {"name": "edge"},
            "conditions": [condition("Accepted", "False")],
        }
        for name in ("example.net/other", CONTROLLER)
    ]
    [finding] = findings((), {STORE: json.dumps({"parents": entries}).encode()}, {})
    assert finding.where == "by Gateway shop/edge"


def test_a_known_reason_comes_with_its_remedy() -> None:
    [finding] = of_gateway(condition("ResolvedRefs", "False", "RefNotPermitted"))
    assert "ReferenceGrant" in finding.remedy


def test_a_mistake_in_a_manifest_says_file_document_field_and_object() -> None:
    problem = Problem(Place("a.yaml", 2), "must be a list", STORE, "spec.hostnames")
    [finding] = findings((problem,), {}, {})
    assert (finding.object, finding.where) == ("HTTPRoute shop/store", "a.yaml, document 2: spec.hostnames")
    assert finding.is_problem


def test_a_mistake_of_ours_is_told_with_what_it_is_about() -> None:
    [finding] = findings((), {}, {"cluster shop/pay:443": Mistake(KeyError("sni"))})
    assert (finding.object, finding.message) == ("cluster shop/pay:443", "KeyError: 'sni'")
    assert finding.is_problem


def test_what_an_object_says_is_read_again_only_where_there_is_news_of_it() -> None:
    told = Told()
    bad = json.dumps({"conditions": [condition("Accepted", "False")]}).encode()
    worse = json.dumps({"conditions": [condition("Programmed", "False")]}).encode()
    first = told.take({EDGE: bad, STORE: bad}, (STORE, EDGE))
    assert [each.object for each in first] == [str(EDGE), str(STORE)]
    assert told.take({EDGE: worse, STORE: worse}, ()) is first
    again = told.take({EDGE: bad, STORE: worse}, (STORE,))
    assert again[0] is first[0]
    assert again[1].message != first[1].message
    assert told.take({EDGE: bad}, (STORE,)) == first[:1]
    assert told.take({}, (EDGE,)) == ()


def test_the_gravest_come_first_and_what_only_newer_processes_know_last() -> None:
    groups = ("without effect", "of tomorrow", "refused", "served with a remark")
    found = in_order(Finding(group, "Gateway infra/edge", "", "words") for group in groups)
    assert [each.group for each in found] == [
        "refused",
        "served with a remark",
        "without effect",
        "of tomorrow",
    ]


@pytest.mark.parametrize(
    ("kind", "field"), [("BackendTLSPolicy", "spec.options"), ("XBackend", "metadata.annotations")]
)
def test_an_option_is_found_where_its_kind_says_it(kind: str, field: str) -> None:
    said = condition("Accepted", "False", "Invalid") | {"message": "option legation.dev/alpn: no name"}
    status = json.dumps({"ancestors": [{"controllerName": CONTROLLER, "conditions": [said]}]}).encode()
    [found] = findings((), {Ref(kind, Name("shop", "pay")): status}, {})
    assert found.field == field
