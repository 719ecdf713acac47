"""Whatever is told late, or never: nothing leads anywhere without the policies that were there before."""

from typing import NamedTuple

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from k8s_watch.change import Change, Gone, Put, Synced
from k8s_watch.kind import ObjectName
from legation.change import Stated
from legation.fence import Doubt
from legation.intake import Intake
from translator.names import Name
from translator.objects.backend_tls_policy import BackendTLSPolicy
from translator.objects.endpoint_slice import EndpointSlice
from translator.objects.http_route import HTTPRoute
from translator.objects.kinds import Object
from translator.objects.service import Service

KINDS: tuple[type[Object], ...] = (BackendTLSPolicy, EndpointSlice, HTTPRoute, Service)
LEADING = (HTTPRoute, Service)
NAMES = st.sampled_from([Name(namespace, name) for namespace in ("shop", "farm") for name in ("a", "b")])


def thing(kind: type[Object], name: Name, number: int) -> Object:
    """Make an object that differs from all others of its name."""
    target = {"group": "", "kind": "Service", "name": name.name}
    proof = {"hostname": f"n{number}.internal", "wellKnownCACertificates": "System"}
    rule = {"backendRefs": [{"name": name.name, "port": 443}]}
    fields: dict[type, dict[str, object]] = {
        BackendTLSPolicy: {"spec": {"targetRefs": [target], "validation": proof}},
        EndpointSlice: {"addressType": "IPv4", "endpoints": [{"addresses": [f"198.18.0.{number}"]}]},
        HTTPRoute: {"spec": {"hostnames": [f"n{number}.test"], "rules": [rule]}},
        Service: {"spec": {"ports": [{"port": number}]}},
    }
    return msgspec.convert({"metadata": name._asdict(), **fields[kind]}, kind)


class Asked(NamedTuple):
    """A question on its way back: which policies there were in which versions when it was answered."""

    doubt: Doubt
    versions: dict[Name, int]


class AnyOrder(RuleBasedStateMachine):
    """Objects come, change and go; each kind is told as late as it likes; answers are later still."""

    @initialize()
    def start(self) -> None:
        self.intake = Intake(KINDS)
        self.number = 0
        self.there: dict[type, dict[Name, int]] = {kind: {} for kind in KINDS}
        self.untold: dict[type, list[Change[Object]]] = {kind: [] for kind in KINDS}
        self.told: dict[Name, int] = {}
        self.governed: dict[
            int, dict[Name, int]
        ] = {}  # by which policies, when each object came to be as it is
        self.handed_on: dict[tuple[type, Name], int] = {}
        self.asked: Asked | None = None
        for kind in KINDS:
            self.intake.take(kind, [Synced()])
        self._hand_on()

    @rule(kind=st.sampled_from(KINDS), name=NAMES)
    def put(self, kind: type[Object], name: Name) -> None:
        self.number += 1
        self.there[kind][name] = self.number
        if kind in LEADING:
            self.governed[self.number] = dict(self.there[BackendTLSPolicy])
        self.untold[kind].append(Put(ObjectName(*name), str(self.number), thing(kind, name, self.number)))

    @rule(kind=st.sampled_from(KINDS), name=NAMES)
    def delete(self, kind: type, name: Name) -> None:
        if self.there[kind].pop(name, None) is not None:
            self.untold[kind].append(Gone(ObjectName(*name)))

    @rule(kind=st.sampled_from(KINDS), count=st.integers(1, 4))
    def tell(self, kind: type, count: int) -> None:
        changes, self.untold[kind] = self.untold[kind][:count], self.untold[kind][count:]
        if kind is BackendTLSPolicy:
            for change in changes:
                if isinstance(change, Put):
                    self.told[Name(*change.name)] = int(change.version)
        self.intake.take(kind, changes)
        self._hand_on()

    @precondition(lambda self: self.asked is None and self.intake.doubt is not None)
    @rule()
    def ask(self) -> None:
        doubt = self.intake.doubt
        assert doubt is not None
        policies = self.there[BackendTLSPolicy]
        wholly = {name.namespace for kind, name in doubt.about if kind is BackendTLSPolicy and not name.name}
        meant = {name: policies[name] for name in policies if {"", name.namespace} & wholly}
        self.asked = Asked(doubt, meant)

    @precondition(lambda self: self.asked is not None)
    @rule()
    def answer(self) -> None:
        assert self.asked is not None
        if all(self.told.get(name, 0) >= version for name, version in self.asked.versions.items()):
            self.intake.settle(self.asked.doubt)
            self._hand_on()
        self.asked = None

    def _hand_on(self) -> None:
        assert self.intake.is_safe
        for change in self.intake.hand_on():
            assert not isinstance(change, Stated)
            key = change.kind, change.name
            if change.thing is None:
                self.handed_on.pop(key, None)
            else:
                self.handed_on[key] = int(change.version)

    @invariant()
    def all_that_leads_anywhere_is_governed(self) -> None:
        policies = self.there[BackendTLSPolicy]
        for (kind, name), number in self.handed_on.items():
            if kind in LEADING:
                for policy, version in self.governed[number].items():
                    if policy == name and policies.get(policy) == version:
                        assert self.handed_on.get((BackendTLSPolicy, policy)) == version

    @invariant()
    def pods_are_handed_on_as_they_are_told(self) -> None:
        for name, version in self.there[EndpointSlice].items():
            if not self.untold[EndpointSlice]:
                assert self.handed_on[EndpointSlice, name] == version

    @invariant()
    def nothing_is_held_back_without_a_question(self) -> None:
        if self.intake.doubt is None:
            assert not self.intake.holds


TestAnyOrder = AnyOrder.TestCase
TestAnyOrder.settings = settings(max_examples=200, stateful_step_count=50)
