"""How the objects of a managed Gateway are labelled, and whose they are (GEP-1762)."""

from translator.objects.gateway import Gateway
from translator.rules.managed import label

GATEWAY_LABEL = "gateway.networking.k8s.io/gateway-name"
CLASS_LABEL = "gateway.networking.k8s.io/gateway-class-name"
MANAGED_BY = "app.kubernetes.io/managed-by"
PART_OF = "app.kubernetes.io/part-of"


def selecting(gateway: Gateway) -> dict[str, str]:
    """Give the labels that tell a Gateway's pods from all others; they never change."""
    return {MANAGED_BY: "legation", GATEWAY_LABEL: label(gateway.metadata.name)}


def belonging(gateway: Gateway, name: str) -> dict[str, object]:
    """Give the metadata of something that goes with its Gateway, and the labels that this asks for."""
    asked = gateway.spec.infrastructure
    classed = {CLASS_LABEL: label(gateway.spec.gateway_class_name)}
    metadata: dict[str, object] = {
        "name": name,
        "namespace": gateway.metadata.namespace,
        "labels": {**(asked.labels if asked else {}), **classed, **selecting(gateway)},
        "ownerReferences": [_owner(gateway)],
    }
    return metadata | ({"annotations": dict(asked.annotations)} if asked and asked.annotations else {})


def _owner(gateway: Gateway) -> dict[str, object]:
    return {
        "apiVersion": gateway.api_version,
        "kind": "Gateway",
        "name": gateway.metadata.name,
        "uid": gateway.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
