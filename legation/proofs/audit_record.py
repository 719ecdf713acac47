"""The audit record: one line for each change of what a way to a backend proves, as docs/audit-record.md says.

Names, fingerprints and pins only: no key, and no certificate, is ever part of it.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from enum import StrEnum
from heapq import nsmallest
from importlib.metadata import version
from typing import NamedTuple

import msgspec
from msgspec import Struct

from legation.change import Put
from legation.proofs.changes import HopChange, Proved, owner_at
from legation.proofs.hops import Hop
from legation.turns import give_way
from translator.envoy.proofs import Grade, Proof
from translator.names import Name, Ref
from translator.objects.backend_tls_policy import BackendTLSPolicy
from translator.objects.gateway import Gateway
from translator.objects.gateway_class import GatewayClass
from translator.objects.provenance import FieldManager, TracedMeta
from translator.objects.x_backend import XBackend
from translator.rules.attachment import ROUTES
from translator.rules.default_gateways import Route
from translator.rules.parameters import referred
from translator.rules.reach import targets
from translator.rules.wordings import of_policy, of_x_backend
from translator.world import World

MOST_CAUSES = 5
NOBODY = FieldManager()  # where nobody was noted
LEADING = frozenset({*ROUTES, "Gateway", "ListenerSet", "ReferenceGrant", "GatewayClass"})


class Cause(StrEnum):
    """Why a way to a backend proves something else than before."""

    POLICY_APPLIED = "PolicyApplied"
    POLICY_GONE = "PolicyGone"
    OTHER_POLICY = "OtherPolicy"
    POLICY_CHANGED = "PolicyChanged"
    CA_CHANGED = "CaChanged"
    BACKEND_CHANGED = "BackendChanged"
    PERMISSION_CHANGED = "PermissionChanged"
    TIME_PASSED = "TimePassed"
    REACHED = "Reached"
    NO_LONGER_REACHED = "NoLongerReached"


class Strength(Struct, frozen=True, gc=False, rename="camel"):
    """What is proved before anything is sent."""

    grade: Grade
    server_name: str = ""
    names: tuple[str, ...] = ()
    roots: str = ""
    fingerprints: tuple[str, ...] = ()
    pins: tuple[str, ...] = ()


class Word(Struct, frozen=True, gc=False):
    """The policy or XBackend that says so, by its name."""

    name: str
    kind: str = "BackendTLSPolicy"


class Policy(Word, frozen=True, rename="camel"):
    """The same, and who wrote it last; of one that is gone the name is known."""

    generation: int = 0
    resource_version: str = ""
    manager: str = ""
    operation: str = ""
    written: datetime | None = None


class Edit(Struct, frozen=True, gc=False, rename="camel"):
    """An object as it was put, and who wrote it last; who took it away is noted nowhere."""

    object: str
    gone: bool = False
    generation: int = 0
    resource_version: str = ""
    manager: str = ""
    operation: str = ""
    written: datetime | None = None


class Changed(Struct, frozen=True, gc=False, rename="camel", tag="changed", tag_field="record"):
    """One way to a backend, before and after."""

    at: datetime
    gateway: str
    cluster: str
    backend: str
    policy: Policy | None
    before: Strength | None
    after: Strength | None
    why: Cause
    because: tuple[Edit, ...] = ()
    inherited: bool = False  # it happened before this replica led: another may have written it, too


class Began(Struct, frozen=True, rename="camel", tag="began", tag_field="record"):
    """Where a record begins: how many ways to backends there are, by grade."""

    at: datetime
    version: str
    grades: Mapping[str, int]


class Weak(Struct, frozen=True, rename="camel", tag="weak", tag_field="record"):
    """One way to a backend that proved too little when the record began."""

    at: datetime
    gateway: str
    cluster: str
    backend: str
    policy: Word | None
    after: Strength


Record = Changed | Began | Weak


class Touched(NamedTuple):
    """The objects of a batch, found out once for however many hops it changes."""

    objects: Mapping[Ref, Put]
    leading: frozenset[Ref]  # the first of those that lead to any backend
    naming: Mapping[Ref, frozenset[Ref]]  # routes, by each backend that they name
    above: Mapping[str, tuple[Ref, ...]]  # Gateways, with what has a say in each


def changed(
    world: World, hops: Sequence[HopChange], batch: Iterable[object], at: datetime
) -> tuple[Changed, ...]:
    """Say of each change whose it is and why it came about."""
    if not hops:
        return ()
    touched = _touched(batch, {name: _above(world, name) for name in {each.gateway for each in hops}})
    causes = [_cause(world, each, touched) for each in hops]
    named = {ref for _, because in causes for ref in because}
    edits = {ref: _edit(ref, touched.objects[ref]) for ref in named}
    return tuple(
        _changed(world, each, why, tuple(edits[ref] for ref in sorted(because)[:MOST_CAUSES]), at)
        for each, (why, because) in zip(hops, causes, strict=True)
    )


def beginning(hops: Iterable[Hop], at: datetime) -> tuple[Began | Weak, ...]:
    """Say how things stand where a record begins: all of them counted, the weak ones named."""
    found = tuple(hops)
    grades = Counter(each.proof.grade.value for each in found)
    weak = (_weak(each, at) for each in found if each.is_weak)
    return Began(at, version("legation"), dict(sorted(grades.items()))), *weak


def line(record: Record) -> bytes:
    """Write a record as one line."""
    return msgspec.json.encode(record) + b"\n"


def read_line(written: bytes) -> Record:
    """Read a line again."""
    return msgspec.json.decode(written, type=Changed | Began | Weak)


def _touched(batch: Iterable[object], above: Mapping[str, tuple[Ref, ...]]) -> Touched:
    objects = {Ref(each.kind.__name__, each.name): each for each in batch if isinstance(each, Put)}
    naming: defaultdict[Ref, set[Ref]] = defaultdict(set)
    for ref, put in objects.items():
        if isinstance(put.thing, Route):
            for target in targets(put.thing):
                naming[target].add(ref)
    leading = (each for each in objects if each.kind in LEADING)
    first = {target: _first(refs) for target, refs in naming.items()}
    return Touched(objects, _first(leading), first, above)


def _first(refs: Iterable[Ref]) -> frozenset[Ref]:
    return frozenset(nsmallest(MOST_CAUSES, refs))


def _changed(world: World, hop: HopChange, why: Cause, because: tuple[Edit, ...], at: datetime) -> Changed:
    give_way()
    said = hop.after or hop.before
    assert said is not None, f"{hop.cluster} neither was nor is"
    word = _word(*(each.proof for each in (hop.after, hop.before) if each))
    return Changed(
        at=at,
        gateway=hop.gateway,
        cluster=hop.cluster,
        backend=said.proof.backend,
        policy=_policy(world, word) if word else None,
        before=_proved(hop.before),
        after=_proved(hop.after),
        why=why,
        because=because,
    )


def _weak(hop: Hop, at: datetime) -> Weak:
    ref = _word(hop.proof)
    word = Word(str(ref.name), ref.kind) if ref else None
    return Weak(at, hop.gateway, hop.cluster, hop.proof.backend, word, _strength(hop.proof))


def _proved(found: Proved | None) -> Strength | None:
    return _strength(found.proof, found.fingerprints) if found else None


def _strength(found: Proof, fingerprints: tuple[str, ...] = ()) -> Strength:
    return Strength(found.grade, found.server_name, found.names, found.roots, fingerprints, found.pinned)


def _word(*said: Proof) -> Ref | None:
    """Name the object that says what is proved, or said it last: a policy, or an XBackend of its own."""
    policy = next((each.policy for each in said if each.policy), "")
    owner = owner_at(said[0].backend)
    return _policy_ref(policy) if policy else owner if owner.kind == XBackend.__name__ else None


def _policy(world: World, ref: Ref) -> Policy:
    own = world.standing(XBackend, ref.name) if ref.kind == XBackend.__name__ else None
    found = own or world.standing(BackendTLSPolicy, ref.name)
    if found is None:
        return Policy(str(ref.name), ref.kind)
    meta, writer = found.metadata, found.metadata.writer or NOBODY
    return Policy(
        str(ref.name),
        ref.kind,
        meta.generation,
        meta.resource_version,
        writer.manager,
        writer.operation,
        writer.time,
    )


def _edit(ref: Ref, put: Put) -> Edit:
    meta = getattr(put.thing, "metadata", None)
    if meta is None:
        return Edit(str(ref), gone=True)
    writer = (meta.writer if isinstance(meta, TracedMeta) else None) or NOBODY
    return Edit(
        str(ref),
        generation=meta.generation,
        resource_version=put.version,
        manager=writer.manager,
        operation=writer.operation,
        written=writer.time,
    )


def _cause(world: World, hop: HopChange, touched: Touched) -> tuple[Cause, AbstractSet[Ref]]:
    """Say why a hop changed, by the first explanation that holds, and which objects of the batch it names."""
    before, after = hop.before, hop.after
    said = after or before
    assert said is not None, f"{hop.cluster} neither was nor is"
    owner = owner_at(said.proof.backend)
    objects = touched.objects.keys()
    if before is None or after is None:
        why = Cause.REACHED if before is None else Cause.NO_LONGER_REACHED
        return why, _leading(hop, touched, owner) | (objects & {owner})
    policies = frozenset(_policy_ref(each.proof.policy) for each in (before, after) if each.proof.policy)
    if before.proof.policy != after.proof.policy:
        return _succession(before.proof.policy, after.proof.policy), objects & (policies | {owner})
    explanations = {
        Cause.POLICY_CHANGED: objects & policies,
        Cause.CA_CHANGED: objects & _holders(world, policies, owner),
        Cause.BACKEND_CHANGED: objects & {owner},
        Cause.PERMISSION_CHANGED: objects & _permitting(touched.above[hop.gateway], owner),
    }
    found = next(((why, because) for why, because in explanations.items() if because), None)
    return found or (Cause.TIME_PASSED, frozenset())


def _leading(hop: HopChange, touched: Touched, owner: Ref) -> AbstractSet[Ref]:
    """Name what leads this way; what is gone may have led anywhere, so then it is whatever may have."""
    grants = {
        ref
        for ref in touched.leading
        if (ref.kind, ref.name.namespace) == ("ReferenceGrant", owner.name.namespace)
    }
    its = {each for each in touched.above[hop.gateway] if each in touched.objects}
    return touched.naming.get(owner, frozenset()) | its | grants or touched.leading


def _permitting(above: tuple[Ref, ...], owner: Ref) -> frozenset[Ref]:
    """Name the objects that may permit a Gateway to prove less of the backends of a namespace."""
    return frozenset((*above, Ref("Namespace", Name("", owner.name.namespace))))


def _above(world: World, title: str) -> tuple[Ref, ...]:
    """Name a Gateway, its class, and the parameters of both."""
    name = Name.read(title)
    itself = Ref("Gateway", name)
    if (gateway := world.standing(Gateway, name)) is None:
        return (itself,)
    of = Name("", gateway.spec.gateway_class_name)
    parameters = referred(gateway, world.standing(GatewayClass, of))
    return (itself, Ref("GatewayClass", of), *(Ref("GatewayParameters", each) for each in parameters))


def _succession(before: str, after: str) -> Cause:
    if not before:
        return Cause.POLICY_APPLIED
    return Cause.OTHER_POLICY if after else Cause.POLICY_GONE


def _holders(world: World, policies: Iterable[Ref], owner: Ref) -> frozenset[Ref]:
    """Name the objects that roots are expected in."""
    written = [world.standing(BackendTLSPolicy, each.name) for each in policies]
    own = world.standing(XBackend, owner.name) if owner.kind == "XBackend" else None
    asked = [*(of_policy(each) for each in written if each), of_x_backend(own) if own else None]
    return frozenset(Ref(ref.kind, ref.name) for each in asked if each for ref in each.references)


def _policy_ref(name: str) -> Ref:
    return Ref("BackendTLSPolicy", Name.read(name))
