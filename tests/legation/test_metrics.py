"""What Prometheus is told: it is what docs/metrics.md says, and never grows with what users make."""

import asyncio
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families

from legation.admin.cluster_metrics import ClusterMetrics, Sources
from legation.admin.gauges import StandingGauges
from legation.admin.metrics import exposition
from legation.admin.reasons import REASONS, reason
from legation.admin.series import MOST, OTHERS
from legation.change import Put, Stated
from legation.contact import Contact
from legation.engine import Engine, Surroundings
from legation.folder import Folder, read
from legation.proofs.audit_log import AuditLog
from legation.proofs.changes import Used
from legation.workbench import Outcome, Workbench
from tests.legation.proofs.test_hops import WEAK, led_to
from translator.names import Name, Ref
from translator.rules.gateways import BINDING, Binding
from xds_server.hub import Seat
from xds_server.messages import Ask
from xds_server.report import Cause, Envoy, Overdue, Rejected, TurnedAway
from xds_server.snapshot import LDS

PAGE = Path(__file__).parents[2] / "docs" / "metrics.md"
GROUP = "infra/edge"
MANY = 2_000
HERE = Stated(BINDING, Binding("127.0.0.1", is_exclusive=True))


class Family(NamedTuple):
    """What there is to know of a metric before it has any value."""

    name: str
    type: str
    labels: frozenset[str]


class Plant:
    """An engine without a source, of which the test makes what is to be measured."""

    def __init__(self) -> None:
        self.engine = Engine(Workbench(), Surroundings())
        self._registry = self.engine._telemetry.registry
        self._registry.register(StandingGauges(self.engine.standing))

    def take(self, outcome: Outcome) -> None:
        """Let everyone know of a batch."""
        asyncio.run(self.engine._offer(outcome))
        asyncio.run(self.engine._tell(outcome))
        self.engine._telemetry.take(outcome)

    def connect(self, group: str, node: str) -> Seat:
        """Have an Envoy ask for listeners."""
        seat = self.engine.hub.join(Envoy(group, node), "memory", whole=True, wake=lambda: None)
        assert isinstance(seat, Seat)
        self.engine.hub.receive(seat, Ask(LDS))
        return seat

    def follow(self, seat: Seat) -> None:
        """Have an Envoy take all that there is for it."""
        while (response := self.engine.hub.next(seat)) is not None:
            self.engine.hub.sent(seat, response, 100)
            self.engine.hub.receive(seat, Ask(LDS, (), response.version, response.nonce))

    def refuse(self, group: str, error: str) -> None:
        """Have an Envoy refuse its first listeners."""
        seat = self.connect(group, "edge-1")
        response = self.engine.hub.next(seat)
        assert response is not None
        self.engine.hub.receive(seat, Ask(LDS, (), "", response.nonce, error))

    def told(self) -> str:
        """What Prometheus would read."""
        return exposition(self._registry).decode()


def documented() -> set[Family]:
    found = re.findall(r"^\| `(\w+)(?:\{([\w,]+)\})?` \| (\w+) \| \S", PAGE.read_text(), re.MULTILINE)
    return {Family(name, kind, frozenset(filter(None, labels.split(",")))) for name, labels, kind in found}


def exposed(text: str) -> set[Family]:
    families = [family for family in text_string_to_metric_families(text) if family.samples]
    return {
        Family(
            f"{family.name}_total" if family.type == "counter" else family.name,
            family.type,
            frozenset(label for sample in family.samples for label in sample.labels) - {"le"},
        )
        for family in families
    }


def translated(text: str) -> Outcome:
    folder = Folder()
    folder.take("a.yaml", read(text, "a.yaml"))
    return Workbench().work((HERE, *folder.changes()))


def sources() -> Sources:
    contact = Contact("Gateway", 1, 1, 1, {410: 1}, 2.0, 3.0, "no answer")
    writes = {("Gateway", "written"): 1}
    return Sources(lambda: [contact], lambda: writes, lambda: {503: 1}, lambda: True)


def test_every_metric_is_documented_with_its_type_and_labels_and_every_documented_one_is_there() -> None:
    plant = Plant()
    plant.engine.measure(ClusterMetrics(sources()))
    plant.engine.measure(AuditLog(lambda _line: None))
    manifests = "---\n".join((led_to("weak"), WEAK))
    plant.take(translated(manifests))
    seat = plant.connect(GROUP, "edge-0")
    plant.follow(seat)
    moved = translated(manifests.replace("p80, port: 80", "p81, port: 81"))
    ends = {Used(GROUP, Ref("BackendTLSPolicy", Name("shop", "weak"))): datetime.now(UTC)}
    plant.take(msgspec.structs.replace(moved, cause=Cause(1, plant.engine.hub.clock()), ends=ends))
    plant.follow(seat)
    plant.refuse(GROUP, "cannot bind: Permission denied")
    plant.engine._told(Overdue(Envoy(GROUP, "edge-0"), LDS, f"{GROUP}:80", 5.0))
    plant.engine._told(TurnedAway(GROUP, "edge-0", "too many streams"))
    assert exposed(plant.told()) == documented()


def world() -> Iterable[Put]:
    """Make a great many Gateways, each with a route of its own to a backend that proves nothing."""
    folder = Folder()
    folder.take("a.yaml", read("---\n".join((led_to("weak"), WEAK)), "a.yaml"))
    for change in folder.changes():
        encoded = msgspec.json.encode(change.thing).decode()
        for number in range(MANY):
            text = encoded.replace('"edge"', f'"edge-{number}"').replace('"weak"', f'"weak-{number}"')
            name = change.name.name.replace("edge", f"edge-{number}").replace("weak", f"weak-{number}")
            thing: object = msgspec.json.decode(text, type=change.kind)
            yield Put(change.kind, Name(change.name.namespace, name), thing)


@pytest.fixture(scope="module")
def large() -> Outcome:
    """Translate all of them."""
    return Workbench().work((HERE, *world()))


def test_the_number_of_series_does_not_grow_with_what_users_make(large: Outcome) -> None:
    plant = Plant()
    ends = {
        Used(group, Ref("BackendTLSPolicy", Name("shop", group))): datetime.now(UTC)
        for group in large.snapshots
    }
    plant.take(msgspec.structs.replace(large, ends=ends))
    assert len(large.snapshots) == MANY
    for group in large.snapshots:
        plant.refuse(group, f"{group}: no reason that anybody knows")
        plant.engine._told(Overdue(Envoy(group, group), LDS, group, 5.0))
        plant.engine._told(TurnedAway(group, group, group))
    samples = [each for family in text_string_to_metric_families(plant.told()) for each in family.samples]
    by_name: dict[str, int] = {}
    for each in samples:
        by_name[each.name] = by_name.get(each.name, 0) + 1
    crowded = {name: number for name, number in by_name.items() if number > MOST / 2}
    assert crowded == {
        "legation_envoys": MOST + 1,
        "legation_rejections_total": MOST + 1,
        "legation_overdue_total": MOST + 1,
        "legation_degraded_hops": 2 * MOST + 1,
        "legation_certificate_expiry_timestamp_seconds": 2 * MOST + 1,
    }
    shared = {each.name: each.value for each in samples if each.labels.get("gateway") == OTHERS}
    assert shared["legation_envoys"] == MANY - MOST
    assert shared["legation_rejections_total"] == MANY - MOST
    hops = [each.value for each in samples if each.name == "legation_degraded_hops"]
    assert sum(hops) == MANY


def test_the_series_of_a_gateway_go_with_it_and_make_room(large: Outcome) -> None:
    plant = Plant()
    plant.take(large)
    gateways = sorted(large.snapshots)
    refused = partial(Rejected, type_url=LDS, versions={}, error="", isolated=False)
    for gateway in gateways[: MOST + 1]:
        plant.engine._told(refused(Envoy(gateway, "edge")))
    assert f'legation_rejections_total{{gateway="{gateways[MOST]}"' not in plant.told()
    rest = {group: snapshot for group, snapshot in large.snapshots.items() if group != gateways[0]}
    plant.take(msgspec.structs.replace(large, snapshots=rest))
    plant.engine._told(refused(Envoy(gateways[MOST], "edge")))
    told = plant.told()
    assert f'legation_rejections_total{{gateway="{gateways[0]}"' not in told
    assert f'legation_rejections_total{{gateway="{gateways[MOST]}",type="Listener"}} 1.0' in told


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("listener: cannot bind '0.0.0.0:80': Permission denied", "port_not_permitted"),
        ("cannot bind '127.0.0.1:80': Address already in use", "port_in_use"),
        ("cannot bind '198.18.0.9:80': Cannot assign requested address", "address_not_here"),
        ("Failed to load certificate chain from <inline>", "certificate"),
        ("Didn't find a registered implementation for name: 'x'", "unknown_extension"),
        ("route: unknown cluster 'shop/pay:80'", "unknown_reference"),
        ("error adding listener: has duplicate address '0.0.0.0:80'", "duplicate"),
        ("missing ]: regex", "regex"),
        ("Proto constraint validation failed (Cluster.Name: value is too short)", "invalid_value"),
        ("something that nobody has seen before", "other"),
    ],
)  # fmt: skip
def test_what_envoys_say_falls_into_few_classes(words: str, meant: str) -> None:
    assert reason(words) == meant
    assert meant in REASONS
    assert f"`{meant}`" in PAGE.read_text()
