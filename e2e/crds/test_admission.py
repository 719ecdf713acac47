"""What we refuse in a manifest is what an API server with the published CRDs refuses."""

import random
from typing import Any

import pytest
import yaml

from e2e.crds.mutations import mutants
from e2e.crds.oracle import Oracle, build
from tests.translator.objects.admission.rule_examples import examples
from translator.objects.admission.admit import admit
from translator.objects.admission.finding import Finding
from translator.objects.kinds import KINDS, find_kind
from translator.objects.references import GATEWAY_GROUP

MUTANTS = 300
# One rule compares with the object as it was before, and one can only break where the schema is broken already,
# upon which an API server does not ask the rules.
NEVER_ASKED = {"field is immutable", "type must be one of ['Exact', 'PathPrefix', 'RegularExpression']"}

VERSIONS = [
    (info.kind, version) for info in KINDS if info.group == GATEWAY_GROUP for version in info.versions
]  # fmt: skip


@pytest.fixture(scope="session")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> Oracle:
    return build(tmp_path_factory.mktemp("oracle"))


def crds(oracle: Oracle) -> dict[str, dict[str, Any]]:
    texts = [path.read_text() for path in sorted(oracle.crds.glob("gateway.networking.k8s.io_*.yaml"))]
    loaded = [document for text in texts for document in yaml.load_all(text, yaml.CSafeLoader)]
    return {crd["spec"]["names"]["kind"]: crd for crd in loaded if crd["kind"] == "CustomResourceDefinition"}


def schema_of(crd: dict[str, Any], version: str) -> dict[str, Any]:
    [schema] = [v["schema"]["openAPIV3Schema"] for v in crd["spec"]["versions"] if v["name"] == version]
    return dict(schema)


def findings(manifest: dict[str, Any]) -> tuple[Finding, ...]:
    info = find_kind(manifest["apiVersion"], manifest["kind"])
    assert info
    answer = admit(manifest, info)
    return answer if isinstance(answer, tuple) else ()


def published(oracle: Oracle) -> list[dict[str, Any]]:
    """The examples that are published with the CRDs, right ones and wrong ones."""
    texts = [
        path.read_text()
        for folder in ("examples", "hack")
        for path in sorted((oracle.release / folder).rglob("*.yaml"))
    ]
    loaded = [document for text in texts for document in yaml.load_all(text, yaml.CSafeLoader)]
    objects = [thing for thing in loaded if isinstance(thing, dict) and "spec" in thing]
    return [
        thing
        for thing in objects
        if (info := find_kind(thing.get("apiVersion", ""), thing.get("kind", "")))
        and info.group == GATEWAY_GROUP
    ]


def disagreements(oracle: Oracle, objects: list[dict[str, Any]]) -> list[str]:
    texts = [yaml.safe_dump(thing, sort_keys=False) for thing in objects]
    ours = [findings(thing) for thing in objects]
    theirs = oracle.judge(objects)
    return [
        f"{text}\nours: {found}\ntheirs: {refused}"
        for text, found, refused in zip(texts, ours, theirs, strict=True)
        if bool(found) != bool(refused)
    ]


def place(thing: dict[str, Any]) -> dict[str, Any]:
    """Say the namespace that a manifest without one gets."""
    info = find_kind(thing["apiVersion"], thing["kind"])
    assert info
    return {**thing, "metadata": {"namespace": "default", **thing["metadata"]}} if info.namespaced else thing


def test_the_published_examples_are_judged_alike(oracle: Oracle) -> None:
    objects = [place(thing) for thing in published(oracle)]
    assert len(objects) > 100
    assert disagreements(oracle, objects) == []


def test_the_examples_of_the_rules_are_judged_alike(oracle: Oracle) -> None:
    objects = [thing for example in examples() for thing in (example.accepted, example.refused)]
    assert disagreements(oracle, objects) == []


def test_every_rule_of_the_crds_has_an_example_that_breaks_it(oracle: Oracle) -> None:
    wanted = {
        (kind, rule["message"])
        for kind, crd in crds(oracle).items()
        for rule in rules_below(crd["spec"]["versions"])
    }
    messages = {message for _, message in wanted} - NEVER_ASKED
    said = "\n".join(
        refusal.detail
        for refused in oracle.judge([example.refused for example in examples()])
        for refusal in refused
    )
    assert {message for message in messages if message not in said} == set()
    assert len(messages) == 93


def rules_below(schema: Any) -> list[dict[str, str]]:  # noqa: ANN401  a piece of a schema
    if isinstance(schema, list):
        return [rule for item in schema for rule in rules_below(item)]
    if not isinstance(schema, dict):
        return []
    own = schema.get("x-kubernetes-validations", [])
    return [*own, *(rule for key, value in schema.items() if key != "status" for rule in rules_below(value))]


@pytest.mark.parametrize(("kind", "version"), VERSIONS)
def test_objects_that_are_nearly_right_are_judged_alike(oracle: Oracle, kind: str, version: str) -> None:
    schema = schema_of(crds(oracle)[kind], version)
    seeds = [thing for thing in published(oracle) if thing["kind"] == kind]
    seeds += [example.accepted for example in examples() if example.accepted["kind"] == kind]
    seeds += MINIMAL.get(kind, [])
    chance = random.Random(f"{kind} {version}")  # noqa: S311  a test wants the same objects again
    objects = []
    for seed in seeds:
        valid = place({**seed, "apiVersion": f"{GATEWAY_GROUP}/{version}"})
        objects += mutants(valid, schema, chance, max(20, MUTANTS // len(seeds)))
    assert disagreements(oracle, objects) == []
    accepted = sum(not refused for refused in oracle.judge(objects))
    assert 0 < accepted < len(objects)


MINIMAL: dict[str, list[dict[str, Any]]] = {
    "GatewayClass": [
        {
            "kind": "GatewayClass",
            "metadata": {"name": "a"},
            "spec": {"controllerName": "example.com/controller"},
        }
    ],
    "ReferenceGrant": [
        {
            "kind": "ReferenceGrant",
            "metadata": {"name": "a"},
            "spec": {
                "from": [{"group": "", "kind": "Service", "namespace": "a"}],
                "to": [{"group": "", "kind": "Service"}],
            },
        }
    ],
}
