"""caCertificateRefs: which objects may hold CA certificates, and which of those prove something now.

Group and kind must both match. A bad certificate does not take the good ones of its object with it, nor a bad
reference the others; each is named, with its remedy.  GEP-1897, GEP-5075
"""

from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import NamedTuple

from msgspec import Struct

from translator.memo import query
from translator.names import Name
from translator.objects.cluster_trust_bundle import ClusterTrustBundle
from translator.objects.config_map import ConfigMap
from translator.objects.secret import Secret, from_base64
from translator.rules.certificates import Anchor, Bundle, lapse, read_bundle
from translator.verdict import Refused, listed
from translator.world import Fact, World

CLUSTER_TRUST_BUNDLES = Fact("whether the API server serves ClusterTrustBundles", otherwise=True)

BAD_REFERENCE = "InvalidCACertificateRef"
BAD_KIND = "InvalidKind"
BAD_TIME = "ExpiredCertificate"

_KEY = "ca.crt"
_TRUST_BUNDLE = ("certificates.k8s.io", "ClusterTrustBundle")


class CaReference(NamedTuple):
    """An object that CA certificates are expected in."""

    group: str
    kind: str
    name: Name

    def __str__(self) -> str:
        """As people write it: `ConfigMap shop/roots`."""
        return f"{self.kind} {self.name}"

    @property
    def field(self) -> str:
        """Where in the object certificates are looked for, if it is of a kind that has them."""
        source = _SOURCES.get((self.group, self.kind))
        return source.field if source else ""


class Anchors(Struct, frozen=True):
    """What one reference gives: what proves something now, what does not and why, and what is odd."""

    usable: tuple[Anchor, ...]
    faults: tuple[Refused, ...] = ()
    warnings: tuple[str, ...] = ()


class _Source(NamedTuple):
    """Where an object of one kind keeps certificates; None is read where there is no object."""

    field: str
    read: Callable[[World, Name], str | None]


def ca_reference(group: str, kind: str, name: Name) -> CaReference:
    """Name the object a reference means: one without a namespace where its kind has none."""
    return CaReference(group, kind, Name("", name.name) if (group, kind) == _TRUST_BUNDLE else name)


@query
def anchors(world: World, reference: CaReference) -> Anchors:
    """Return what a reference gives."""
    if (wrong := _unread_kind(world, reference)) is not None:
        return Anchors((), (wrong,))
    bundle = _bundle(world, reference)
    if isinstance(bundle, Refused):
        return Anchors((), (bundle,))
    lapsed = {each.number: lapse(world, each.since, each.until) for each in bundle.anchors}
    usable = tuple(each for each in bundle.anchors if not lapsed[each.number])
    late = [
        f"certificate {each.number} ({each.subject}) {lapsed[each.number]}"
        for each in bundle.anchors
        if lapsed[each.number]
    ]
    odd = [f"certificate {each.number} ({each.subject})" for each in usable if not each.authority]
    return Anchors(
        usable,
        (
            *_fault(reference, BAD_REFERENCE, bundle.broken, "repair or remove it"),
            *_fault(reference, BAD_TIME, late, "renew or remove it"),
        ),
        (f"{reference}: {listed(odd)} is no certificate authority: only itself is proved by it",)
        if odd
        else (),
    )


@query
def held(world: World, reference: CaReference) -> tuple[Anchor, ...]:
    """Return every certificate that a reference leads to, be it valid now or not."""
    if _unread_kind(world, reference) is not None:
        return ()
    bundle = _bundle(world, reference)
    return () if isinstance(bundle, Refused) else bundle.anchors


def worst(faults: Sequence[Refused]) -> str:
    """Return the reason for several faults: the one they share, and else the one that covers all."""
    reasons = {fault.reason for fault in faults}
    return reasons.pop() if len(reasons) == 1 else BAD_REFERENCE


def _unread_kind(world: World, reference: CaReference) -> Refused | None:
    group_and_kind = (reference.group, reference.kind)
    if group_and_kind not in _SOURCES:
        kind = f"{reference.kind} of group {reference.group!r}"
        remedy = (
            "name a ConfigMap or Secret of group '', or a ClusterTrustBundle of group 'certificates.k8s.io'"
        )
        return Refused(BAD_KIND, f"{reference}: {kind} holds no CA certificates that are read: {remedy}")
    if group_and_kind == _TRUST_BUNDLE and not world.fact(CLUSTER_TRUST_BUNDLES):
        return Refused(
            BAD_KIND,
            f"{reference}: this cluster does not serve ClusterTrustBundles: enable them or use a ConfigMap",
        )
    return None


@query
def _bundle(world: World, reference: CaReference) -> Bundle | Refused:
    """Read an object's certificates once, whoever refers to them and however often the clock ticks."""
    text = _text(world, reference)
    if isinstance(text, Refused):
        return text
    bundle = read_bundle(text)
    if isinstance(bundle, Refused):
        return Refused(bundle.reason, f"{reference} {bundle.message}")
    return bundle


@query
def _text(world: World, reference: CaReference) -> str | Refused:
    """Return what an object says; nothing else of the object matters, so changes of its labels end here."""
    source = _SOURCES[reference.group, reference.kind]
    text = source.read(world, reference.name)
    if text is None:
        where = f" in namespace {reference.name.namespace}" if reference.name.namespace else ""
        remedy = f"create it{where} with CA certificates in PEM"
        return Refused(BAD_REFERENCE, f"{reference} does not exist: {remedy}")
    if not text.strip():
        return Refused(
            BAD_REFERENCE, f"{reference} has nothing in {source.field}: put CA certificates in PEM there"
        )
    return text


def _in_config_map(world: World, name: Name) -> str | None:
    found = world.get(ConfigMap, name)
    return None if found is None else found.data.get(_KEY) or _decoded(found.binary_data.get(_KEY, ""))


def _in_secret(world: World, name: Name) -> str | None:
    found = world.get(Secret, name)  # its other keys, tls.key among them, are never asked for
    return None if found is None else (found.value(_KEY) or b"").decode(errors="replace")


def _in_trust_bundle(world: World, name: Name) -> str | None:
    found = world.get(ClusterTrustBundle, name)
    return None if found is None else found.spec.trust_bundle


_SOURCES = MappingProxyType({
    ("", "ConfigMap"): _Source(_KEY, _in_config_map),
    ("", "Secret"): _Source(_KEY, _in_secret),
    _TRUST_BUNDLE: _Source("spec.trustBundle", _in_trust_bundle),
})  # fmt: skip


def _decoded(text: str) -> str:
    """Decode what a ConfigMap keeps as binary, such as PEM among comments that are no UTF-8."""
    return (from_base64(text) or b"").decode(errors="replace")


def _fault(reference: CaReference, reason: str, sentences: Sequence[str], remedy: str) -> tuple[Refused, ...]:
    return (Refused(reason, f"{reference}: {listed(sentences)}: {remedy}"),) if sentences else ()
