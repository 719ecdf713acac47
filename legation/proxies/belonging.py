"""What the objects of a managed Gateway are called, how they are labelled, and whose they are (GEP-1762)."""

import re
from hashlib import sha256

from translator.names import Name
from translator.objects.gateway import Gateway

LONGEST = 63  # of a Service's name and of a label's value
PREFIX = "legation-"  # a Service's name begins with a letter, and a Gateway's need not
DIGEST = 10
GATEWAY_LABEL = "gateway.networking.k8s.io/gateway-name"
CLASS_LABEL = "gateway.networking.k8s.io/gateway-class-name"
MANAGED_BY = "app.kubernetes.io/managed-by"
LOOKS_SHORTENED = re.compile(rf".*-[0-9a-f]{{{DIGEST}}}")


def proxy_name(gateway: Name) -> Name:
    """Name whatever is made for a Gateway: the same always, and no other Gateway's."""
    return Name(gateway.namespace, PREFIX + short(gateway.name, LONGEST - len(PREFIX)))


def short(name: str, longest: int = LONGEST) -> str:
    """Write a name as a label; one that must change for that, or looks as if it had, gets a digest."""
    if len(name) <= longest and "." not in name and not LOOKS_SHORTENED.fullmatch(name):
        return name
    digest = sha256(name.encode()).hexdigest()[:DIGEST]
    return f"{name.replace('.', '-')[: longest - DIGEST - 1].rstrip('-')}-{digest}"


def selecting(gateway: Gateway) -> dict[str, str]:
    """Give the labels that tell a Gateway's pods from all others; they never change."""
    return {MANAGED_BY: "legation", GATEWAY_LABEL: short(gateway.metadata.name)}


def belonging(gateway: Gateway, name: str) -> dict[str, object]:
    """Give the metadata of something that goes with its Gateway, and the labels that this asks for."""
    asked = gateway.spec.infrastructure
    classed = {CLASS_LABEL: short(gateway.spec.gateway_class_name)}
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
