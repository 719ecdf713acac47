"""Whatever a file holds, reading it ends soon and in sentences."""

import time
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from legation.disk import read_manifest
from legation.manifests import read_manifests
from legation.yaml_documents import _build
from legation.yaml_values import Builder

KEYS = st.sampled_from(
    ["apiVersion", "kind", "metadata", "name", "spec", "rules", "listeners", "items", "data", "<<"]
)
VALUES = st.sampled_from(
    [
        "v1",
        "gateway.networking.k8s.io/v1",
        "HTTPRoute",
        "Gateway",
        "List",
        "Secret",
        "Service",
        "EndpointSlice",
        "a",
        "on",
    ]
)
TOKENS = st.sampled_from(
    [
        ": ",
        "\n",
        "\n  ",
        "\n- ",
        "---\n",
        "\n...\n",
        "&a ",
        "*a",
        "!!str ",
        "!",
        "{",
        "}",
        "[",
        "]",
        ", ",
        "|\n",
        "'",
        '"',
        "%",
        "#",
        "\r",
        "\x85",
        "\t",
    ]
)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | VALUES
    | st.text(),
    lambda lower: (
        st.lists(lower, max_size=4) | st.dictionaries(KEYS | st.text(max_size=4), lower, max_size=6)
    ),
    max_leaves=20,
)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("any") / "any.yaml"


@given(st.binary(max_size=300) | st.text(max_size=300).map(str.encode))
def test_any_bytes_and_any_text_are_read_without_an_accident(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    text = read_manifest(path, path.parent)
    if isinstance(text, str):
        read_manifests(text, path.name)


@given(st.lists(KEYS | VALUES | TOKENS, max_size=60))
def test_any_sequence_of_yaml_tokens_is_read_without_an_accident(tokens: list[str]) -> None:
    read_manifests("".join(tokens), "any.yaml")


@given(st.sampled_from(["Gateway", "HTTPRoute", "BackendTLSPolicy", "GatewayClass", "TLSRoute"]), JSON)
def test_any_spec_of_a_known_kind_is_judged_without_an_accident(kind: str, spec: object) -> None:
    manifest = {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": "a"},
        "spec": spec,
    }
    loaded, problems = read_manifests(msgspec.json.encode(manifest).decode(), "any.yaml")
    assert len(loaded) + bool(problems) == 1


@given(
    st.sampled_from(["Service", "Secret", "ConfigMap", "Namespace", "EndpointSlice"]),
    st.dictionaries(KEYS, JSON),
)
def test_any_object_of_kubernetes_core_is_judged_without_an_accident(
    kind: str, fields: dict[str, object]
) -> None:
    version = "discovery.k8s.io/v1" if kind == "EndpointSlice" else "v1"
    manifest = {**fields, "apiVersion": version, "kind": kind}
    read_manifests(msgspec.json.encode(manifest).decode(), "any.yaml")


@pytest.mark.parametrize(
    "text",
    [
        "a: b\n" * 50_000,
        "-\n" * 100_000,
        "---\n" * 250_000,
        "{" * 1_000_000,
        "".join(f"%TAG !a{n}! tag:a\n" for n in range(60_000)),
        "\r".join(["a", "...", *(f"%TAG !a{n}! tag:a" for n in range(60_000))]),
        "# a\n" + "".join(f"%TAG !a{n}! tag:a\n" for n in range(60_000)) + "a: b",
        "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: a\n  labels:\n    ? "
        + "a." * 400_000
        + "/\n    : b\n",
        "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: " + "a-" * 400_000 + "\n",
    ],
    ids=range(9),
)
def test_a_hostile_file_costs_no_more_than_its_size(text: str) -> None:
    begin = time.process_time()
    read_manifests(text, "hostile.yaml")
    assert time.process_time() - begin < 10


def test_a_key_that_is_as_long_as_the_file_is_not_written_out_again_for_each_value_below_it() -> None:
    below = "a: 1, " * 1000
    for text in (f"? {'k' * 100_000}\n: {{{below}}}", f"{{{'k' * 500}: " * 60 + f"{{{below}}}" + "}" * 60):
        builder = Builder()
        assert _build(text, builder) is None
        assert len(builder.repeated) == 999
        assert all(len(each.path) < 100 for each in builder.repeated)
