"""What we refuse in a manifest is what an API server with the published CRDs refuses."""

import random
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from e2e.crds.mutations import mutants
from e2e.crds.oracle import Oracle, build
from tests.security.references import fields
from tests.translator.objects.admission.rule_examples import examples
from translator.objects.admission.admit import admit
from translator.objects.admission.finding import Finding
from translator.objects.kinds import KINDS, KindInfo, find_kind
from translator.objects.references import GATEWAY_GROUP
from translator.objects.x_backend import X_GROUP

Manifest = dict[str, Any]

CASES = Path(__file__).parents[2] / "tests" / "cases"
MUTANTS = 300
# One rule compares with the object as it was; the other can only break where the schema is broken already,
# upon which an API server does not ask the rules.
NEVER_ASKED = {"field is immutable", "type must be one of ['Exact', 'PathPrefix', 'RegularExpression']"}
OF_THE_RELEASE = [info for info in KINDS if info.group in (GATEWAY_GROUP, X_GROUP)]
VERSIONS = [(info, version) for info in OF_THE_RELEASE for version in info.versions]
KNOWN = {(info.group, info.kind) for info in OF_THE_RELEASE}
UNPUBLISHED: list[Manifest] = [
    {"kind": "GatewayClass", "metadata": {"name": "a"}, "spec": {"controllerName": "example.com/controller"}},
    {
        "kind": "ReferenceGrant",
        "metadata": {"name": "a"},
        "spec": {
            "from": [{"group": "", "kind": "Service", "namespace": "a"}],
            "to": [{"group": "", "kind": "Service"}],
        },
    },
]


class Release(NamedTuple):
    """The release of Gateway API we are compared with: its CRDs by kind, and the examples it publishes."""

    oracle: Oracle
    crds: dict[str, Manifest]
    manifests: list[Manifest]


@pytest.fixture(scope="session")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    """Fetch the release once."""
    oracle = build(tmp_path_factory.mktemp("oracle"))
    crds = [
        crd
        for crd in documents(oracle, "config/crd/experimental")
        if crd.get("kind") == "CustomResourceDefinition"
    ]
    manifests = [*documents(oracle, "examples"), *documents(oracle, "hack")]
    return Release(
        oracle,
        {crd["spec"]["names"]["kind"]: crd for crd in crds if _names(crd) in KNOWN},
        [placed(manifest) for manifest in manifests if is_ours(manifest)],
    )


def _names(crd: Manifest) -> tuple[str, str]:
    return crd["spec"]["group"], crd["spec"]["names"]["kind"]


def documents(oracle: Oracle, folder: str) -> list[Manifest]:
    """Read all YAML below a folder of the release, right or wrong."""
    texts = [path.read_text() for path in sorted((oracle.release / folder).rglob("*.yaml"))]
    loaded = [document for text in texts for document in yaml.load_all(text, yaml.CSafeLoader)]
    return [document for document in loaded if isinstance(document, dict)]


def is_ours(manifest: Manifest) -> bool:
    """Say whether there is a CRD for a manifest."""
    info = find_kind(manifest.get("apiVersion", ""), manifest.get("kind", ""))
    return info in OF_THE_RELEASE and "spec" in manifest


def placed(manifest: Manifest) -> Manifest:
    """Say the namespace that a manifest without one gets."""
    if manifest["kind"] == "GatewayClass":
        return manifest
    return {**manifest, "metadata": {"namespace": "default", **manifest["metadata"]}}


def findings(manifest: Manifest) -> tuple[Finding, ...]:
    """Say what we have against a manifest."""
    info = find_kind(manifest["apiVersion"], manifest["kind"])
    assert info
    answer = admit(manifest, info)
    return answer if isinstance(answer, tuple) else ()


def disagreements(release: Release, manifests: list[Manifest]) -> list[str]:
    """Show the manifests that only one of us refuses."""
    texts = [yaml.safe_dump(manifest, sort_keys=False) for manifest in manifests]
    ours = [findings(manifest) for manifest in manifests]
    theirs = release.oracle.judge(manifests)
    return [
        f"{text}\nours: {found}\ntheirs: {refused}"
        for text, found, refused in zip(texts, ours, theirs, strict=True)
        if bool(found) != bool(refused)
    ]


def messages_below(schema: object) -> set[str]:
    """Gather what the rules of a schema say when they are broken; a status is nobody's to write."""
    if isinstance(schema, list):
        return {message for item in schema for message in messages_below(item)}
    if not isinstance(schema, dict):
        return set()
    own = {rule["message"] for rule in schema.get("x-kubernetes-validations", [])}
    return own.union(*(messages_below(below) for key, below in schema.items() if key != "status"))


@pytest.mark.parametrize("folder", ["pins", "insecure_verification", "tls_options"])
def test_the_standard_channel_takes_whatever_is_asked_of_a_certificate(release: Release, folder: str) -> None:
    """Pins, skipping and limits stand in fields that the stock CRDs have, and have room for them."""
    texts = [path.read_text() for path in sorted((CASES / folder).glob("*.given.yaml"))]
    written = [document for text in texts for document in yaml.load_all(text, yaml.CSafeLoader)]
    policies = [
        {**each, "metadata": {"name": each["metadata"]["name"], "namespace": "shop"}}
        for each in written
        if each["kind"] == "BackendTLSPolicy"
    ]
    assert len(policies) >= len(texts)
    assert release.oracle.judge(policies, "standard") == [[]] * len(policies)
    [spoilt] = release.oracle.judge(
        [{**policies[0], "spec": {**policies[0]["spec"], "pins": []}}], "standard"
    )
    assert [each.field for each in spoilt] == ["spec.pins"]


def test_the_published_examples_are_judged_alike(release: Release) -> None:
    """Right ones and wrong ones."""
    assert len(release.manifests) > 100
    assert disagreements(release, release.manifests) == []


def test_the_examples_of_the_rules_are_judged_alike(release: Release) -> None:
    """What `make test` takes for right and wrong is so."""
    manifests = [manifest for example in examples() for manifest in (example.accepted, example.refused)]
    assert disagreements(release, manifests) == []


def test_every_rule_of_the_crds_has_an_example_that_breaks_it(release: Release) -> None:
    """None of the rules is forgotten."""
    wanted = messages_below([crd["spec"]["versions"] for crd in release.crds.values()]) - NEVER_ASKED
    refusals = release.oracle.judge(example.refused for example in examples())
    said = "\n".join(refusal.detail for refused in refusals for refusal in refused)
    assert {message for message in wanted if message not in said} == set()


def references_below(schema: Manifest, path: str) -> set[str]:
    """Name the fields that hold the name of another object; a status is nobody's to write."""
    if "items" in schema:
        return references_below(schema["items"], path)
    fields: Manifest = schema.get("properties", {})
    own = {path} if "name" in fields and fields.keys() & {"group", "kind", "namespace"} else set()
    return own.union(*(references_below(below, f"{path}.{name}") for name, below in fields.items()))


def test_every_field_of_the_crds_that_names_another_object_is_known_to_those_who_attack(
    release: Release,
) -> None:
    """A reference that a release adds is read and attacked, or excused for a reason."""
    published = {
        each
        for kind, crd in release.crds.items()
        for version in crd["spec"]["versions"]
        for each in references_below(
            version["schema"]["openAPIV3Schema"]["properties"]["spec"], f"{kind}.spec"
        )
    }
    assert published == {each for each in fields() if each.partition(".")[0] in release.crds}


@pytest.mark.parametrize(("info", "version"), VERSIONS, ids=[f"{i.kind}-{v}" for i, v in VERSIONS])
def test_manifests_that_are_nearly_right_are_judged_alike(
    release: Release, info: KindInfo, version: str
) -> None:
    """Few changes to what is right lead to the borders of every rule."""
    [schema] = [
        served["schema"]["openAPIV3Schema"]
        for served in release.crds[info.kind]["spec"]["versions"]
        if served["name"] == version
    ]
    right = [*release.manifests, *UNPUBLISHED, *(example.accepted for example in examples())]
    seeds = [placed({**manifest, "apiVersion": info.api_version(version)}) for manifest in right]
    seeds = [seed for seed in seeds if seed["kind"] == info.kind]
    chance = random.Random(f"{info.kind} {version}")  # noqa: S311  a test wants the same manifests again
    count = max(20, MUTANTS // len(seeds))
    manifests = [mutant for seed in seeds for mutant in mutants(seed, schema, chance, count)]
    assert disagreements(release, manifests) == []
    accepted = sum(not refused for refused in release.oracle.judge(manifests))
    assert 0 < accepted < len(manifests)
