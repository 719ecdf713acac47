"""From a change to what Envoys and objects are given: only what differs, and never a half."""

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from string import Template

import pytest
from msgspec import structs

from legation.change import Put, Stated
from legation.deliveries import Heard
from legation.files import watch
from legation.folder import Folder, read
from legation.publish import Offers, Publisher
from legation.pump import Pump, the_time
from legation.quarantined import Elsewhere
from legation.workbench import Change, Outcome, Workbench
from tests.legation.manifest_texts import LEGATION_CLASS, gateway, route, service, together
from tests.looking import SOON
from tests.pki import Authority
from translator.names import Name, Ref
from translator.objects.gateway import Gateway
from translator.rules.certificates import NOW
from translator.rules.gateways import CONTROLLER, ours
from translator.world import World
from xds_server.hub import Hub
from xds_server.report import Envoy
from xds_server.snapshot import CDS, EDS, LDS, RDS

EDGE = Ref("Gateway", Name("infra", "edge"))
CLASS = Ref("GatewayClass", Name("", "legation"))
GROUP = "infra/edge"
TRUST = Template("""\
apiVersion: gateway.networking.k8s.io/v1
kind: BackendTLSPolicy
metadata: {name: store, namespace: shop}
spec:
  targetRefs: [{group: "", kind: Service, name: store}]
  validation:
    hostname: store.internal
    caCertificateRefs: [{group: "", kind: ConfigMap, name: roots}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: roots, namespace: shop}
data: {ca.crt: $pem}
""")
SHOP = together(LEGATION_CLASS, gateway("edge", 80), service("store", 8080), route("store", "store"))


class Manifests:
    """A file that is edited."""

    def __init__(self) -> None:
        self._folder = Folder()

    def now(self, text: str) -> tuple[Put, ...]:
        """What changes when the file says this."""
        self._folder.take("a.yaml", read(text, "a.yaml"))
        return self._folder.changes()


def programmed(outcome: Outcome, ref: Ref = EDGE) -> tuple[str, str, str]:
    conditions = json.loads(outcome.statuses[ref])["conditions"]
    [found] = [each for each in conditions if each["type"] == "Programmed"]
    return found["status"], found["reason"], found["lastTransitionTime"]


def test_a_change_of_endpoints_keeps_every_other_entry_as_it_was() -> None:
    workbench, manifests = Workbench(), Manifests()
    before = workbench.work(manifests.now(SHOP)).snapshots[GROUP]
    after = workbench.work(manifests.now(SHOP.replace("8080", "8081"))).snapshots[GROUP]
    for type_url in (CDS, LDS, RDS):
        assert after.entries[type_url] is before.entries[type_url]
    [(name, entry)] = after.entries[EDS].items()
    assert entry.version != before.entries[EDS][name].version


def test_a_change_of_one_gateway_leaves_the_snapshot_of_another() -> None:
    workbench, manifests = Workbench(), Manifests()
    first = workbench.work(manifests.now(together(SHOP, gateway("inner", 90)))).snapshots
    second = workbench.work(manifests.now(together(SHOP, gateway("inner", 91)))).snapshots
    assert second[GROUP] is first[GROUP]
    assert second["infra/inner"] is not first["infra/inner"]


def test_the_same_world_gives_the_same_versions_to_a_process_that_starts_anew() -> None:
    first, second = (Workbench().work(Manifests().now(SHOP)).snapshots[GROUP] for _ in range(2))
    for type_url in (CDS, EDS, LDS, RDS):
        assert {name: entry.version for name, entry in first.entries[type_url].items()} == {
            name: entry.version for name, entry in second.entries[type_url].items()
        }


def test_a_new_generation_is_observed_even_where_nothing_else_is_to_be_said() -> None:
    workbench, manifests = Workbench(), Manifests()
    before = workbench.work(manifests.now(SHOP)).statuses
    described = SHOP.replace(
        f"controllerName: {CONTROLLER}", f"controllerName: {CONTROLLER}, description: ours"
    )
    assert described != SHOP
    after = workbench.work(manifests.now(described)).statuses
    [old], [new] = (json.loads(each[CLASS])["conditions"] for each in (before, after))
    assert (old["observedGeneration"], new["observedGeneration"]) == (1, 2)
    assert old["lastTransitionTime"] == new["lastTransitionTime"]
    assert after[EDGE] is before[EDGE]


def test_an_outcome_names_whose_status_is_new_and_nobody_else() -> None:
    workbench, manifests = Workbench(), Manifests()
    shop = together(SHOP, route("other", "store"))
    store, other = (Ref("HTTPRoute", Name("shop", each)) for each in ("store", "other"))
    first = workbench.work(manifests.now(shop))
    assert first.news == first.statuses.keys()
    assert workbench.work(manifests.now(shop.replace("8080", "8081"))).news == frozenset()
    assert workbench.work(manifests.now(SHOP)).news == {other, EDGE}, "the Gateway counts its routes"
    last = workbench.work(manifests.now(SHOP.replace("name: store, port", "name: nobody, port")))
    assert last.news == {store}


def test_a_gateway_is_programmed_only_once_its_envoys_say_so() -> None:
    workbench, manifests = Workbench(), Manifests()
    assert programmed(workbench.work(manifests.now(SHOP)))[:2] == ("False", "Pending")
    outcome = workbench.work([Heard(EDGE.name, acknowledged=True)])
    assert programmed(outcome)[:2] == ("True", "Programmed")
    assert programmed(workbench.work([Heard(EDGE.name)]))[:2] == ("False", "Pending")


def test_what_envoys_took_says_nothing_of_listeners_that_are_new() -> None:
    workbench, manifests = Workbench(), Manifests()
    workbench.work(manifests.now(SHOP))
    workbench.work([Heard(EDGE.name, acknowledged=True)])
    elsewhere = together(LEGATION_CLASS, gateway("edge", 81), service("store", 8080), route("store", "store"))
    assert programmed(workbench.work(manifests.now(elsewhere)))[:2] == ("False", "Pending")
    workbench.work([Heard(EDGE.name, acknowledged=True)])
    rerouted = together(LEGATION_CLASS, gateway("edge", 81), service("store", 9090), route("store", "store"))
    assert programmed(workbench.work(manifests.now(rerouted)))[0] == "True", "no listener is another"


def test_a_status_that_was_written_makes_nothing_anew() -> None:
    workbench, manifests = Workbench(), Manifests()
    before = workbench.work(manifests.now(SHOP))
    found = workbench.world.must(Gateway, EDGE.name)
    ran = sum(workbench.world.memory.runs.values())
    after = workbench.work([Put(Gateway, EDGE.name, structs.replace(found, status=before.statuses[EDGE]))])
    assert sum(workbench.world.memory.runs.values()) == ran
    assert after.snapshots[GROUP] is before.snapshots[GROUP]


def test_a_time_that_passes_moves_no_transition() -> None:
    workbench, manifests = Workbench(), Manifests()
    first = workbench.work(manifests.now(SHOP))
    second = workbench.work([the_time()])
    assert second.statuses == first.statuses


def test_what_others_wrote_into_a_status_that_a_manifest_brings_along_stays() -> None:
    theirs = '{"controllerName": "example.net/other", "parentRef": {"name": "edge"}, "conditions": []}'
    text = SHOP + f"status: {{parents: [{theirs}]}}\n"
    store = Ref("HTTPRoute", Name("shop", "store"))
    parents = json.loads(Workbench().work(Manifests().now(text)).statuses[store])["parents"]
    assert [each["controllerName"] for each in parents] == ["example.net/other", CONTROLLER]


def test_what_envoys_say_of_a_gateway_that_is_gone_does_no_harm() -> None:
    workbench, manifests = Workbench(), Manifests()
    workbench.work(manifests.now(SHOP))
    outcome = workbench.work([*manifests.now(LEGATION_CLASS), Heard(EDGE.name, acknowledged=True)])
    assert outcome.snapshots == {}
    assert EDGE not in outcome.statuses
    assert programmed(workbench.work(manifests.now(SHOP)))[:2] == ("False", "Pending")


async def test_only_what_differs_is_offered_and_a_gateway_that_is_gone_is_silent() -> None:
    workbench, manifests, hub = Workbench(), Manifests(), Hub(lambda _: None)
    offers = Offers(hub)
    first = workbench.work(manifests.now(SHOP)).snapshots
    await offers.offer(first)
    assert hub.snapshot(GROUP) is first[GROUP]
    await offers.offer(workbench.work(manifests.now(LEGATION_CLASS)).snapshots)
    assert hub.snapshot(GROUP) is None


async def test_others_have_their_turn_between_two_gateways_that_are_offered_to() -> None:
    hub, seen = Hub(lambda _: None), list[set[str]]()
    gateways = (gateway(name, 80) for name in ("edge", "inner"))
    snapshots = Workbench().work(Manifests().now(together(LEGATION_CLASS, *gateways))).snapshots

    def wake() -> None:
        asyncio.get_running_loop().call_soon(lambda: seen.append(set(hub.offered())))

    for group in snapshots:
        hub.join(Envoy(group, "envoy-1"), "memory", whole=False, wake=wake)
    await Offers(hub).offer(snapshots)
    first, second = snapshots
    assert seen == [{first}, {first, second}]


def test_a_publisher_forgets_a_type_that_has_no_resources_any_more() -> None:
    publisher, workbench, manifests = Publisher(), Workbench(), Manifests()
    workbench.work(manifests.now(SHOP))
    before = workbench._translator.translate().gateways
    assert publisher.snapshots(before)[GROUP].entries[EDS]
    workbench.work(manifests.now(together(LEGATION_CLASS, gateway("edge", 80))))
    after = workbench._translator.translate().gateways
    assert not publisher.snapshots(after)[GROUP].entries[EDS]


@asynccontextmanager
async def pumping(folder: Path, hub: Hub) -> AsyncIterator[asyncio.Queue[Outcome]]:
    """Serve a folder to a hub, as `legation up` does."""
    outcomes: asyncio.Queue[Outcome] = asyncio.Queue()
    offers = Offers(hub)
    pump = Pump(Workbench(), (lambda outcome: offers.offer(outcome.snapshots), outcomes.put_nowait))

    async def follow() -> None:
        async with aclosing(watch(folder)) as updates:
            async for update in updates:
                pump.put(update.changes)

    async with asyncio.timeout(SOON), asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(pump.run()), tasks.create_task(follow())]
        yield outcomes
        for task in running:
            task.cancel()


@pytest.mark.parametrize("edits", [5])
async def test_an_edit_reaches_the_hub_within_moments(tmp_path: Path, edits: int) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(SHOP)
    hub = Hub(lambda _: None)
    took = []
    async with pumping(tmp_path, hub) as outcomes:
        await outcomes.get()
        for number in range(edits):
            before = hub.snapshot(GROUP)
            path.write_text(SHOP.replace("8080", str(9000 + number)))
            begun = time.perf_counter()
            while hub.snapshot(GROUP) is before:
                await outcomes.get()
            took.append(time.perf_counter() - begun)
    milliseconds = sorted(round(each * 1000) for each in took)
    print(f"from the last write to the hub: {milliseconds} ms")  # noqa: T201  # what 100 ms are promised for
    assert milliseconds[0] < 5000, "a machine that does much else may be slow, but not always this slow"


async def pumped(changes: Sequence[Change]) -> list[Outcome]:
    """Put each change by itself, before anything runs, and see what comes first."""
    outcomes: list[Outcome] = []
    done = asyncio.Event()
    pump = Pump(Workbench(), (outcomes.append, lambda _: done.set()))
    for change in changes:
        pump.put([change])
    running = asyncio.ensure_future(pump.run())
    await asyncio.wait_for(done.wait(), SOON)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    return outcomes


async def test_changes_that_come_together_are_translated_together() -> None:
    outcomes = await pumped(Manifests().now(SHOP))
    assert len(outcomes) == 1
    assert outcomes[0].snapshots[GROUP].entries[EDS]


async def test_neither_time_nor_other_replicas_begin_a_world() -> None:
    taken = asyncio.Queue[Outcome]()
    pump = Pump(Workbench(), (taken.put_nowait,))
    async with asyncio.timeout(SOON), asyncio.TaskGroup() as tasks:
        running = tasks.create_task(pump.run())
        pump.put([the_time()])
        pump.put([Elsewhere(())])
        await pump.ask(ours)  # whoever runs has had a turn
        pump.put(Manifests().now(SHOP))
        assert (await taken.get()).snapshots.keys() == {GROUP}
        pump.put([the_time()])
        await taken.get()
        running.cancel()


async def test_whoever_asks_is_answered_by_whole_batches() -> None:
    manifests, taken = Manifests(), asyncio.Queue[Outcome]()
    pump = Pump(Workbench(), (taken.put_nowait,))
    async with asyncio.timeout(SOON), asyncio.TaskGroup() as tasks:
        running = tasks.create_task(pump.run())
        for gateways in (("edge",), ("edge", "inner"), ("outer",), ()):
            pump.put(manifests.now(together(LEGATION_CLASS, *(gateway(each, 80) for each in gateways))))
            await taken.get()
            assert {each.name for each in await pump.ask(ours)} == set(gateways)
        running.cancel()


async def test_others_have_their_turn_between_those_who_take_an_outcome() -> None:
    turns, done = list[str](), asyncio.Event()

    def first(_: Outcome) -> None:
        turns.append("first")
        asyncio.get_running_loop().call_soon(turns.append, "somebody else")

    def second(_: Outcome) -> None:
        turns.append("second")
        done.set()

    pump = Pump(Workbench(), (first, second))
    running = asyncio.create_task(pump.run())
    pump.put([])
    await asyncio.wait_for(done.wait(), SOON)
    running.cancel()
    assert turns == ["first", "somebody else", "second"]


async def test_whoever_asks_and_leaves_keeps_others_waiting_until_the_question_ends() -> None:
    entered, may_end = threading.Event(), threading.Event()
    pump = Pump(Workbench(), ())

    def ponder(_: World) -> str:
        entered.set()
        may_end.wait(SOON)
        return "pondered"

    first = asyncio.create_task(pump.ask(ponder))
    await asyncio.to_thread(entered.wait, SOON)
    second = asyncio.create_task(pump.ask(lambda _: may_end.is_set()))
    first.cancel()
    done, _ = await asyncio.wait((first, second), timeout=0.2)
    assert not done
    may_end.set()
    assert await second
    with pytest.raises(asyncio.CancelledError):
        await first


async def test_what_was_issued_since_the_last_look_at_the_clock_is_valid_already() -> None:
    now = datetime.now(UTC)
    trust = TRUST.substitute(pem=json.dumps(Authority("new", not_before=now - timedelta(minutes=1)).pem))
    changes = Manifests().now(together(SHOP, trust))
    [outcome] = await pumped([Stated(NOW, now - timedelta(hours=1)), *changes])
    [ancestor] = json.loads(outcome.statuses[Ref("BackendTLSPolicy", Name("shop", "store"))])["ancestors"]
    told = {each["type"]: each["status"] for each in ancestor["conditions"]}
    assert told == {"Accepted": "True", "ResolvedRefs": "True"}


SAYS_PROGRAMMED = """\
status:
  conditions:
  - type: Programmed
    status: "True"
    reason: Programmed
    observedGeneration: 1
    lastTransitionTime: "2026-01-01T00:00:00Z"
"""


def test_beside_other_replicas_what_a_gateway_says_of_its_envoys_is_believed_until_one_answers_here() -> None:
    workbench = Workbench(keeps_what_is_written=True)
    said = together(LEGATION_CLASS, gateway("edge", 80) + SAYS_PROGRAMMED)
    assert programmed(workbench.work(Manifests().now(said))) == ("True", "Programmed", "2026-01-01T00:00:00Z")
    gone = workbench.work([Heard(EDGE.name, present=False)])
    assert programmed(gone)[0] == "True"
    waiting = workbench.work([Heard(EDGE.name, acknowledged=False)])
    assert programmed(waiting)[:2] == ("False", "Pending")


def test_what_a_gateway_said_before_it_was_changed_is_not_believed_of_what_it_is_now() -> None:
    said = together(LEGATION_CLASS, gateway("edge", 80) + SAYS_PROGRAMMED)
    changed = said.replace("namespace: infra}", "namespace: infra, generation: 2}")
    assert changed != said
    outcome = Workbench(keeps_what_is_written=True).work(Manifests().now(changed))
    assert programmed(outcome)[:2] == ("False", "Pending")


def test_without_other_replicas_a_gateway_waits_for_its_envoys_whatever_it_says() -> None:
    said = together(LEGATION_CLASS, gateway("edge", 80) + SAYS_PROGRAMMED)
    assert programmed(Workbench().work(Manifests().now(said)))[:2] == ("False", "Pending")
