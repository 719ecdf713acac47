"""Reading manifests: what is taken, and what is said of each mistake."""

import json
from datetime import UTC, datetime

import msgspec
import pytest

from legation.checks.findings import findings
from legation.manifests import MOST_PROBLEMS, Loaded, Place, Problem, read_manifests, without_duplicates
from legation.yaml_documents import MOST_DOCUMENTS
from legation.yaml_values import MOST_ALIASED, MOST_VALUES
from translator.names import Name, Ref
from translator.objects.config_map import ConfigMap
from translator.objects.endpoint_slice import EndpointSlice
from translator.objects.gateway_class import GatewayClass
from translator.objects.http_route import HTTPRoute
from translator.objects.kinds import name_of
from translator.objects.namespace import Namespace
from translator.objects.secret import Secret

NAMESPACE = "{apiVersion: v1, kind: Namespace, metadata: {name: %s}}"
ROUTE = """\
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: pay, namespace: shop}
spec:
"""


def problems(text: str) -> list[tuple[int, str, str]]:
    """The number of the document, the field and the sentence of each mistake."""
    return [
        (problem.place.document, problem.path, problem.message)
        for problem in read_manifests(text, "shop.yaml")[1]
        if problem.severity == "error"
    ]


def only(text: str) -> Loaded:
    loaded, said = read_manifests(text, "shop.yaml")
    assert said == ()
    [one] = loaded
    return one


def test_every_document_of_a_file_is_read() -> None:
    loaded, said = read_manifests(
        f"# two\n---\n{NAMESPACE % 'a'}\n---\n---\n{NAMESPACE % 'b'}\n...\n", "shop.yaml"
    )
    assert said == ()
    assert [(name_of(one.thing).name, one.place) for one in loaded] == [
        ("a", Place("shop.yaml", 1)),
        ("b", Place("shop.yaml", 2)),
    ]


def test_an_object_without_a_namespace_is_in_the_default_one() -> None:
    assert name_of(only("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}").thing) == Name(
        "default", "a"
    )


def test_an_object_that_has_no_namespace_loses_the_one_it_was_given() -> None:
    assert name_of(
        only("{apiVersion: v1, kind: Namespace, metadata: {name: a, namespace: b}}").thing
    ) == Name("", "a")


def test_json_is_read_like_yaml() -> None:
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": 'é "/\t<'}}
    for text in (
        json.dumps(manifest, indent="\t"),
        json.dumps(manifest),
        msgspec.json.encode(manifest).decode(),
    ):
        thing = only(text).thing
        assert isinstance(thing, ConfigMap)
        assert thing.data == {"k": 'é "/\t<'}


def test_a_time_is_read_and_none_is_invented() -> None:
    time = "metadata: {name: a, creationTimestamp: 2026-01-31T12:00:00Z}"
    assert only(f"apiVersion: v1\nkind: ConfigMap\n{time}").thing.metadata.creation_timestamp == datetime(
        2026, 1, 31, 12, tzinfo=UTC
    )
    for absent in ("{name: a}", "{name: a, creationTimestamp: null}"):
        assert (
            only(f"apiVersion: v1\nkind: ConfigMap\nmetadata: {absent}").thing.metadata.creation_timestamp
            is None
        )


def test_plain_values_of_a_secret_are_among_the_others() -> None:
    thing = only(
        "{apiVersion: v1, kind: Secret, metadata: {name: a}, data: {a: eA==}, stringData: {b: y}}"
    ).thing
    assert isinstance(thing, Secret)
    assert (thing.value("a"), thing.value("b"), thing.string_data) == (b"x", b"y", {})


def test_a_status_is_kept_as_json() -> None:
    thing = only(
        f"{ROUTE}  rules: []\n".replace("  rules: []", "  {}") + "status: {parents: [{a: null}]}"
    ).thing
    assert isinstance(thing, HTTPRoute)
    assert msgspec.json.decode(thing.status) == {"parents": [{"a": None}]}


def test_a_list_holds_objects_of_any_kind() -> None:
    items = ", ".join(
        [NAMESPACE % "a", NAMESPACE % "B", "7", "{apiVersion: v1, kind: Pod, metadata: {name: p}}"]
    )
    loaded, said = read_manifests(f"{{apiVersion: v1, kind: List, items: [{items}]}}", "shop.yaml")
    assert [name_of(one.thing).name for one in loaded] == ["a"]
    assert [(problem.path, problem.severity) for problem in said] == [
        ("items[1].metadata.name", "error"),
        ("items[2]", "error"),
        ("items[3]", "note"),
    ]
    assert problems("{apiVersion: v1, kind: List}") == [(1, "items", "must be a list of objects")]


def test_what_belongs_to_others_is_passed_over_with_a_note() -> None:
    loaded, said = read_manifests("{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}}", "shop.yaml")
    assert loaded == ()
    assert said == (
        Problem(
            Place("shop.yaml", 1),
            "is passed over: Deployment of apps/v1 is not read by gateways",
            Ref("Deployment", Name("", "a")),
            severity="note",
        ),
    )


@pytest.mark.parametrize(
    ("file", "text", "severity"),
    [
        ("kustomization.yaml", "resources: [shop.yaml]", "note"),
        ("shop/overlays/kustomization.yml", "namePrefix: test-", "note"),
        ("kustomization.yaml", "{kind: Service, metadata: {name: pay}}", "error"),
        ("kustomization.yaml", "[shop.yaml]", "error"),
        ("my-kustomization.yaml", "resources: [shop.yaml]", "error"),
    ],
)
def test_a_file_for_kustomize_need_not_say_what_it_is(file: str, text: str, severity: str) -> None:
    loaded, [problem] = read_manifests(text, file)
    assert (loaded, problem.severity) == ((), severity)
    assert ("`kustomize build`" in problem.message) == (severity == "note")


def test_a_policy_that_nothing_comes_of_is_told_and_hinders_nothing() -> None:
    policy = (
        "{apiVersion: gateway.networking.x-k8s.io/v1alpha1, kind: XBackendTrafficPolicy, metadata: {name: a}}"
    )
    loaded, said = read_manifests(policy, "shop.yaml")
    assert loaded == ()
    message = "nothing comes of it: XBackendTrafficPolicy is not honoured"
    about = Ref("XBackendTrafficPolicy", Name("", "a"))
    assert said == (Problem(Place("shop.yaml", 1), message, about, severity="idle"),)
    [finding] = findings(said, {}, {})
    assert (finding.check, finding.is_problem) == ("policy-not-honoured", False)


@pytest.mark.parametrize(
    ("text", "path", "message"),
    [
        (
            "{apiVersion: gateway.networking.k8s.io/v1, kind: HttpRoute}",
            "kind",
            "is no kind of gateway.networking.k8s.io; did you mean HTTPRoute?",
        ),
        (
            "{apiVersion: legation.dev/v1alpha1, kind: X}",
            "kind",
            "is no kind of legation.dev; it has GatewayParameters",
        ),
        (
            "{apiVersion: gateway.networking.k8s.io/v1alpha2, kind: HTTPRoute}",
            "apiVersion",
            "has no version v1alpha2: HTTPRoute is read in v1 and v1beta1",
        ),
        (
            "{apiVersion: networking.k8s.io/v1, kind: BackendTlsPolicy}",
            "apiVersion",
            "is of no group that is read: BackendTLSPolicy is of gateway.networking.k8s.io",
        ),
        ("{apiVersion: v2, kind: Service}", "apiVersion", "has no version v2: Service is read in v1"),
        ("{kind: Service}", "", "is no manifest: it needs apiVersion and kind, both as text"),
        ("[]", "", "is no manifest: it needs apiVersion, kind and metadata"),
        (f"{ROUTE}  rule: []", "spec.rule", "is no field of this kind; did you mean rules?"),
        (
            f"{ROUTE}  hostnames: [on]",
            "spec.hostnames[0]",
            "must be text, and is true or false, as YAML reads on, off, yes and no: put it in quotes",
        ),
        (f"{ROUTE}  hostnames: [80]", "spec.hostnames[0]", "must be text, and is a number: put it in quotes"),
        (
            f"{ROUTE}  rules: [{{backendRefs: [{{name: a, port: '80'}}]}}]",
            "spec.rules[0].backendRefs[0].port",
            "must be a whole number, and is text: remove the quotes",
        ),
        (
            f"{ROUTE}  rules: {{}}",
            "spec.rules",
            "must be a list, and is a map: begin each item with a hyphen",
        ),
        (
            f"{ROUTE}  rules: [{{matches: [{{path: {{type: Prefix}}}}]}}]",
            "spec.rules[0].matches[0].path.type",
            'must be one of Exact, PathPrefix, RegularExpression, and is "Prefix"; did you mean PathPrefix?',
        ),
        (f"{ROUTE}  rules: [{{}}]\n  rules: []", "spec.rules", "is there twice, again in line 6: remove one"),
        (
            f"{ROUTE}  rules: [{{backendRefs: [{{port: 80}}]}}]",
            "spec.rules[0].backendRefs[0].name",
            "is required, and missing",
        ),
    ],
)
def test_a_mistake_is_named_with_its_field_and_a_remedy(text: str, path: str, message: str) -> None:
    assert problems(text) == [(1, path, message)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [b", "is no YAML: did not find expected ',' or ']' (line 6)"),
        ("a:\n\tb: c", "): it has a tab, indent it by spaces"),
        ("a:\n  b: c\n\td: e", "): it has a tab, indent it by spaces"),
        ("a: |\n\tb", "): it has a tab, indent it by spaces"),
        ('a: "C:\\path"', "): write text with a backslash in single quotes"),
        ("a: @b", "): put text that begins so in quotes"),
        ("a: b\n  c: d", "): mend its indentation"),
        ("a: b\n c: d #", "): mend its indentation"),
        ("a:\n  b: c\n d: e", "): mend its indentation"),
        (
            "a: !!python/object:os.system b",
            "has a tag, which means nothing here: remove it",
        ),
        ("a: !mine {}", "has a tag, which means nothing here: remove it"),
        ("[a]: b", "has a key that is no text"),
        ("? {a: b}\n: c", "has a key that is no text"),
        ("a: &a [b]\n*a : c", "has a key that is no text"),
        ("a: *b", "has an alias, and no anchor of its name ends before it"),
        ("a: &a [*a]", "has an alias, and no anchor of its name ends before it"),
        ("<<: 7", "has a merge key << with something else than maps"),
        ("[" * 1000, "is nested more than 64 levels deep"),
        ("%TAG ! a\na: b", "begins with a directive: end the directives by a line ---"),
    ],
)
def test_a_document_that_cannot_be_read_harms_no_other(text: str, message: str) -> None:
    loaded, said = read_manifests(
        f"{NAMESPACE % 'a'}\n...\n# next\n\n{text}\n---\n{NAMESPACE % 'b'}\n", "shop.yaml"
    )
    assert [name_of(one.thing).name for one in loaded] == ["a", "b"]
    assert [(problem.place.document, message in problem.message) for problem in said] == [(2, True)]


def test_aliases_that_unfold_without_end_are_refused_at_once() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    [(document, path, message)] = problems("\n".join(lines))
    assert (document, path) == (1, "")
    assert message.startswith("repeats too much by aliases: write it out (line ")


def test_aliases_of_all_documents_of_a_file_repeat_no_more_than_one_may() -> None:
    long = f"status: {{a: &a {'x' * 1000}, b: [{','.join(['*a'] * 100)}]}}"
    routes = [f"{ROUTE.replace('pay', f'r{number}')}  hostnames: [a.example]\n{long}" for number in range(30)]
    endless = f"a: &a [{'x, ' * 1000}]\nb: [{','.join(['*a'] * 1000)}]"
    loaded, said = read_manifests("\n---\n".join([endless, *routes]), "shop.yaml")
    kept = [bytes(one.thing.status) for one in loaded if isinstance(one.thing, HTTPRoute)]
    assert MOST_ALIASED / 2 < sum(map(len, kept)) < 2 * MOST_ALIASED
    assert len(kept) + len(said) == 31
    assert all(each.message.startswith("repeats too much by aliases: write it out (line ") for each in said)


def test_aliases_and_merge_keys_mean_what_they_say() -> None:
    thing = only(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: &n a}\n"
        "data: {<<: [{k: *n, l: x}, {l: y, m: z}], k: &k own, *k : v}"
    ).thing
    assert isinstance(thing, ConfigMap)
    assert thing.data == {"k": "own", "l": "x", "m": "z", "own": "v"}


@pytest.mark.parametrize(
    ("written", "means"),
    [
        ("080", "80.0"),
        ("010", "8"),
        ("0x1F", "31"),
        ("0b11", "3"),
        ("1_000", "1000"),
        ("-7", "-7"),
        ("1e3", "1000.0"),
        ("1.", "1.0"),
        ("~", "null"),
        ("No", "false"),
        ("'no'", '"no"'),
        ("!!str no", '"no"'),
        ("12:30", '"12:30"'),
        ("2026-01-31", '"2026-01-31"'),
        (".inf", '".inf"'),
        ("9" * 30, "1e+30"),
        ("-", "[null]"),
        ("", "null"),
    ],
)
def test_a_scalar_means_what_kubernetes_takes_it_for(written: str, means: str) -> None:
    thing = only(f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: a}}\nstatus:\n  {written}").thing
    assert isinstance(thing, Namespace)
    assert msgspec.json.decode(bytes(thing.status) or b"null") == msgspec.json.decode(means)


def test_a_file_that_is_no_text_of_ours_is_one_problem() -> None:
    assert "has more than 500000 values: split the file" in problems("-\n" * (MOST_VALUES + 1))[0][2]
    assert problems("a: \x00")[0][2].startswith("is no YAML")
    assert (
        problems("---\na\n" * (MOST_DOCUMENTS + 2))[-1][2]
        == "is past the first 20000 documents: split the file"
    )


@pytest.mark.parametrize("text", ["", "\ufeff", "# nothing\n", "---\n---\n", "%YAML 1.1\n---\n", "null"])
def test_a_file_without_anything_in_it_is_fine(text: str) -> None:
    loaded, said = read_manifests(text, "shop.yaml")
    assert loaded == ()
    assert said == () or text == "null"


def test_the_first_of_two_objects_with_one_name_is_kept() -> None:
    text = f"{NAMESPACE % 'a'}\n---\n{NAMESPACE % 'a'}\n"
    loaded, said = read_manifests(text, "shop.yaml")
    assert [one.place.document for one in loaded] == [1]
    assert [str(problem) for problem in said] == [
        "shop.yaml, document 2: Namespace a: is there already, in shop.yaml, document 1: remove one"
    ]
    others = read_manifests(NAMESPACE % "a", "other.yaml")[0]
    assert [problem.place.source for problem in without_duplicates((*others, *loaded))[1]] == ["shop.yaml"]


def test_no_value_of_a_secret_is_in_a_problem() -> None:
    manifest = "{apiVersion: v1, kind: Secret, metadata: {name: a}, %s}"
    data = "data: {a: 'hunter2!'}"
    text = f"{manifest % data}\n---\n{manifest % 'stringData: {b: 4711}'}"
    said = " ".join(str(problem) for problem in read_manifests(text, "shop.yaml")[1])
    assert "data[a] must be base64" in said
    assert "stringData[b] must be text" in said
    assert "hunter2" not in said
    assert "4711" not in said


def test_loopback_endpoints_are_welcome_in_files() -> None:
    slice_ = (
        "{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: a}, addressType: IPv4, %s}"
    )
    thing = only(slice_ % "endpoints: [{addresses: [127.0.0.1]}]").thing
    assert isinstance(thing, EndpointSlice)
    assert [endpoint.addresses for endpoint in thing.endpoints or ()] == [("127.0.0.1",)]


def test_an_object_of_the_cluster_is_read_without_a_namespace() -> None:
    thing = only(
        "{apiVersion: gateway.networking.k8s.io/v1beta1, kind: GatewayClass, metadata: {name: legation}, "
        "spec: {controllerName: legation.dev/gateway-controller}}"
    ).thing
    assert isinstance(thing, GatewayClass)
    assert (thing.api_version, thing.metadata.namespace) == ("gateway.networking.k8s.io/v1beta1", "")


def test_what_nothing_comes_of_is_told_also_beside_masses_of_what_is_passed_over() -> None:
    idle = "{apiVersion: gateway.networking.x-k8s.io/v1alpha1, kind: XTelemetryPolicy, metadata: {name: a}}"
    passed_over = "---\n{apiVersion: v1, kind: Pod, metadata: {name: a}}\n" * (MOST_PROBLEMS + 1)
    _, problems = read_manifests(f"{idle}\n{passed_over}", "a.yaml")
    assert [each.message for each in problems if each.severity == "idle"] == [
        "nothing comes of it: XTelemetryPolicy is not honoured"
    ]
