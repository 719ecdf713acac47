"""The number of a Gateway's proxies, when an autoscaler is to see to it from now on. No IO.

Server-side apply resets what its only owner no longer names: four proxies would become one until the
autoscaler acts. So before we let go of the number, somebody else has to own it, as it is.
"""

import msgspec
from msgspec import Struct

Fields = dict[str, dict[str, object]]

HOLDER = "legation.dev/handover"  # owns the number until the autoscaler first changes it


class _Ownership(Struct, frozen=True, rename="camel"):
    """Who last named which fields, and how."""

    manager: str = ""
    operation: str = ""
    fields: Fields = msgspec.field(default_factory=dict, name="fieldsV1")


class _Metadata(Struct, frozen=True, rename="camel"):
    name: str
    namespace: str
    managed_fields: tuple[_Ownership, ...] = ()


class _Spec(Struct, frozen=True):
    replicas: int = 1


class _Deployment(Struct, frozen=True):
    metadata: _Metadata
    spec: _Spec


def handover(deployment: bytes, owner: str) -> bytes | None:
    """Write what another manager is to apply to a Deployment before its owner leaves out the number."""
    found = msgspec.json.decode(deployment, type=_Deployment)
    its = found.metadata
    if not any(_names_number(each) for each in its.managed_fields if each.manager == owner):
        return None
    return msgspec.json.encode({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": its.name, "namespace": its.namespace},
        "spec": {"replicas": found.spec.replicas},
    })  # fmt: skip


def _names_number(held: _Ownership) -> bool:
    return held.operation == "Apply" and "f:replicas" in held.fields.get("f:spec", {})
