"""Worlds for the tests of BackendTLSPolicy, said in few words, such as `policy("tls", "pay#https")`."""

from base64 import b64encode
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TypedDict, Unpack

from msgspec import Raw

from tests.pki import Wish as Pki
from translator.names import Name
from translator.objects.backend_tls_policy import (
    BackendTLSPolicy,
    BackendTLSPolicySpec,
    BackendTLSPolicyValidation,
    SubjectAltName,
)
from translator.objects.cluster_trust_bundle import ClusterTrustBundle, ClusterTrustBundleSpec
from translator.objects.config_map import ConfigMap
from translator.objects.kinds import Object, name_of
from translator.objects.meta import ObjectMeta
from translator.objects.provenance import TracedMeta
from translator.objects.references import LocalObjectReference, PolicyTargetReference
from translator.objects.secret import Secret
from translator.objects.service import Service, ServicePort, ServiceSpec
from translator.rules.backend_tls import POLICIES_BY_TARGET
from translator.translate import INDEXES
from translator.verdict import Condition, Verdict
from translator.world import World

ALWAYS: Pki = {"not_before": datetime(2020, 1, 1, tzinfo=UTC), "not_after": datetime(2100, 1, 1, tzinfo=UTC)}
GROUPS = {"ClusterTrustBundle": "certificates.k8s.io"}


class Wish(TypedDict, total=False):
    """What a policy says besides its targets; what is left out is as most policies have it."""

    refs: Sequence[str]  # "ConfigMap roots"
    system: str
    hostname: str
    sans: Sequence[SubjectAltName]
    options: dict[str, str]
    created: int | None  # the day of January on which it was made
    status: bytes


def policy(name: str, *targets: str, **wish: Unpack[Wish]) -> BackendTLSPolicy:
    """Make a policy in `shop`, for Services such as `pay` and ports such as `pay#https`."""
    system = wish.get("system")
    refs = wish.get("refs", () if system else ("ConfigMap roots",))
    day = wish.get("created")
    return BackendTLSPolicy(
        TracedMeta(name, "shop", creation_timestamp=datetime(2026, 1, day, tzinfo=UTC) if day else None),
        BackendTLSPolicySpec(
            tuple(_target(*target.split("#")) for target in targets),
            BackendTLSPolicyValidation(
                hostname=wish.get("hostname", "pay.internal"),
                ca_certificate_refs=tuple(_reference(*ref.split()) for ref in refs),
                well_known_ca_certificates=system,
                subject_alt_names=tuple(wish.get("sans", ())),
            ),
            options=wish.get("options", {}),
        ),
        status=Raw(wish.get("status", b"")),
    )


def service(name: str, *ports: str) -> Service:
    """Make a Service in `shop`, with ports such as `https:443` and `dns:53/UDP`."""
    return Service(
        ObjectMeta(name, "shop"), ServiceSpec(ports=tuple(_port(*port.split(":")) for port in ports))
    )


def config_map(text: str, name: str = "roots") -> ConfigMap:
    """Make a ConfigMap in `shop` that says this in its `ca.crt`."""
    return ConfigMap(TracedMeta(name, "shop"), data={"ca.crt": text})


def secret(name: str = "roots", type_: str = "Opaque", **values: str | bytes) -> Secret:
    """Make a Secret in `shop`; a key such as `ca.crt` is written `ca_crt`."""
    data = {
        key.replace("_", "."): b64encode(value.encode() if isinstance(value, str) else value).decode()
        for key, value in values.items()
    }
    return Secret(TracedMeta(name, "shop"), type=type_, data=data)


def trust_bundle(text: str, name: str = "roots") -> ClusterTrustBundle:
    """Make a ClusterTrustBundle."""
    return ClusterTrustBundle(TracedMeta(name), ClusterTrustBundleSpec(text))


def world_of(*things: Object) -> World:
    """Make a world of these things."""
    assert POLICIES_BY_TARGET in INDEXES
    world = World(INDEXES)
    put(world, *things)
    return world


def put(world: World, *things: Object) -> None:
    """Put things under their own names."""
    for thing in things:
        world.put(type(thing), name_of(thing), thing)


def shop(name: str) -> Name:
    """Name something in `shop`."""
    return Name("shop", name)


def conditions(verdict: Verdict[object]) -> dict[str, Condition]:
    """Find conditions by their types."""
    return {each.type: each for each in verdict.conditions}


def summary(verdict: Verdict[object]) -> str:
    """Say in one line what most tests ask about."""
    return ", ".join(f"{each.type}={each.status} {each.reason}" for each in verdict.conditions)


def _target(name: str, section: str | None = None) -> PolicyTargetReference:
    kind, _, name = name.rpartition(" ")
    return PolicyTargetReference("", kind or "Service", name, section)


def _reference(kind: str, name: str, group: str | None = None) -> LocalObjectReference:
    return LocalObjectReference(GROUPS.get(kind, "") if group is None else group, kind, name)


def _port(name: str, number: str) -> ServicePort:
    port, _, protocol = number.partition("/")
    return ServicePort(int(port), name, protocol or "TCP")
