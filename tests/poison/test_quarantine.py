"""What only an Envoy refuses harms its author alone: it is found, named, held back, and tried again."""

import re
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw, structs

from legation.addresses import HostPort
from legation.bootstrap import Start, as_fields, bootstrap
from legation.change import Put
from legation.quarantine import Quarantine
from legation.standing import Overview
from legation.workbench import Batch, Outcome, Workbench
from tests.legation.manifest_texts import LEGATION_CLASS, gateway, route, service, together
from tests.legation.running import Legation, free_port, legation_up
from tests.loopback import LOOPBACK, ask, http_backend
from tests.poison.pems import Writing, stock, things
from tests.poison.tenants import world_of
from tests.poison.test_limits import matching
from tests.poison.test_limits import route as evil_route
from tests.real_envoy import running_envoy, until
from translator.names import Name, Ref
from translator.objects.http_route import HTTPRoute
from translator.objects.kinds import KINDS, Object, name_of
from translator.rules.held_back import HeldBack
from xds_server.report import Accepted, Envoy, Rejected
from xds_server.snapshot import LDS, RDS, SDS, Entry

POISON = b"/poison"
TABLE = "infra/shared:80"
CERTIFICATE, OTHER_CERTIFICATE = "certificate/evil/edge0", "certificate/evil/edge1"
MOST_ANSWERS = 100
COSTLY = "/[a-z]{40}"  # ours let pass what has no more than 100 steps; this Envoy, no more than 20
SPARING = {"re2.max_program_size.error_level": 20, "re2.max_program_size.warn_level": 20}


class Table:
    """A workbench with its quarantine, and an Envoy that takes no table with a certain path in it."""

    def __init__(self, *more: Object, may_have_others: bool = False) -> None:
        self.workbench = Workbench(asks_envoys=False)
        self.waiting: list[Batch] = []
        self.quarantine = Quarantine(self.waiting.append, may_have_others=may_have_others)
        self.takes: Callable[[bytes], bool] = lambda body: POISON not in body
        self.words = "no such path"
        self.is_slow = False  # it answers only what is offered last
        self.refused = 0
        self.taken: list[bytes] = []
        self.held = b""
        self._last: str | None = None
        self._refused: set[str] = set()
        world = world_of()
        there = [put(world.must(i.type, n)) for i in KINDS for n in world.names(i.type)]
        self.waiting.append([*there, *map(put, more)])
        self.settle()

    def settle(self) -> None:
        """Work, offer and answer until nothing is left to be done."""
        for _ in range(MOST_ANSWERS):
            if not self.waiting:
                break
            self.outcome = self.workbench.work(self.waiting.pop(0))
            self.quarantine.take(self.outcome)
            self.counted = len(self.outcome.held_back)
            entry = self.outcome.snapshots["infra/shared"].entries[RDS][TABLE]
            if not self.is_slow or not self.waiting:
                self._answer(entry)
        assert not self.waiting

    def _answer(self, entry: Entry) -> None:
        """Answer as an Envoy does that is offered nothing that it has, or has refused."""
        if entry.version in self._refused or entry.version == self._last:
            return
        one, versions = Envoy("infra/shared", "envoy-1"), {TABLE: entry.version}
        if self.takes(entry.resource.body):
            self._last, self.held = entry.version, entry.resource.body
            self.taken.append(self.held)
            self._refused.clear()
            self.quarantine.note(Accepted(one, RDS, versions))
        else:
            self._refused.add(entry.version)
            self.refused += 1
            self.quarantine.note(Rejected(one, RDS, versions, self.words, isolated=True))

    def status(self, name: str) -> bytes:
        """Return what a route says, without when."""
        written = self.outcome.statuses[Ref("HTTPRoute", Name("evil", name))]
        return re.sub(rb"[0-9T:-]{19}Z", b"2026-01-01T00:00:00Z", written)

    def change(self, *routes: Object) -> None:
        self.waiting.append([put(each) for each in routes])
        self.settle()

    def held_back(self) -> set[str]:
        return {name.name for name in self.workbench.world.names(HeldBack)}

    def hear(self, other: "Table") -> None:
        self.quarantine.hear(tuple(other.quarantine.told().values()), everybody=True)
        self.settle()


def put(thing: Object) -> Put:
    return Put(type(thing), name_of(thing), thing)


def saying(name: str, path: str, generation: int = 1) -> Object:
    made = evil_route(name, 0, [matching([{"path": {"value": path}}])], f"{name}.example")
    return structs.replace(made, metadata=structs.replace(made.metadata, generation=generation))


@settings(max_examples=25)
@given(st.sets(st.integers(0, 8)))
def test_of_many_changes_at_once_exactly_the_culprits_are_held_back(culprits: set[int]) -> None:
    table = Table()
    table.change(*(saying(f"r{n}", f"/old-{n}/", 1) for n in range(9)))
    table.change(*(saying(f"r{n}", "/poison" if n in culprits else f"/new-{n}/", 2) for n in range(9)))
    assert table.held_back() == {f"r{n}" for n in culprits}
    assert table.counted == len(culprits)
    for n in range(9):
        assert (f"/old-{n}".encode() in table.held) == (n in culprits)
        assert (f"/new-{n}".encode() in table.held) == (n not in culprits)


def test_a_route_that_was_never_good_is_left_out_until_it_changes() -> None:
    table = Table()
    table.change(saying("bad", "/poison", 1))
    assert table.held_back() == {"bad"}
    table.change(saying("good", "/good", 1))
    assert (b"/good" in table.held, POISON in table.held) == (True, False)
    table.change(saying("bad", "/repaired", 2))
    assert (table.held_back(), b"/repaired" in table.held) == (set(), True)


def test_what_was_good_last_stays_however_often_the_author_tries() -> None:
    table = Table()
    table.change(saying("a", "/first", 1))
    for generation in (2, 3, 4):
        table.change(saying("a", f"/poison-{generation}", generation))
        assert (table.held_back(), b"/first" in table.held) == ({"a"}, True)
    table.waiting.append([Put(HTTPRoute, Name("evil", "a"), None)])
    table.settle()
    assert (table.held_back(), b"/first" in table.held) == (set(), False)


def test_a_route_that_was_bad_twice_before_an_envoy_answered_keeps_no_other_from_changing() -> None:
    table = Table()
    table.waiting.append([put(saying("a", "/poison", 1))])
    table.waiting.append([put(saying("a", "/poisonous", 2))])
    table.is_slow = True
    table.settle()
    table.change(saying("b", "/good"))
    assert (table.held_back(), b"/good" in table.held) == ({"a"}, True)


def test_who_was_suspected_for_another_is_served_again() -> None:
    table = Table()
    table.words = "no such path '/innocent'"
    table.change(saying("innocent", "/innocent"), saying("guilty", "/poison"))
    assert (table.held_back(), b"/innocent" in table.held) == ({"guilty"}, True)


def test_what_one_replica_holds_back_another_holds_back_until_it_changes() -> None:
    here, there = Table(), Table()
    there.takes = lambda _: True
    for table in (here, there):
        table.change(saying("a", "/first", 1))
        table.change(saying("a", "/poison", 2))
    assert (here.held_back(), there.held_back()) == ({"a"}, set())
    there.hear(here)
    assert (there.held_back(), there.counted, there.held) == ({"a"}, 1, here.held)
    assert there.status("a") == here.status("a")
    here.hear(there)
    there.change(saying("a", "/repaired", 3))
    assert (there.held_back(), b"/repaired" in there.held) == (set(), True)
    there.hear(here)
    assert there.held_back() == set(), "what is told is of another version"


def test_what_is_told_before_its_version_is_known_holds_once_it_is() -> None:
    here, there = Table(), Table()
    for table in (here, there):
        table.change(saying("a", "/first", 1))
    here.change(saying("a", "/poison", 2))
    there.takes = lambda _: True
    there.hear(here)
    assert there.held_back() == set()
    there.change(saying("a", "/poison", 2))
    assert (there.held_back(), there.held) == ({"a"}, here.held)


def test_a_process_that_begins_anew_hears_what_a_route_said_before() -> None:
    old = Table()
    old.change(saying("a", "/first", 1))
    old.change(saying("a", "/poison", 2))
    new = Table(saying("a", "/poison", 2), may_have_others=True)
    assert (new.held_back(), new.refused) == (set(), 1), "others may know more, and Envoy has what it had"
    new.hear(old)
    assert (new.held_back(), b"/first" in new.held) == ({"a"}, True)
    last = Table(saying("a", "/poison", 2), may_have_others=True)
    last.hear(new)
    assert b"/first" in last.held, "it is handed on"


def test_a_process_that_begins_anew_and_alone_suspects_first_who_was_refused_before() -> None:
    status = Table(saying("bad", "/poison", 2)).status("bad")
    bad = structs.replace(saying("bad", "/poison", 2), status=Raw(status))
    good = [saying(f"good{n}", f"/good{n}/") for n in range(5)]
    new = Table(bad, *good)
    assert (new.held_back(), new.refused, POISON in new.held) == ({"bad"}, 1, False)
    assert b"nothing of it is served" in new.status("bad"), "nobody knows what it said before"
    assert all(f"/good{n}".encode() in body for body in new.taken for n in range(5))


def shown(workbench: Workbench, batch: Batch) -> tuple[Outcome, Mapping[str, Entry]]:
    """Work, and return what is shown to clients of the shared Gateway."""
    outcome = workbench.work(batch)
    return outcome, outcome.snapshots["infra/shared"].entries[SDS]


@pytest.mark.parametrize("taken_by", [None, "infra/shared", "infra/other"])
def test_a_certificate_that_no_envoy_ever_took_closes_only_its_own_listeners(taken_by: str | None) -> None:
    good = Writing(b"", stock().good.pem.encode(), stock().secrets[0])
    tenant = [put(each) for each in things([good, good])]
    workbench, waiting = Workbench(asks_envoys=False), list[Batch]()
    quarantine, world, one = Quarantine(waiting.append), world_of(), Envoy("infra/shared", "envoy-1")
    outcome, secrets = shown(
        workbench, [*(put(world.must(i.type, n)) for i in KINDS for n in world.names(i.type)), *tenant]
    )
    quarantine.take(outcome)
    versions = {CERTIFICATE: secrets[CERTIFICATE].version}
    if taken_by:
        quarantine.note(Accepted(Envoy(taken_by, "envoy-2"), SDS, versions))
    quarantine.note(Rejected(one, SDS, {CERTIFICATE: "of old"}, "not this one", isolated=True))
    quarantine.note(Rejected(one, SDS, versions, "Failed to load certificate chain", isolated=True))
    if taken_by:  # the last good version is sent again, or it is one Envoy's own trouble
        assert waiting == []
        return
    [batch] = waiting
    outcome, secrets = shown(workbench, batch)
    assert (len(outcome.held_back), CERTIFICATE in secrets, OTHER_CERTIFICATE in secrets) == (1, False, True)
    listener = outcome.snapshots["infra/shared"].entries[LDS]["infra/shared:443"].resource
    assert listener.secrets == ("certificate/evil/edge1", "certificate/infra/edge")
    status = outcome.statuses[Ref("ListenerSet", Name("evil", "showing"))]
    assert b"Secret evil/edge0 is refused by an Envoy (Failed to load certificate chain)" in status
    outcome, secrets = shown(workbench, tenant)
    assert (len(outcome.held_back), CERTIFICATE in secrets) == (0, True)


async def test_an_envoy_that_refuses_one_tenants_pattern_goes_on_taking_all_others_changes(
    tmp_path: Path,
) -> None:
    port, xds = free_port(), free_port()
    evil = route("evil", "store", host="evil.example")
    match = f"{{path: {{type: RegularExpression, value: '{COSTLY}'}}}}"
    bad = evil.replace("- backendRefs", f"- matches: [{match}]\n    backendRefs")
    async with AsyncExitStack() as stack:
        backend = await stack.enter_async_context(http_backend("store"))
        base = together(LEGATION_CLASS, gateway("edge", port), service("store", backend.port))
        (tmp_path / "a.yaml").write_text(base)
        (tmp_path / "evil.yaml").write_text(evil)
        (tmp_path / "quiet.yaml").write_text(route("quiet", "store", host="quiet.example"))
        legation = await stack.enter_async_context(
            legation_up(tmp_path, "--no-envoy", "--xds", f"{LOOPBACK}:{xds}")
        )
        await legation.logged("xDS port")
        await stack.enter_async_context(running_envoy(sparing(start(xds))))
        await answers(port, "evil.example")
        await answers(port, "quiet.example")
        (tmp_path / "evil.yaml").write_text(bad)
        assert "evil" in (await told(legation, "PartiallyInvalid"))
        assert (await ask(port, headers={"host": "evil.example"})).body == "store"
        assert await legation.metric("legation_held_back_objects") == 1
        (tmp_path / "quiet.yaml").write_text(route("quiet", "store", host="new.example"))
        await answers(port, "new.example")
        (tmp_path / "evil.yaml").write_text(evil.replace("evil.example", "repaired.example"))
        await answers(port, "repaired.example")
        await until(lambda: healed(legation))
        assert await legation.metric("legation_held_back_objects") == 0


def start(xds: int) -> Start:
    """Say who an Envoy of the Gateway is, and where it finds its control plane."""
    return Start(Name("infra", "edge"), "edge-1", HostPort(LOOPBACK, xds), HostPort(LOOPBACK, 0))


def sparing(start: Start, runtime: Mapping[str, int] = SPARING) -> dict[str, object]:
    """Return our bootstrap for an Envoy that takes only short patterns."""
    layers = {"layers": [{"name": "sparing", "staticLayer": runtime}]}
    fields = {**as_fields(bootstrap(start)), "layeredRuntime": layers}
    return {key: value for key, value in fields.items() if key != "statsConfig"}


async def answers(port: int, host: str) -> None:
    async def does() -> bool:
        try:
            return (await ask(port, headers={"host": host})).body == "store"
        except OSError:
            return False

    await until(does)


async def told(legation: Legation, condition: str) -> str:
    found: list[str] = []

    async def says() -> bool:
        found[:] = refused(await legation.overview(), condition)
        return bool(found)

    await until(says)
    return found[0]


def refused(overview: Overview, condition: str) -> list[str]:
    return [
        each.name
        for each in overview.routes
        for about in each.by
        for said in about.conditions
        if (said.type, said.reason) == (condition, "RefusedByEnvoy") and COSTLY in said.message
    ]


async def healed(legation: Legation) -> bool:
    return not refused(await legation.overview(), "PartiallyInvalid")
