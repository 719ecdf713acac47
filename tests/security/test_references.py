"""Whoever may write in one namespace reaches nothing of another, and learns nothing of it, by any field."""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

from legation.manifests import read_manifests
from tests.golden import PLACEHOLDER, TODAY, pems
from tests.security import references
from tests.security.references import CROSSING, LOCAL, X_BACKEND, Attack
from translator.names import Ref
from translator.objects.gateway import Gateway
from translator.objects.kinds import KINDS, name_of
from translator.rules.certificates import NOW
from translator.rules.gateways import Delivery
from translator.rules.status import Status
from translator.translate import INDEXES, translate
from translator.world import World

GIVEN = Path(__file__).with_name("given")
OWN, HOARD, RUINS, GRANT, VICTIM = (
    (GIVEN / f"{name}.yaml").read_text() for name in ("own", "hoard", "ruins", "grant", "victim")
)
Seen = tuple[Mapping[Ref, Status], Mapping[tuple[object, str, str], bytes]]


def each(attacks: Mapping[str, Attack]) -> pytest.MarkDecorator:
    found = [(path, pointee) for path, attack in attacks.items() for pointee in attack.pointees]
    kinds = (re.search(r"kind: (\w+)", pointee) for _, pointee in found)
    ids = [f"{path}-{kind[1] if kind else 'Service'}" for (path, _), kind in zip(found, kinds, strict=True)]
    return pytest.mark.parametrize(("path", "pointee"), found, ids=ids)


def written(path: str, spec: str) -> str:
    """Write an object of a field's kind in the stranger's namespace, in place of what they have of it."""
    kind = next(info for info in KINDS if info.kind == path.partition(".")[0])
    name = {"Gateway": "gate", "GatewayParameters": "wish"}.get(kind.kind, "attack")
    version = kind.api_version(kind.versions[0])
    heading = f"apiVersion: {version}, kind: {kind.kind}, metadata: {{name: {name}, namespace: mallory}}"
    return f"{{{heading}, spec: {spec}}}"


def grant(path: str, where: str) -> str:
    kind = next(info for info in KINDS if info.kind == path.partition(".")[0])
    return GRANT.replace("WHERE", where).replace("GROUP", kind.group).replace("KIND", kind.kind)


@cache
def seen(*texts: str, owner: str = "mallory") -> Seen:
    """Return all that objects of a namespace are told, and all that Envoys of its Gateways are."""
    world = World(INDEXES)
    world.state(NOW, TODAY)
    for text in texts:
        filled = PLACEHOLDER.sub(lambda found: pems()[found[1]].replace("\n", "\\n"), text)
        loaded, problems = read_manifests(filled, "attack")
        assert not problems, problems
        for one in loaded:
            world.put(type(one.thing), name_of(one.thing), one.thing)
    for name in world.names(Gateway):
        world.put(Delivery, name, Delivery(acknowledged=True))
    found = translate(world)
    assert not found.broken
    return (
        {
            ref: status
            for ref, status in found.statuses.items()
            if ref.name.namespace == owner and ref.name.name != "coffer"
        },
        {
            (gateway, kind, name): resource.body
            for gateway, kinds in found.gateways.items()
            for kind, named in kinds.items()
            for name, resource in named.items()
            if gateway.namespace == owner
        },
    )


def test_every_field_that_can_name_another_object_is_attacked_here() -> None:
    """A field that is new fails this test until somebody says what keeps strangers out of it."""
    attacked = [*CROSSING, *LOCAL]
    excused = (
        references.INVITED
        | references.TARGETS
        | references.UNREAD
        | references.OF_OPERATORS
        | references.GRANTS
    )
    assert sorted([*attacked, *excused]) == sorted(references.fields())


@each(CROSSING)
def test_without_a_grant_nobody_learns_whether_a_thing_exists_or_is_in_order(path: str, pointee: str) -> None:
    attack = written(path, CROSSING[path].spec.replace("REF", pointee))
    nothing = seen(OWN, attack)
    assert seen(OWN, HOARD.replace("NS", "vault"), attack) == nothing
    assert seen(OWN, RUINS.replace("NS", "vault"), attack) == nothing


@each(CROSSING)
def test_a_reference_is_followed_by_the_grant_of_the_namespace_it_leads_to(path: str, pointee: str) -> None:
    """Also shows that the attack is one: what is told differs as soon as it is permitted."""
    attack, hoard = written(path, CROSSING[path].spec.replace("REF", pointee)), HOARD.replace("NS", "vault")
    refused = seen(OWN, hoard, attack)
    assert (seen(OWN, hoard, attack, grant(path, "vault")) == refused) == (pointee == X_BACKEND)
    assert seen(OWN, hoard, attack, grant(path, "mallory")) == refused


@each(LOCAL)
def test_a_reference_without_a_namespace_never_leaves_its_own(path: str, pointee: str) -> None:
    attack = written(path, LOCAL[path].spec.replace("REF", pointee))
    nothing = seen(OWN, attack)
    for elsewhere in (HOARD, RUINS):
        assert seen(OWN, elsewhere.replace("NS", "vault"), attack, grant(path, "vault")) == nothing
    assert seen(OWN, HOARD.replace("NS", "mallory"), attack) != nothing


@pytest.mark.parametrize("path", sorted(references.UNREAD))
def test_a_filter_of_another_implementation_follows_no_name(path: str) -> None:
    each_ = "{type: ExtensionRef, extensionRef: REF}"
    backend = "{name: own, port: 80, filters: [FILTER]}" if "backendRefs" in path else "{name: own, port: 80}"
    own = "filters: [FILTER], " if "backendRefs" not in path else ""
    listener = "name: web, port: 8080, protocol: HTTP, filters: {requests: [FILTER]}"
    spec = {
        "Gateway": f"{{gatewayClassName: legation, listeners: [{{{listener}}}]}}",
        "ListenerSet": f"{{parentRef: {{name: gate}}, listeners: [{{{listener}}}]}}",
    }.get(
        path.partition(".")[0],
        f"{{parentRefs: [{{name: gate}}], rules: [{{{own}backendRefs: [{backend}]}}]}}",
    )
    ref = '{group: "", kind: Secret, name: coffer}'
    attack = written(path, spec.replace("FILTER", each_.replace("REF", ref)))
    nothing = seen(OWN, attack)
    for where in ("vault", "mallory"):
        assert seen(OWN, HOARD.replace("NS", where), attack) == nothing


@pytest.mark.parametrize("path", sorted(references.INVITED))
def test_who_was_not_invited_changes_nothing_of_a_gateway(path: str) -> None:
    """Attaching needs no grant: a Gateway says itself whose routes and listeners it takes."""
    hoard = HOARD.replace("NS", "vault")
    parent, listener = "{name: door, namespace: vault}", "{name: extra, port: 9999, protocol: HTTP}"
    spec = (
        f"{{parentRef: {parent}, listeners: [{listener}]}}"
        if path.startswith("ListenerSet")
        else f"{{parentRefs: [{parent}], rules: [{{backendRefs: [{{name: own, port: 80}}]}}]}}"
    )
    if path.startswith("TLSRoute"):
        spec = spec.replace("{parentRefs", "{hostnames: [vault.test], parentRefs")
    attack = written(path, spec)
    alone = seen(OWN, hoard, VICTIM, owner="vault")
    assert seen(OWN, hoard, VICTIM, attack, owner="vault") == alone
    everybody = "allowedRoutes: {namespaces: {from: All}}"
    opened = VICTIM.replace("port: 80, protocol", f"port: 80, {everybody}, protocol")
    for protocol in ("TLS", "TCP", "UDP"):
        opened = opened.replace(f"protocol: {protocol}", f"protocol: {protocol}, {everybody}")
    opened = opened.replace("spec: {gate", "spec: {allowedListeners: {namespaces: {from: All}}, gate")
    invited = seen(OWN, hoard, opened, attack, owner="vault")
    assert invited != seen(OWN, hoard, opened, owner="vault")


@pytest.mark.parametrize("kind", ["Service", "ServiceImport"])
def test_a_policy_governs_no_backend_of_another_namespace(kind: str) -> None:
    group = "multicluster.x-k8s.io" if kind == "ServiceImport" else '""'
    spec = (
        f"{{targetRefs: [{{group: {group}, kind: {kind}, name: coffer}}], "
        "validation: {hostname: mallory.test, wellKnownCACertificates: System}}"
    )
    policy = written("BackendTLSPolicy.spec.targetRefs", spec)
    hoard = HOARD.replace("NS", "vault")
    victim = VICTIM.replace(
        "{name: coffer, port: 80}", f"{{group: {group}, kind: {kind}, name: coffer, port: 80}}"
    )
    alone = seen(OWN, hoard, victim, owner="vault")
    assert seen(OWN, hoard, victim, policy, owner="vault") == alone
    own = policy.replace("namespace: mallory", "namespace: vault")
    assert seen(OWN, hoard, victim, own, owner="vault")[1] != alone[1]
