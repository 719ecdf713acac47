"""Of all writers that the API server notes, only the last one of the spec is kept."""

import json
from datetime import UTC, datetime

import msgspec
import pytest

from legation.manifests import read_manifests
from translator.objects.backend_tls_policy import BackendTLSPolicy
from translator.objects.provenance import FieldManager, TracedMeta

SPEC: dict[str, object] = {"f:spec": {"f:validation": {"f:hostname": {}}}}


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
