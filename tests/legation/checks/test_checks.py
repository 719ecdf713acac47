"""Every refusal of a rule is a check: it reaches a finding with its object, a field and a remedy."""

import ast
import importlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import msgspec
import pytest

from legation.checks.findings import Finding, Told, advice, of_check
from legation.checks.table import CHECKS, EXPIRY, GROUPS, OURS, PROBLEMS, REFUSALS, REMARKS, STRICT
from legation.statuses import Moment, merged
from tests.golden import cases, world_of
from translator.advice.checks import Advice
from translator.advice.everything import Advised
from translator.names import Name, Ref
from translator.objects.gateway import Gateway
from translator.rules.bundles import BUNDLES, Bundle
from translator.rules.managed import RUNS_PROXIES, Upkeep
from translator.rules.status import GatewayStatus, Status
from translator.translate import translate
from translator.verdict import OUR_FAULT, fails

ROOT = Path(__file__).parents[3]
RULES = ROOT / "translator/rules"
BY_NAME = {check.id: check for check in CHECKS}
# Reasons that never stand in a status: of what became of a text on its way, of what is well, and of waiting.
INNER = {"Empty", "NoConflicts", "Pending", "PrivateKey", "TooLong", "TooMany"}
ROOMS = ("spec", "metadata.annotations")


def said(statuses: dict[Ref, Status]) -> tuple[Finding, ...]:
    written = {
        ref: merged(b"", status, Moment("2026-02-01T00:00:00Z", 1)) for ref, status in statuses.items()
    }
    return Told().take(written, written)


@cache
def of_all_cases() -> tuple[tuple[str, Finding], ...]:
    found = [(case.name, each) for case in cases() for each in said(dict(translate(world_of(case)).statuses))]
    return (*found, *(("what a cluster says", each) for each in in_a_cluster()))


def in_a_cluster() -> Iterator[Finding]:
    """Yield what no manifest leads to: old CRDs, and proxies that cannot be run."""
    world = world_of(cases()[0])
    world.state(BUNDLES, frozenset({Bundle("v1.2.0", "standard")}))
    world.state(RUNS_PROXIES, value=True)
    for name in world.names(Gateway):
        world.put(Upkeep, name, Upkeep("the API server does not let us create Deployments"))
    yield from said(dict(translate(world).statuses))
    rare = {"TooManyListeners": "ListenerSet", "RefusedByEnvoy": "Gateway", OUR_FAULT: "Gateway"}
    for reason, kind in rare.items():  # which no small world leads to
        told = GatewayStatus((fails("Accepted", reason, "words"),), ())
        yield from said({Ref(kind, Name("shop", "a")): told})


def reasons(path: Path) -> Iterator[str]:
    """Yield the reasons that a rule gives when it refuses something, written out or as its own constant."""
    module = importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    places = {"Refused": 0, "fails": 1}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in places:
            match node.args[places[node.func.id]] if len(node.args) > places[node.func.id] else None:
                case ast.Constant(value=str() as reason):
                    yield reason
                case ast.Name(id=name) if isinstance(constant := getattr(module, name, None), str):
                    yield constant
                case _:
                    pass  # it is passed on, from where it is written


@pytest.mark.tree
def test_every_reason_that_a_rule_gives_is_a_check() -> None:
    given = {reason for path in RULES.glob("*.py") for reason in reasons(path)}
    assert len(given) > 20
    assert given - {check.id for check in REFUSALS} - INNER == set()


def test_every_refusal_is_found_in_some_world() -> None:
    found = {each.check for _, each in of_all_cases()}
    assert {check.id for check in (*REFUSALS, EXPIRY, *REMARKS)} - found == set()


def test_whatever_objects_say_is_a_known_check_with_object_field_and_remedy() -> None:
    poor = [
        (case, each)
        for case, each in of_all_cases()
        if each.check not in BY_NAME or not each.object or not each.remedy or not each.field.startswith(ROOMS)
    ]
    assert poor == []


def test_a_check_has_one_name_and_a_group_that_is_told() -> None:
    assert len(BY_NAME) == len(CHECKS)
    assert {check.group for check in CHECKS} <= set(GROUPS)
    assert all(check.what and check.remedy for check in CHECKS)


@pytest.mark.parametrize("group", GROUPS)
def test_what_fails_a_pipeline_fails_a_strict_one_too(group: str) -> None:
    assert group not in PROBLEMS or group in STRICT


def test_advice_is_no_problem_unless_somebody_is_strict() -> None:
    checks = [check for check in CHECKS if check.id.islower()]
    given = [Advice(check, Ref("Service", Name("shop", "pay")), "spec", "words") for check in checks]
    told = [each for each in advice(Advised(tuple(given), {})) if not each.is_problem]
    assert {each.check for each in told} >= {"shadowed", "pin-alone", "grant-unused"}
    assert [each.is_strictly_a_problem for each in told] == [each.check != "passed-over" for each in told]


def test_a_mistake_of_ours_in_advice_is_told_as_such() -> None:
    [told] = advice(Advised((), {"advice about pins": KeyError("sni")}))
    assert (told.check, told.object, told.is_problem) == ("our-mistake", "advice about pins", True)


def test_findings_keep_their_names_in_json() -> None:
    check = next(check for check in CHECKS if check.group == OURS)
    finding = of_check(check, "Gateway shop/edge", "spec.listeners[0]", "words")
    assert msgspec.to_builtins(finding) == {
        "group": OURS,
        "object": "Gateway shop/edge",
        "where": "",
        "message": "words",
        "remedy": check.remedy,
        "field": "spec.listeners[0]",
        "check": check.id,
    }
