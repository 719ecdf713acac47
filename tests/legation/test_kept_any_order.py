"""Whatever changes, and whenever that is told: of Secrets what is permitted and wanted is kept, no more."""

from typing import Any, NamedTuple

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from k8s_watch.change import Gone, Put, Synced
from k8s_watch.kind import ObjectName
from k8s_watch.wants import Errand, Wants
from legation import change
from legation.intake import Intake
from legation.wanted import CERTIFICATE, TRUST, WANTING, Key
from translator.names import Name
from translator.objects.backend_tls_policy import BackendTLSPolicy
from translator.objects.config_map import ConfigMap
from translator.objects.gateway import Gateway
from translator.objects.kinds import Object
from translator.objects.listener_set import ListenerSet
from translator.objects.provenance import TracedMeta
from translator.objects.reference_grant import ReferenceGrant
from translator.objects.secret import Secret

GROUP = "gateway.networking.k8s.io"
KINDS: dict[str, type[Secret | ConfigMap]] = {"Secret": Secret, "ConfigMap": ConfigMap}
POINTING: dict[str, type[Object]] = {
    "Gateway": Gateway,
    "ListenerSet": ListenerSet,
    "BackendTLSPolicy": BackendTLSPolicy,
}
VALUES = {"ca.crt": "eA==", "tls.crt": "eA==", "tls.key": "eA==", "password": "eA=="}
NOTHING: frozenset[str] = frozenset()

LETTERS = st.sampled_from("ab")
NAMESPACES = ("infra", "shop")
EVERYWHERE = [Name(namespace, letter) for namespace in NAMESPACES for letter in "ab"]
ALL_POINTERS = [(kind, name) for kind in POINTING for name in EVERYWHERE]
ALL_TARGETS = [(kind, name) for kind in KINDS for name in EVERYWHERE]
NAMES = st.sampled_from(EVERYWHERE)
POINTERS = st.sampled_from(ALL_POINTERS)
TARGETS = st.sampled_from(ALL_TARGETS)
FROM = st.tuples(st.sampled_from(["Gateway", "Gateway", "ListenerSet"]), st.sampled_from(NAMESPACES))
TO = st.tuples(st.sampled_from(sorted(KINDS)), st.none() | LETTERS)

Target = tuple[str, Name]


class Asked(NamedTuple):
    """What one object refers to, as it is drawn."""

    shown: tuple[Target, ...]
    proving: tuple[Target, ...]


class Granted(NamedTuple):
    """What one grant permits, as it is drawn."""

    kind: str
    namespace: str
    to: str
    name: str | None


ASKED = st.builds(
    Asked,
    st.lists(TARGETS.filter(lambda target: target[0] == "Secret"), max_size=2).map(tuple),
    st.lists(TARGETS, max_size=2).map(tuple),
)
GRANTED = st.builds(lambda origin, to: Granted(*origin, *to), FROM, TO)


def written(targets: tuple[Target, ...]) -> list[dict[str, str]]:
    return [
        {"group": "", "kind": kind, "name": name.name, "namespace": name.namespace} for kind, name in targets
    ]


def specified(kind: str, asked: Asked) -> dict[str, Any]:
    """Write the specification of an object that refers to this."""
    if kind == "BackendTLSPolicy":
        proving = [{"group": "", "kind": kind, "name": name.name} for kind, name in asked.proving]
        target = {"group": "", "kind": "Service", "name": "pay"}
        return {"targetRefs": [target], "validation": {"hostname": "pay", "caCertificateRefs": proving}}
    shown = {"certificateRefs": written(asked.shown)}
    listeners = [{"name": "tls", "port": 443, "protocol": "HTTPS", "tls": shown}]
    if kind == "ListenerSet":
        return {"parentRef": {"name": "a"}, "listeners": listeners}
    front = {"default": {"validation": {"caCertificateRefs": written(asked.proving)}}}
    return {"gatewayClassName": "legation", "listeners": listeners, "tls": {"frontend": front}}


def of_values(pointer: Target, asked: Asked) -> list[tuple[Target, frozenset[str]]]:
    """Say which values of what an object refers to: what the specification above means."""
    kind, name = pointer
    if kind == "BackendTLSPolicy":
        return [((each, Name(name.namespace, found.name)), TRUST) for each, found in asked.proving]
    shown = [(each, CERTIFICATE) for each in asked.shown]
    return shown + ([(each, TRUST) for each in asked.proving] if kind == "Gateway" else [])


class AnyOrder(RuleBasedStateMachine):
    """Objects and grants change; what they ask for is heeded later, and read later still."""

    @initialize(
        asked=st.lists(ASKED, min_size=12, max_size=12), granted=st.lists(GRANTED, min_size=2, max_size=2)
    )
    def start(self, asked: list[Asked], granted: list[Granted]) -> None:
        """Begin with everything there, and everybody referring to something."""
        self.intake = Intake([*WANTING, Secret, ConfigMap])
        self.wants = {kind: Wants[Object]() for kind in KINDS.values()}
        self.anew: dict[type, frozenset[Name]] = dict.fromkeys(KINDS.values(), frozenset())
        self.asked: dict[Target, Asked] = {}
        self.grants: dict[Name, Granted] = {}
        self.there: dict[Key, int] = {}
        self.revision = 0
        self.away: list[tuple[type, Errand, int | None]] = []
        self.kept: dict[Key, frozenset[str]] = {}
        self.since: dict[Key, frozenset[str]] = {}  # what was permitted at some time since it was handed on
        for kind in (*WANTING, Secret, ConfigMap):
            if kind in self.wants:
                self.intake.take(kind, self.wants[kind].learn([Synced()]))
            else:
                self.intake.take(kind, [Synced()])
        for target in ALL_TARGETS:
            self.put(target)
        for pointer, each in zip(ALL_POINTERS, asked, strict=True):
            self.refer(pointer, each)
        for namespace, grant in zip(NAMESPACES, granted, strict=True):
            self.grant(Name(namespace, "a"), grant)

    def permitted(self) -> dict[Key, frozenset[str]]:
        """Say what may be kept now, by going through everything."""
        found: dict[Key, frozenset[str]] = {}
        for pointer, asked in self.asked.items():
            for (kind, name), values in of_values(pointer, asked):
                if self.may(pointer, (kind, name)):
                    key = KINDS[kind], name
                    found[key] = found.get(key, NOTHING) | values
        return found

    def may(self, pointer: Target, target: Target) -> bool:
        (by, origin), (kind, name) = pointer, target
        return origin.namespace == name.namespace or any(
            place.namespace == name.namespace
            and (grant.kind, grant.namespace, grant.to) == (by, origin.namespace, kind)
            and grant.name in (None, name.name)
            for place, grant in self.grants.items()
        )

    def take(self, kind: type, name: Name, thing: Object | None) -> None:
        """Have an object told that refers or permits, as the cluster's listener does."""
        told = ObjectName(*name)
        self.intake.take(kind, [Gone(told) if thing is None else Put(told, "1", thing)])
        for picked in self.wants:
            self.anew[picked] |= self.intake.wishes.altered(picked)
            assert self.intake.wishes.of(picked) == {
                name for each, name in self.permitted() if each is picked
            }
        self.remember()

    def remember(self) -> None:
        for key, values in self.permitted().items():
            self.since[key] = self.since.get(key, NOTHING) | values

    @rule(pointer=POINTERS, asked=ASKED)
    def refer(self, pointer: Target, asked: Asked) -> None:
        kind, name = pointer
        self.asked[pointer] = asked
        metadata = {"name": name.name, "namespace": name.namespace}
        manifest = {"metadata": metadata, "spec": specified(kind, asked)}
        self.take(POINTING[kind], name, msgspec.convert(manifest, POINTING[kind]))

    @rule(pointer=POINTERS)
    def refer_no_more(self, pointer: Target) -> None:
        if self.asked.pop(pointer, None) is not None:
            self.take(POINTING[pointer[0]], pointer[1], None)

    @rule(name=NAMES, granted=GRANTED)
    def grant(self, name: Name, granted: Granted) -> None:
        self.grants[name] = granted
        origin = {"group": GROUP, "kind": granted.kind, "namespace": granted.namespace}
        to = {"group": "", "kind": granted.to} | ({"name": granted.name} if granted.name else {})
        metadata = {"name": name.name, "namespace": name.namespace}
        manifest = {"metadata": metadata, "spec": {"from": [origin], "to": [to]}}
        self.take(ReferenceGrant, name, msgspec.convert(manifest, ReferenceGrant))

    @rule(name=NAMES)
    def grant_no_more(self, name: Name) -> None:
        if self.grants.pop(name, None) is not None:
            self.take(ReferenceGrant, name, None)

    @rule(chosen=TARGETS)
    def put(self, chosen: Target) -> None:
        kind, name = KINDS[chosen[0]], chosen[1]
        self.revision += 1
        self.there[kind, name] = self.revision
        metadata = Put(ObjectName(*name), str(self.revision), None)
        self.intake.take(kind, self.wants[kind].learn([metadata]))

    @rule(chosen=TARGETS)
    def delete(self, chosen: Target) -> None:
        kind, name = KINDS[chosen[0]], chosen[1]
        if self.there.pop((kind, name), None) is not None:
            self.intake.take(kind, self.wants[kind].learn([Gone(ObjectName(*name))]))

    @rule(kind=st.sampled_from([Secret, ConfigMap]))
    def heed(self, kind: type) -> None:
        """Have the fetcher learn what is wanted by now."""
        names = {ObjectName(*name) for name in self.intake.wishes.of(kind)}
        anew = {ObjectName(*name) for name in self.anew[kind]}
        self.anew[kind] = frozenset()
        self.intake.take(kind, self.wants[kind].want(names, anew))

    @rule(kind=st.sampled_from([Secret, ConfigMap]))
    def set_out(self, kind: type) -> None:
        errand = self.wants[kind].next_errand()
        if errand is not None:
            self.away.append((kind, errand, self.there.get((kind, Name(*errand.name)))))

    @precondition(lambda self: self.away)
    @rule(place=st.integers(0, 3), fails=st.booleans())
    def come_back(self, place: int, *, fails: bool) -> None:
        kind, errand, revision = self.away.pop(place % len(self.away))
        if fails:
            self.wants[kind].put_off(errand)
            return
        metadata = TracedMeta(errand.name.name, errand.name.namespace)
        body = Put[Object](errand.name, str(revision), kind(metadata, data=VALUES)) if revision else None
        self.intake.take(kind, self.wants[kind].read(errand, body))

    @rule()
    def hand_on(self) -> None:
        """Keep what was told; nothing is among it that was not permitted at any moment.

        All policies are known, so nothing waits for them.
        """
        if (doubt := self.intake.doubt) is not None:
            self.intake.settle(doubt)
        for each in self.intake.hand_on():
            if isinstance(each, change.Put) and each.kind in self.wants:
                key = each.kind, each.name
                values = frozenset(each.thing.data) if isinstance(each.thing, Secret | ConfigMap) else NOTHING
                assert values <= self.since.get(key, NOTHING)
                self.kept[key] = values
        assert {key for key, values in self.kept.items() if values} <= self.permitted().keys()
        self.since.clear()
        self.remember()

    @rule()
    def come_to_rest(self) -> None:
        for kind in self.wants:
            self.heed(kind)
        while self.away:
            self.come_back(0, fails=False)
        for kind in self.wants:
            for _ in EVERYWHERE:  # what is wanted and not there is looked for too
                self.set_out(kind)
        while self.away:
            self.come_back(0, fails=False)
        assert self.intake.is_answered
        self.hand_on()
        expected = {key: values for key, values in self.permitted().items() if key in self.there}
        assert {key: values for key, values in self.kept.items() if values} == expected

    def teardown(self) -> None:
        if hasattr(self, "intake"):
            self.come_to_rest()


AnyOrder.TestCase.settings = settings(max_examples=150, stateful_step_count=30)
test_any_order = AnyOrder.TestCase
