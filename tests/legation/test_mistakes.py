"""A mistake of ours: the process lives, what it is about stays as it was, and is named."""

import asyncio
import json
from collections.abc import Callable
from typing import NamedTuple

import pytest

from legation import custody, notebook
from legation.change import Put
from legation.checks.findings import Told
from legation.deliveries import Heard
from legation.notebook import Notebook
from legation.publish import Publisher
from legation.pump import Pump, the_time
from legation.workbench import Batch, Outcome, Workbench
from tests.legation.manifest_texts import LEGATION_CLASS, gateway, route, together
from tests.legation.test_pump import CLASS, EDGE, GROUP, SHOP, TRUST, Manifests
from tests.pki import Authority
from translator.names import Name, Ref
from translator.objects.backend_tls_policy import BackendTLSPolicy
from translator.rules import attachment, backend_tls
from translator.translate import Translator
from translator.world import World
from xds_server.snapshot import CDS, LDS, RDS

POLICY = Ref("BackendTLSPolicy", Name("shop", "store"))
STORE, QUIET = Ref("HTTPRoute", Name("shop", "store")), Ref("HTTPRoute", Name("shop", "quiet"))
BOTH = together(SHOP, route("quiet", "store", host="quiet.example"))
CHANGED = BOTH.replace("shop.example", "new.example").replace("quiet.example", "calm.example")
ELSEWHERE = BOTH.replace("port: 80,", "port: 81,", 1)


class PlantedError(Exception):
    """What a step does that has a mistake."""


def fail(*_: object, **__: object) -> None:
    raise PlantedError


def once_after(good: int, step: Callable[..., object]) -> Callable[..., object]:
    """Do a step well a number of times, and fail then."""
    left = iter(range(good))

    def failing(*given: object) -> object:
        if next(left, None) is None:
            raise PlantedError
        return step(*given)

    return failing


class Plant(NamedTuple):
    """Where a mistake is planted: in which step, after how many times that it is done well."""

    owner: object
    name: str
    good: int = 0


EVERYWHERE = {
    "the first translation": Plant(Translator, "translate"),
    "the second translation": Plant(Translator, "translate", good=1),
    "snapshots": Plant(Publisher, "snapshots"),
    "statuses": Plant(Notebook, "keep"),
    "proxies": Plant(Workbench, "_wanted"),
    "doubts": Plant(Workbench, "_doubts"),
}


@pytest.mark.parametrize("plant", EVERYWHERE.values(), ids=EVERYWHERE.keys())
def test_a_mistake_about_everything_leaves_what_is_served_and_said_until_it_is_mended(
    plant: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    workbench, manifests = Workbench(), Manifests()
    workbench.work(manifests.now(BOTH))
    before = workbench.work([Heard(EDGE.name, acknowledged=True)])
    with monkeypatch.context() as planted:
        planted.setattr(plant.owner, plant.name, once_after(plant.good, getattr(plant.owner, plant.name)))
        during = workbench.work(manifests.now(ELSEWHERE))
    assert [type(each.bug) for each in during.broken.values()] == [PlantedError]
    assert during.snapshots[GROUP] is before.snapshots[GROUP]
    assert during.statuses == before.statuses
    after = workbench.work([the_time()])
    assert after.broken == {}
    fresh = Workbench().work(Manifests().now(ELSEWHERE))
    assert after.snapshots[GROUP].names(LDS) == fresh.snapshots[GROUP].names(LDS) == {"infra/edge:81"}
    assert EDGE in after.news, "whoever writes statuses has to hear of it"


def test_a_change_that_cannot_be_taken_in_keeps_no_other_of_its_batch_from_being_served(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    workbench, manifests = Workbench(), Manifests()
    before = workbench.work(manifests.now(BOTH))

    def about_store(found: object, *_: object) -> None:
        assert "store" not in repr(found)

    changes = manifests.now(CHANGED)
    with monkeypatch.context() as planted:
        planted.setattr(custody.Custody, "before_change", lambda _, ref, __: about_store(ref))
        during = workbench.work(changes)
    assert {what: each.about for what, each in during.broken.items()} == {f"Put {STORE}": STORE}
    table = during.snapshots[GROUP].entries[RDS]["infra/edge:80"].resource.body
    assert b"calm.example" in table
    assert b"shop.example" in table
    assert b"new.example" not in table
    assert before.broken == workbench.work(changes).broken == {}


def test_an_object_whose_relations_cannot_be_found_stays_as_it_was_and_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    workbench, manifests = Workbench(), Manifests()
    workbench.work(manifests.now(BOTH))
    index = attachment.ROUTES_BY_PARENT["HTTPRoute"]
    good = index.keys
    added = together(CHANGED, route("extra", "store", host="extra.example"))
    changes = manifests.now(added)

    def keys(thing: object) -> object:
        if "new.example" in repr(thing) or "extra" in repr(thing):
            raise PlantedError
        return good(thing)  # type: ignore[arg-type]  # what it is for

    extra = Ref("HTTPRoute", Name("shop", "extra"))
    with monkeypatch.context() as planted:
        planted.setattr(index, "keys", keys)
        during = workbench.work(changes)
        assert {each.about for each in during.broken.values()} == {STORE, extra}
        table = during.snapshots[GROUP].entries[RDS]["infra/edge:80"].resource.body
        assert b"calm.example" in table
        assert b"shop.example" in table
        assert b"extra.example" not in table
        assert workbench.work([the_time()]).broken.keys() == during.broken.keys()
        gone = [Put(each.kind, each.name, None) for each in changes if each.name == extra.name]
        assert {each.about for each in workbench.work(gone).broken.values()} == {STORE}
    after = workbench.work([each for each in changes if each.name == STORE.name])
    assert after.broken == {}
    assert b"new.example" in after.snapshots[GROUP].entries[RDS]["infra/edge:80"].resource.body


def cannot_be_related(planted: pytest.MonkeyPatch) -> None:
    planted.setattr(backend_tls.POLICIES_BY_TARGET, "keys", fail)


def cannot_be_taken_in(planted: pytest.MonkeyPatch) -> None:
    good = World.put

    def put(world: World, kind: type, name: Name, thing: object) -> None:
        if kind is BackendTLSPolicy:
            raise PlantedError
        good(world, kind, name, thing)

    planted.setattr(World, "put", put)


@pytest.mark.parametrize("plant", [cannot_be_related, cannot_be_taken_in])
@pytest.mark.parametrize("served_before", [False, True])
def test_no_backend_is_reached_in_cleartext_for_a_policy_that_a_mistake_keeps_out(
    plant: Callable[[pytest.MonkeyPatch], None], *, served_before: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    workbench, manifests = Workbench(), Manifests()
    if served_before:
        assert workbench.work(manifests.now(SHOP)).snapshots[GROUP].names(CDS) >= {"shop/store:80"}
    told = together(SHOP, TRUST.substitute(pem=json.dumps(Authority("root").pem)))
    changes = manifests.now(told)
    with monkeypatch.context() as planted:
        plant(planted)
        during = workbench.work(changes)
    assert {each.about for each in during.broken.values()} == {POLICY}
    assert not [name for name in during.snapshots[GROUP].names(CDS) if name.startswith("shop/")]
    assert b"could not be taken up, so it is not served" in during.statuses[STORE]
    after = workbench.work(changes)
    assert after.broken == {}
    assert [name for name in after.snapshots[GROUP].names(CDS) if name.startswith("shop/")] == [
        "shop/store:80+store"
    ]


def test_a_status_that_cannot_be_written_keeps_no_other_from_being_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    workbench, manifests = Workbench(), Manifests()
    good = notebook._merged

    def merged(existing: bytes, status: object, moment: object) -> bytes:
        if b"PartiallyInvalid" in repr(status).encode() or "quiet" in repr(status):
            raise PlantedError
        return good(existing, status, moment)  # type: ignore[arg-type]  # what it is given

    quiet = BOTH.replace("name: store, port: 80}]\n", "name: quiet, port: 80}]\n", 1)
    assert quiet != BOTH
    with monkeypatch.context() as planted:
        planted.setattr(notebook, "_merged", merged)
        during = workbench.work(manifests.now(quiet))
        assert {each.about for each in during.broken.values()} == {STORE}
        assert {CLASS, EDGE, QUIET} <= during.statuses.keys()
        assert STORE not in during.statuses
    after = workbench.work([the_time()])
    assert after.broken == {}
    assert after.news == {STORE}
    with monkeypatch.context() as planted:
        planted.setattr(notebook, "_merged", merged)
        workbench.work(manifests.now(BOTH))
        assert workbench.work(manifests.now(quiet)).broken
        assert workbench.work(manifests.now(together(LEGATION_CLASS, gateway("edge", 80)))).broken == {}


def test_findings_that_cannot_be_read_keep_nobody_from_being_served(monkeypatch: pytest.MonkeyPatch) -> None:
    workbench, manifests = Workbench(), Manifests()
    with monkeypatch.context() as planted:
        planted.setattr(Told, "take", fail)
        during = workbench.work(manifests.now(BOTH))
    assert list(during.broken) == ["the findings"]
    assert during.snapshots[GROUP].entries[RDS]


async def taken(batches: list[Batch], fails: Callable[[Outcome], None]) -> list[Outcome]:
    """Have a taker fail that comes before another, and return what the other took."""
    outcomes: asyncio.Queue[Outcome] = asyncio.Queue()
    pump_ = Pump(Workbench(), (fails, outcomes.put_nowait))
    found = []
    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        running = tasks.create_task(pump_.run())
        for each in batches:
            pump_.put(each)
            found.append(await outcomes.get())
            while not outcomes.empty():
                found.append(outcomes.get_nowait())
        running.cancel()
    return found


async def test_who_cannot_take_an_outcome_keeps_nobody_else_from_it_and_is_told_its_news_again() -> None:
    left = iter((True, False))
    heard: list[frozenset[Ref]] = []

    def failing(outcome: Outcome) -> None:
        heard.append(outcome.news)
        if next(left, False):
            raise PlantedError

    first, second, *_ = await taken([Manifests().now(BOTH), [the_time()], [the_time()]], failing)
    assert [type(each.bug) for each in first.broken.values()] == [PlantedError]
    assert first.snapshots[GROUP].entries[RDS]
    assert STORE in heard[0]
    assert heard[1] >= heard[0]
    assert second.broken == {}
    assert heard[2] == frozenset()
