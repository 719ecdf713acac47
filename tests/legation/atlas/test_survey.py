"""What leads where: the walk that the tree, the page and the commands read."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from legation.atlas.landscape import Action, Answers, Destination, Forwards, Redirects, Shares, Way
from legation.atlas.survey import entries, hosts, survey, tables
from legation.atlas.tree import trees
from legation.offline import translated
from legation.proofs.hops import audited
from legation.publish import Publisher
from tests.golden import Case, cases, world_of
from tests.legation.manifest_texts import LEGATION_CLASS, gateway, route, service, together
from tests.legation.proofs.test_hops import EVERYTHING
from translator.envoy.proofs import Grade
from translator.names import Name, Ref
from translator.rules.gateways import ours
from translator.translate import translate
from translator.world import World

EDGE = Name("infra", "edge")
CASES = cases()


def world_with(folder: Path, text: str) -> World:
    """Read manifests, as a file."""
    (folder / "a.yaml").write_text(text)
    return translated([folder]).world


def ways(world: World, name: Name) -> Iterator[Way]:
    """Every way that a walk over a whole Gateway meets."""
    found = survey(world, name)
    yield from found.collectors
    for lane in (lane for port in found.ports for lane in port.lanes):
        yield from lane.asks
        yield from lane.action.ways if lane.action else ()
    for table in tables(world, name).values():
        for host in hosts(world, table):
            for each in entries(world, table, host.hostname):
                yield from each.asks
                yield from within(each.action)


def within(action: Action) -> Iterator[Way]:
    match action:
        case Forwards(to, _, copies):
            yield from (*to, *copies)
        case Shares(parts):
            for part in parts:
                yield from part.asks
                yield from within(part.action)
        case Redirects() | Answers():
            pass


def destinations(world: World, name: Name) -> set[Destination]:
    return {way.to for way in ways(world, name) if way.to is not None and way.percent}


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_the_walk_meets_every_backend_and_grades_it_as_what_is_served(case: Case) -> None:
    world = world_of(case)
    snapshots = Publisher().snapshots(translate(world).gateways)
    served = {(hop.gateway, hop.cluster, hop.proof.grade) for hop in audited(snapshots)}
    walked = {
        (str(name), to.cluster, to.proving.grade) for name in ours(world) for to in destinations(world, name)
    }
    assert walked == served


def test_a_backend_says_what_it_must_prove_and_who_decided_so(tmp_path: Path) -> None:
    world = world_with(tmp_path, EVERYTHING)
    found = {to.service.name: to.proving for to in destinations(world, EDGE)}
    assert {name: each.grade for name, each in found.items()} == {
        "weak": Grade.UNVERIFIED,
        "nameless": Grade.ANY_NAME,
        "plain": Grade.CLEARTEXT,
        "pinned": Grade.PINNED,
        "proved": Grade.VERIFIED,
        "wrong": Grade.REFUSED,
    }
    proved = found["proved"]
    assert (proved.server_name, proved.names) == ("pay.internal", ("pay.internal",))
    assert proved.roots == "legation/system-roots"
    assert proved.decided_by is not None
    assert proved.decided_by.ref == Ref("BackendTLSPolicy", Name("shop", "proved"))
    assert found["pinned"].pins == 2
    assert found["plain"].decided_by is None
    refusal = found["wrong"].refusal
    assert refusal is not None
    assert (refusal.reason, "example.com/roots" in refusal.message) == ("Invalid", True)


def test_what_a_gateway_forbids_is_refused_there(tmp_path: Path) -> None:
    world = world_with(tmp_path, EVERYTHING.replace("Permit}", "Forbid}"))
    grades = Counter(to.proving.grade for to in destinations(world, EDGE))
    assert grades[Grade.REFUSED] == 3
    assert Grade.UNVERIFIED not in grades
    assert Grade.ANY_NAME not in grades


def test_a_name_is_summed_up_by_its_routes_and_grades(tmp_path: Path) -> None:
    world = world_with(
        tmp_path,
        together(
            LEGATION_CLASS,
            gateway("edge", 80),
            service("store", 8080),
            route("store", "store", host="shop.test"),
            route("gone", "gone", host="gone.test"),
        ),
    )
    [table] = tables(world, EDGE).values()
    store, gone = sorted(hosts(world, table), key=lambda host: host.hostname, reverse=True)
    assert (store.hostname, store.routes, store.entries) == ("shop.test", ("HTTPRoute shop/store",), 1)
    assert store.grades == {"cleartext": 1}
    assert gone.grades == {"refused": 1}
    [entry] = entries(world, table, "shop.test")
    assert entry.route is not None
    assert (entry.route.ref, entry.rule) == (Ref("HTTPRoute", Name("shop", "store")), 0)


def test_a_port_names_its_listener_and_its_route(tmp_path: Path) -> None:
    stream = route("db", "db").replace("HTTPRoute", "TCPRoute").replace("  hostnames: [shop.example]\n", "")
    world = world_with(
        tmp_path,
        together(LEGATION_CLASS, gateway("edge", 5432, protocol="TCP"), service("db", 5432), stream),
    )
    [port] = survey(world, EDGE).ports
    assert (port.number, port.speaks) == (5432, "TCP")
    [lane] = port.lanes
    assert (lane.listener, str(lane.route)) == ("p5432", "TCPRoute shop/db")
    assert lane.action is not None
    [way] = lane.action.ways
    assert way.to is not None
    assert (way.to.endpoints, way.to.proving.grade) == (1, Grade.RELAYED)


def test_a_gateway_that_is_refused_is_drawn_without_an_address(tmp_path: Path) -> None:
    refused = gateway("edge", 80).replace(
        "  listeners:", "  addresses: [{type: Hostname, value: a.test}]\n  listeners:"
    )
    world = world_with(tmp_path, together(LEGATION_CLASS, refused))
    assert (survey(world, EDGE).addresses, survey(world, EDGE).ports) == ((), ())
    [tree] = trees(world)
    assert str(tree.label) == "Gateway infra/edge  nowhere: its status says why"
