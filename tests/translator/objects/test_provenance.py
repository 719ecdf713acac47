"""Of all writers that the API server notes, only the last one of what matters is kept."""

import json
from datetime import UTC, datetime

import msgspec
import pytest

from legation.manifests import read_manifests
from translator.objects.backend_tls_policy import BackendTLSPolicy
from translator.objects.cluster_trust_bundle import ClusterTrustBundle
from translator.objects.config_map import ConfigMap
from translator.objects.gateway import Gateway
from translator.objects.gateway_class import GatewayClass
from translator.objects.gateway_parameters import GatewayParameters
from translator.objects.kinds import Object
from translator.objects.namespace import Namespace
from translator.objects.provenance import FieldManager, TracedMeta
from translator.objects.secret import Secret
from translator.objects.x_backend import XBackend

Json = dict[str, object]

SPEC: Json = {"f:spec": {"f:validation": {"f:hostname": {}}}}


def noted(manager: str, hour: int, fields: object = SPEC, subresource: str = "") -> dict[str, object]:
    """What the API server notes of one writer."""
    return {
        "manager": manager,
        "operation": "Apply",
        "apiVersion": "gateway.networking.k8s.io/v1",
        "time": f"2026-01-01T{hour:02}:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
        **({"subresource": subresource} if subresource else {}),
    }


def policy(
    *writers: dict[str, object], version: str = "7", more: dict[str, object] | None = None
) -> BackendTLSPolicy:
    """A policy as the API server sends it."""
    written = {
        "metadata": {
            "name": "pay",
            "namespace": "shop",
            "resourceVersion": version,
            "managedFields": writers,
            **(more or {}),
        },
        "spec": {
            "targetRefs": [{"group": "", "kind": "Service", "name": "pay"}],
            "validation": {"hostname": "pay.internal", "wellKnownCACertificates": "System"},
        },
    }
    return msgspec.json.decode(json.dumps(written), type=BackendTLSPolicy)


def test_the_last_writer_of_the_spec_is_kept_without_the_list_of_its_fields() -> None:
    found = policy(
        noted("helm", 1),
        noted("kubectl", 3),
        noted("labels-only", 4, {"f:metadata": {}}),
        noted("legation", 5, {"f:status": {}}, "status"),
    )
    assert found.metadata.managed_fields == (
        FieldManager("kubectl", "Apply", datetime(2026, 1, 1, 3, tzinfo=UTC)),
    )
    assert found.metadata.resource_version == "7"


def manager(kind: type[Object], *writers: dict[str, object]) -> str:
    """Say who is kept as the writer of an object's metadata."""
    meta = kind.__annotations__["metadata"]
    sent = json.dumps({"name": "a", "managedFields": writers})
    found = msgspec.json.decode(sent, type=meta).writer
    return found.manager if found else ""


LABELS: Json = {"f:labels": {"f:env": {}}}
DATA: Json = {"f:data": {"f:ca.crt": {}}}
BINARY: Json = {"f:binaryData": {"f:ca.crt": {}}}


@pytest.mark.parametrize("kind", [GatewayParameters, GatewayClass, Gateway, ClusterTrustBundle, XBackend])
def test_of_what_has_a_spec_its_last_writer_is_named(kind: type[Object]) -> None:
    other = {"f:metadata": {**LABELS, "f:annotations": {"f:example.com/spec": {}}}}
    assert manager(kind, noted("officer", 3), noted("labels-only", 4, other)) == "officer"


@pytest.mark.parametrize(("kind", "fields"), [(ConfigMap, DATA), (ConfigMap, BINARY), (Secret, DATA)])
def test_of_what_has_data_its_last_writer_is_named(kind: type[Object], fields: object) -> None:
    other: Json = {"f:metadata": {"f:annotations": {"f:data": {}}}}
    assert manager(kind, noted("mallory", 3, fields), noted("other", 4, other)) == "mallory"


def test_of_a_namespace_the_last_writer_of_labels_is_named() -> None:
    other: Json = {"f:metadata": {"f:annotations": {"f:labels": {}}}}
    writers = [
        noted("officer", 3, {"f:metadata": LABELS}),
        noted("annotations-only", 4, other),
        noted("x", 5),
    ]
    assert manager(Namespace, *writers) == "officer"


def test_of_an_x_backend_who_wrote_an_annotation_of_ours_is_named_too() -> None:
    ours: Json = {"f:metadata": {"f:annotations": {"f:legation.dev/pinned-public-key-sha256": {}}}}
    assert manager(XBackend, noted("kubectl", 3), noted("mallory", 4, ours)) == "mallory"


def test_what_is_no_list_of_fields_names_nobody() -> None:
    assert manager(ConfigMap, noted("odd", 3, "f:data"), noted("odder", 4, [])) == ""


def test_nobody_is_named_where_nobody_was_noted() -> None:
    assert policy().metadata.writer is None


def test_a_write_of_the_status_leaves_an_equal_object() -> None:
    before = policy(noted("kubectl", 3), noted("legation", 5, {"f:status": {}}, "status"))
    after = policy(noted("kubectl", 3), noted("legation", 6, {"f:status": {}}, "status"), version="8")
    assert before == after
    assert hash(before.metadata) == hash(after.metadata)


@pytest.mark.parametrize("more", [{"generation": 2}, {"labels": {"a": "b"}}, {"uid": "other"}])
def test_any_other_difference_counts(more: dict[str, object]) -> None:
    assert policy(noted("kubectl", 3)) != policy(noted("kubectl", 3), more=more)
    assert TracedMeta("pay") != "pay"


def test_a_manifest_that_was_copied_out_of_a_cluster_is_read() -> None:
    copied = {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "BackendTLSPolicy",
        "metadata": {"name": "pay", "resourceVersion": "7", "managedFields": [noted("kubectl", 3)]},
        "spec": msgspec.to_builtins(policy().spec),
    }
    [loaded], problems = read_manifests(json.dumps(copied), "shop.yaml")
    assert problems == ()
    assert loaded.thing.metadata.name == "pay"
