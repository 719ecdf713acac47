"""Objects of a size that no CRD permits, as files and older CRDs may have them, and references in circles.

What they cost is counted: lines of Python, queries, bytes for Envoys, findings. It is what there is of them
at the most, and nobody else differs.
"""

import json
import os
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from legation.manifests import MOST_PROBLEMS, read_manifests
from tests.golden import let_in
from tests.poison.circles import CIRCLES
from tests.poison.effort import grows_no_faster, resident
from tests.poison.pems import ONE, bad_bundles, stock, thing
from tests.poison.spells import GATEWAYS, TENANT
from tests.poison.tenants import all_told, first_at_the_shared_door, portrait, world_of
from translator.objects.admission.admit import MOST_FINDINGS
from translator.objects.kinds import KINDS, KindInfo, find_kind, name_of
from translator.rules.identities import REVOKED_BEFORE
from translator.rules.limits import LARGEST_ROUTE
from translator.translate import Translation, Translator, translate

Json = dict[str, Any]

V1, X = f"{GATEWAYS}/v1", "gateway.networking.x-k8s.io/v1alpha1"
PARENTS = [{"name": "shared", "namespace": "infra"}, {"name": "a"}]
BACKENDS = [{"name": "a", "port": 80}]
MOST_RULES = 10_000
FEW = 250  # rules, of which four times as many are tried
MOST_RUNS = 1_000  # queries, whatever stands in one object
MOST_BYTES = 8 * LARGEST_ROUTE  # for Envoys of three listeners
MOST_GROWTH = 64  # MiB
LONGEST_ANNOTATIONS = 256 * 1024
SCRIPTS = (
    "Zoë",
    "שלום",
    "\u202eevil\u202c",
    "e\u0301" * 20,
    "\U0001f9d1\u200d\U0001f680",
    "\ufeff",
    "ﷺ",
    "\x7f",
    "ǅ",
)


def made(manifests: Iterable[Json]) -> tuple[Translation, int]:
    """Translate them beside the quiet tenant's, who must not notice; return how many queries ran, too."""
    world = world_of()
    translator = Translator(world)
    before, runs = translator.translate(), world.memory.runs.total()
    for each in map(let_in, manifests):
        world.put(type(each), name_of(each), each)
    during = translator.translate()
    assert not during.broken
    assert portrait(during) == portrait(before)
    assert first_at_the_shared_door(during) == first_at_the_shared_door(before)
    return during, world.memory.runs.total() - runs


def size(translation: Translation) -> int:
    """Return how many bytes Envoys are sent."""
    return sum(
        len(each.body)
        for resources in translation.gateways.values()
        for named in resources.values()
        for each in named.values()
    )


def rule(kind: str, number: int) -> Json:
    match kind:
        case "HTTPRoute":
            matches = [{"path": {"value": f"/{number}"}}]
        case "GRPCRoute":
            matches = [{"method": {"service": f"s{number}"}}]
        case _:
            return {"backendRefs": BACKENDS}
    return {"matches": matches, "backendRefs": BACKENDS}


def route(kind: str, rules: int) -> Json:
    return thing(V1, kind, "big", parentRefs=PARENTS, rules=[rule(kind, number) for number in range(rules)])


def large(kind: str, rules: int) -> Json:
    """Write rules that are more than Envoys should be sent."""
    whole = route(kind, rules)
    for each in whole["spec"]["rules"]:
        each["matches"] *= 8
    return whole


ROUTES = ("HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute", "UDPRoute")


@pytest.mark.parametrize("kind", ROUTES)
def test_ten_thousand_rules_cost_no_more_queries_than_one_and_are_few_bytes_or_refused(kind: str) -> None:
    translation, runs = made([route(kind, MOST_RULES)])
    assert runs < MOST_RUNS
    assert size(translation) < MOST_BYTES


@pytest.mark.parametrize("kind", ["HTTPRoute", "GRPCRoute"])
def test_a_route_of_ten_thousand_rules_that_is_too_large_is_refused_with_a_remedy(kind: str) -> None:
    translation, _ = made([large(kind, MOST_RULES)])
    assert "the route is too large" in all_told(translation)
    assert "split it" in all_told(translation)
    assert size(translation) < size(translate(world_of())) + LARGEST_ROUTE / 100


@pytest.mark.parametrize("kind", ROUTES)
def test_rules_are_translated_in_as_many_steps_as_they_are(kind: str) -> None:
    def translated(rules: int) -> Callable[[], object]:
        world = world_of([let_in(route(kind, rules))])
        return lambda: translate(world)

    assert grows_no_faster(translated, FEW)


@pytest.mark.parametrize("kind", ROUTES)
def test_a_file_with_ten_thousand_rules_is_refused_in_as_many_steps_as_they_are(kind: str) -> None:
    def read(rules: int) -> Callable[[], object]:
        text = json.dumps(route(kind, rules))
        return lambda: read_manifests(text, "evil.yaml")

    assert grows_no_faster(read, FEW)
    loaded, problems = read_manifests(json.dumps(route(kind, MOST_RULES)), "evil.yaml")
    assert not loaded
    assert {str(each.about) for each in problems} == {f"{kind} {TENANT}/big"}
    assert "must have at most 16 items, and has 10000: split the object" in [
        each.message for each in problems
    ]


@pytest.mark.parametrize(
    ("text", "most"),
    [
        (json.dumps(thing(V1, "HTTPRoute", "big", rules=[1] * 50_000)), MOST_FINDINGS + 1),
        (json.dumps({"apiVersion": "v1", "kind": "List", "items": [{}] * 50_000}), MOST_PROBLEMS + 2),
        ("a: 1\n---\n" * 15_000, MOST_PROBLEMS + 2),
        ("{apiVersion: v1, kind: Pod}\n---\n" * 10_000, MOST_PROBLEMS + 2),
    ],
    ids=("of one object", "of a list", "of documents", "that are passed over"),
)
def test_of_masses_of_mistakes_the_first_are_told_and_that_there_are_more(text: str, most: int) -> None:
    before = resident(os.getpid())
    loaded, problems = read_manifests(text, "evil.yaml")
    assert (loaded, len(problems)) == ((), most)
    assert any(each.message.endswith("mend these first") for each in problems)
    assert resident(os.getpid()) < before + 4 * MOST_GROWTH


NAMESPACED = [info for info in KINDS if info.namespaced]


def annotated(info: KindInfo, annotations: dict[str, str]) -> Json:
    """Take an object of the tenant's own that there is, or else a small one, and annotate it."""
    specs: dict[str, Json] = {
        "Gateway": {
            "gatewayClassName": "legation",
            "listeners": [{"name": "a", "port": 80, "protocol": "HTTP"}],
        },
        "ListenerSet": {
            "parentRef": PARENTS[0],
            "listeners": [{"name": "a", "port": 8080, "protocol": "HTTP"}],
        },
        "BackendTLSPolicy": {
            "targetRefs": [{"group": "", "kind": "Service", "name": "a"}],
            "validation": {"hostname": "a.test", "wellKnownCACertificates": "System"},
        },
        "XBackend": {
            "type": "ExternalHostname",
            "port": {"number": 80},
            "externalHostname": {"hostname": "a.test"},
        },
        "ReferenceGrant": {"from": [{"group": GATEWAYS, "kind": "HTTPRoute", "namespace": "b"}], "to": []},
        "Service": {"ports": [{"port": 80}]},
        "ServiceImport": {"type": "ClusterSetIP", "ports": [{"port": 80}]},
    }
    plain: dict[str, Json] = {
        "Secret": {},
        "ConfigMap": {},
        "EndpointSlice": {"addressType": "IPv4", "endpoints": []},
    }
    spec: Json = specs.get(info.kind) or (route(info.kind, 1)["spec"] if info.kind in ROUTES else {})
    written = thing(info.api_version(info.versions[0]), info.kind, "big", **spec)
    if info.kind in plain:
        del written["spec"]
        written |= plain[info.kind]
    return {**written, "metadata": {**written["metadata"], "annotations": annotations}}


@pytest.mark.parametrize("info", NAMESPACED, ids=lambda info: info.kind)
def test_enormous_annotations_of_any_kind_reach_neither_envoys_nor_statuses(info: KindInfo) -> None:
    huge = {f"example.com/{n}": "%x{}" * (LONGEST_ANNOTATIONS // 64 - 8) for n in range(16)}
    with_them, more = made([annotated(info, huge)])
    without, runs = made([annotated(info, {})])
    assert (with_them.gateways, with_them.statuses) == (without.gateways, without.statuses)
    assert more == runs
    assert len(all_told(with_them)) < LONGEST_ANNOTATIONS / 4
    _, problems = read_manifests(json.dumps(annotated(info, huge | {"x": "x" * 9000})), "evil.yaml")
    assert any(each.path == "metadata.annotations" for each in problems)


@pytest.mark.parametrize("key", [REVOKED_BEFORE, "legation.dev/min-tls-version", "legation.dev/unknown"])
def test_an_enormous_annotation_that_is_read_is_cut_where_it_is_told(key: str) -> None:
    for info in NAMESPACED:
        translation, runs = made([annotated(info, {key: "\u202e9" * (LONGEST_ANNOTATIONS // 8)})])
        assert runs < MOST_RUNS
        assert len(all_told(translation)) < LONGEST_ANNOTATIONS / 4


def test_enormous_annotations_for_what_a_gateway_is_made_of_are_refused_or_written_as_they_are() -> None:
    asked = annotated(find_kind(V1, "Gateway"), {})  # type: ignore[arg-type]  # it is there
    asked["spec"]["infrastructure"] = {"annotations": {f"example.com/{n}": "x" * 4096 for n in range(17)}}
    _, problems = read_manifests(json.dumps(asked), "evil.yaml")
    assert [each.path for each in problems] == ["spec.infrastructure.annotations"]
    translation, runs = made([asked])
    assert runs < MOST_RUNS
    assert not any(
        b"x" * 4096 in each.body
        for some in translation.gateways.values()
        for named in some.values()
        for each in named.values()
    )


@pytest.mark.parametrize("circle", CIRCLES)
def test_references_in_a_circle_are_refused_and_end(circle: str) -> None:
    manifests, says = CIRCLES[circle]
    translation, runs = made(manifests)
    assert says in all_told(translation)
    assert runs < MOST_RUNS


def test_a_web_of_grants_costs_only_what_references_ask_of_it() -> None:
    def web(namespaces: int) -> list[Json]:
        names = [f"n{number}" for number in range(namespaces)]
        given = [{"group": GATEWAYS, "kind": "HTTPRoute", "namespace": each} for each in names]
        grants = [
            thing(V1, "ReferenceGrant", "g", **{"from": given, "to": [{"group": "", "kind": "Service"}]})
            for _ in names
        ]
        for name, each in zip(names, grants, strict=True):
            each["metadata"]["namespace"] = name
        refs = [{"name": "a", "namespace": each, "port": 80} for each in names[:16]]
        return [*grants, thing(V1, "HTTPRoute", "r", parentRefs=PARENTS, rules=[{"backendRefs": refs}])]

    few, many = made(web(16)), made(web(160))
    assert many[1] == few[1]
    assert "no ReferenceGrant allows Service n0/a" in all_told(many[0])


def trusting(bundle: str) -> list[Json]:
    """Believe a bundle for the tenant's Service, that a route leads to."""
    roots = thing("v1", "ConfigMap", "roots")
    del roots["spec"]
    target = {"group": "", "kind": "Service", "name": "a"}
    validation = {
        "hostname": "a.test",
        "caCertificateRefs": [{"group": "", "kind": "ConfigMap", "name": "roots"}],
    }
    return [
        {**roots, "data": {"ca.crt": bundle}},
        thing(V1, "BackendTLSPolicy", "p", targetRefs=[target], validation=validation),
        thing(V1, "HTTPRoute", "r", parentRefs=PARENTS, rules=[{"backendRefs": BACKENDS}]),
    ]


GOOD = stock().good.above[0].public_bytes(Encoding.PEM).decode()
BUNDLES = {
    **{name: (each.decode(), says) for name, (each, says) in bad_bundles().items()},
    "tens of thousands": (ONE.decode() * 50_000, "1048576"),
    "letters": ("".join(SCRIPTS) * 1000, "no certificate"),
    "letters about": ("".join(SCRIPTS) + GOOD, ""),
}


@pytest.mark.parametrize(("bundle", "says"), BUNDLES.values(), ids=BUNDLES.keys())
def test_a_bundle_is_refused_by_its_name_or_believed(bundle: str, says: str) -> None:
    translation, runs = made(trusting(bundle))
    told = all_told(translation)
    assert says in told
    assert ("ConfigMap evil/roots" in told) == bool(says)
    assert runs < MOST_RUNS
    assert not any(line.decode() in told for line in stock().secrets[0].splitlines()[1:-1])


def texts(value: object, text: str) -> object:
    """Write the same text wherever there is one."""
    match value:
        case str():
            return text
        case list():
            return [texts(each, text) for each in value]
        case dict():
            return {key: texts(each, text) for key, each in value.items()}
        case _:
            return value


@pytest.mark.parametrize("script", SCRIPTS, ids=ascii)
@pytest.mark.parametrize("info", NAMESPACED, ids=lambda info: info.kind)
def test_any_letter_in_any_field_is_refused_by_name_or_shown_legibly(info: KindInfo, script: str) -> None:
    whole = annotated(info, {"a": "b"})
    odd = {
        **whole,
        **{
            key: texts(each, script)
            for key, each in whole.items()
            if key not in {"apiVersion", "kind", "metadata"}
        },
    }
    translation, _ = made([odd])
    assert all_told(translation).replace("\n", "").isprintable()
    loaded, problems = read_manifests(json.dumps(odd, ensure_ascii=False), "evil.yaml")
    assert (
        loaded
        or [each for each in problems if str(each.about) == f"{info.kind} {TENANT}/big"]
        or not odd.keys() - whole.keys()
    )
