"""After any exchange, an honest Envoy holds the newest it accepts, and no request was lost on the way."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.xds_server.honest_envoy import (
    BAD,
    GROUP,
    PATIENCE,
    Clock,
    HonestEnvoy,
    cluster,
    listener,
    plain,
    table,
)
from xds_server.hub import Hub
from xds_server.report import Report
from xds_server.snapshot import CDS, EDS, LDS, RDS, SDS, Resource, Snapshot, changed

TEXTS = st.sampled_from(["v1", "v2", "v3", BAD.decode()])
FINE = st.sampled_from(["v1", "v2", "v3"])
CLUSTERS = st.sets(st.sampled_from([f"c{n}" for n in range(5)]), max_size=3)
ENDPOINTS = st.sampled_from([None, "e0", "e1", "e2"])
SECRETS = st.sets(st.sampled_from(["s0", "s1"]), max_size=1)


class AnyOrder(RuleBasedStateMachine):
    """Changes, answers, refusals, losses and time, in any order."""

    @initialize(whole=st.booleans(), names_culprits=st.booleans())
    def start(self, *, whole: bool, names_culprits: bool) -> None:
        self.clock = Clock()
        reports: list[Report] = []
        self.hub = Hub(reports.append, patience=PATIENCE, clock=self.clock)
        self.envoy = HonestEnvoy(self.hub, reports, whole=whole, names_culprits=names_culprits)
        self.resources: dict[str, dict[str, Resource]] = {t: {} for t in (CDS, EDS, SDS, LDS, RDS)}
        self.envoy.connect()

    def _publish(self) -> None:
        known = set(self.resources[CDS])
        for kind in (LDS, RDS):  # as the translator does: never a name that is not there
            for name, resource in self.resources[kind].items():
                if not known.issuperset(resource.targets):
                    routes = resource.body.decode().partition("@")[2]
                    self.resources[kind][name] = listener("fallen back", routes)
        before = self.hub.snapshot(GROUP)
        snapshot = Snapshot.of(self.resources, before)
        if before is not None:
            changes = changed(before, snapshot)
            self.envoy.changed_at.update(dict.fromkeys(changes.get(CDS, ()), self.clock.now))
            emptied = changes.get(EDS, set()) & before.entries[EDS].keys()
            self.envoy.emptied_at.update(dict.fromkeys(emptied, self.clock.now))
        self.hub.publish(GROUP, snapshot)

    @rule(name=st.sampled_from([f"c{n}" for n in range(5)]), text=TEXTS, endpoints=ENDPOINTS, secrets=SECRETS)
    def put_cluster(self, name: str, text: str, endpoints: str | None, secrets: set[str]) -> None:
        self.resources[CDS][name] = cluster(text, endpoints, *secrets)
        self._publish()

    @rule(name=st.sampled_from([f"c{n}" for n in range(5)]))
    def drop_cluster(self, name: str) -> None:
        self.resources[CDS].pop(name, None)
        self._publish()

    @rule(name=st.sampled_from(["r0", "r1"]), text=TEXTS, leads_to=CLUSTERS)
    def put_table(self, name: str, text: str, leads_to: set[str]) -> None:
        self.resources[RDS][name] = table(text, *(leads_to & set(self.resources[CDS])))
        self._publish()

    @rule(
        name=st.sampled_from(["l0", "l1"]),
        text=TEXTS,
        leads_to=CLUSTERS,
        routes=st.sampled_from(["r0", "r1", ""]),
    )
    def put_listener(self, name: str, text: str, leads_to: set[str], routes: str) -> None:
        self.resources[LDS][name] = listener(text, routes, *(leads_to & set(self.resources[CDS])))
        self._publish()

    @rule(kind=st.sampled_from([LDS, RDS]), number=st.sampled_from([0, 1]))
    def drop_traffic(self, kind: str, number: int) -> None:
        self.resources[kind].pop(f"{'l' if kind == LDS else 'r'}{number}", None)
        self._publish()

    @rule(
        kind=st.sampled_from([EDS, SDS]),
        number=st.integers(0, 2),
        text=st.one_of(st.none(), FINE),
    )
    def put_leaf(self, kind: str, number: int, text: str | None) -> None:
        name = f"{'e' if kind == EDS else 's'}{number}"
        self.resources[kind].pop(name, None)
        if text is not None:
            self.resources[kind][name] = plain(text)
        self._publish()

    @rule(
        left=st.sampled_from([0, 1]),
        policy=st.sampled_from(["stays", "changes", "comes by another name"]),
        is_lost=st.booleans(),
    )
    def lead_away_and_empty(self, left: int, policy: str, *, is_lost: bool) -> None:
        led_to = 1 - left
        clusters = {f"c{n}": cluster("v1", f"e{n}") for n in range(2)}
        self.resources[CDS] |= clusters
        self.resources[EDS] |= {f"e{n}": plain("v1") for n in range(2)}
        self.resources[RDS]["r0"] = table("v1", f"c{left}")
        self.resources[LDS]["l0"] = listener("v1", "r0")
        self._publish()
        self.come_to_rest()
        del self.resources[EDS][f"e{left}"]
        if policy != "stays":
            name = f"c{left}" if policy == "changes" else "c2"
            self.resources[CDS][name] = cluster("v2", f"e{left}")
        self.resources[RDS]["r0"] = table("v2", f"c{led_to}")
        self._publish()
        if is_lost:
            self.lose_the_stream()

    @rule(kind=st.sampled_from([EDS, SDS, RDS]), number=st.sampled_from([None, 0, 1]))
    def want_more_or_less(self, kind: str, number: int | None) -> None:
        letter = {EDS: "e", SDS: "s", RDS: "r"}[kind]
        self.envoy.want(kind, [] if number is None else [f"{letter}{number}", "nobody"])

    @rule(steps=st.lists(st.sampled_from(["send", "fetch", "take"]), min_size=1, max_size=8))
    def exchange(self, steps: list[str]) -> None:
        for step in steps:
            {"send": self.envoy.send_one, "fetch": self.envoy.fetch_one, "take": self.envoy.take_one}[step]()

    @rule()
    def lose_the_stream(self) -> None:
        self.envoy.connect()

    @rule(seconds=st.sampled_from([1, 4, 12]))
    def wait(self, seconds: int) -> None:
        self.clock.now += seconds

    @rule()
    def come_to_rest(self) -> None:
        for _ in range(4):
            self.envoy.settle()
            self.clock.now += PATIENCE.hold + PATIENCE.grace
        self.envoy.settle()
        self._holds_the_newest_it_accepts()

    def _holds_the_newest_it_accepts(self) -> None:
        snapshot = self.hub.snapshot(GROUP)
        if snapshot is None:
            assert self.envoy.seen == []
            return
        for kind, held in self.envoy.held.items():
            wanted = snapshot.names(kind) if kind in (CDS, LDS) else self.envoy._asked.get(kind, set())
            for name in wanted:
                desired = snapshot.find(kind, name)
                if desired is not None and BAD not in desired.resource.body:
                    assert held[name].version == desired.version, (kind, name)
            if kind in (CDS, LDS):
                assert set(held) <= wanted, kind
        cold = {n for n, c in self.envoy.warming.items() if c.resource.endpoints} - self.envoy.interrupted
        assert not cold

    @invariant()
    def no_request_was_lost(self) -> None:
        assert self.envoy.faults == []


AnyOrder.TestCase.settings = settings(max_examples=60, stateful_step_count=40)
test_any_order = AnyOrder.TestCase
