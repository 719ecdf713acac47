"""Who is measured beside us must serve the same, and a difference must be found."""

import sys
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

from bench.peers.changes import CHANGES, COMING_AND_GOING, TURNS, Told
from bench.peers.found import Beside, Found, Memory, Needs, compare, keep, kept
from bench.peers.measure import built, run
from bench.peers.portrait import Dump, portrait, read, without_server_names
from bench.peers.programs import ourselves
from bench.peers.same import WHOLE, DifferentError, compared
from bench.peers.shop import PATHS, Manifest, Size, host, manifests
from bench.peers.side import Peer, running

pytestmark = pytest.mark.tree

SIZE = Size(12, 2)


class Stored(NamedTuple):
    """What tells two versions of an object apart."""

    name: str
    uid: str
    version: int
    generation: int


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Dump:
    file = tmp_path_factory.mktemp("peers") / "dump"
    with running(ourselves()) as side:
        built(side, ourselves(), SIZE)
        side.dump(file)
    return read(file)


def test_every_host_and_path_has_its_place_in_the_portrait(dump: Dump) -> None:
    found = {(place.host, place.path) for place in portrait(dump)}
    assert found == {(host(n), path) for n in range(SIZE.routes) for path in PATHS}


def test_every_second_service_is_behind_tls(dump: Dump) -> None:
    legs = {leg for each in portrait(dump).values() for leg in each.legs}
    proofs = {leg.address.rpartition(".")[0]: leg.tls for leg in legs}
    assert {leg.address.rpartition(".")[0] for leg in legs if leg.tls} == {
        f"198.18.{n}" for n in range(1, SIZE.routes, 2)
    }
    seventh = proofs["198.18.7"]
    assert seventh is not None
    assert (seventh.sni, seventh.names) == ("s7-0.internal", frozenset({"s7-0.internal"}))


def test_without_server_names_everything_else_is_still_compared(dump: Dump) -> None:
    found = without_server_names(portrait(dump))
    proofs = {leg.tls for each in found.values() for leg in each.legs if leg.tls}
    assert {proof.sni for proof in proofs} == {""}
    assert len({proof.names for proof in proofs}) == SIZE.routes // 2


def test_every_kind_of_change_shows_in_the_portrait(tmp_path: Path) -> None:
    with running(ourselves()) as side:
        built(side, ourselves(), SIZE)
        seen = []
        for kind in (None, *CHANGES.values()):
            side.tell(kind.make(1, SIZE) if kind else Told())
            side.translate()
            side.dump(tmp_path / "dump")
            seen.append(portrait(read(tmp_path / "dump")))
    assert all(after != before for before, after in pairwise(seen))


def test_each_change_is_sent_as_what_it_is_and_nothing_more() -> None:
    sent = compared([ourselves()], SIZE)[ourselves().name]
    of_its_service = {"Cluster", "ClusterLoadAssignment"}  # to which no other route of its Gateway leads
    assert {change: (set(each.resources), set(each.removed)) for change, each in sent.items()} == {
        WHOLE: ({"Cluster", "ClusterLoadAssignment", "Listener", "RouteConfiguration", "Secret"}, set()),
        "one endpoint": ({"ClusterLoadAssignment"}, set()),
        "one route": ({"RouteConfiguration"}, set()),
        "one policy": ({"Cluster"}, set()),
        "a CA of a tenth of the policies": ({"Secret"}, set()),
        "a route more": ({"RouteConfiguration", *of_its_service}, set()),
        "a route deleted": ({"RouteConfiguration"}, of_its_service),
        "a second listener": ({"Listener", "RouteConfiguration"}, set()),
        "a listener with TLS": (
            {"Listener", "RouteConfiguration", "Secret"},
            {"Listener", "RouteConfiguration"},
        ),
        "the certificate of that listener": ({"Secret"}, set()),
        "a Gateway more, with a route": ({"Listener", "RouteConfiguration", *of_its_service}, set()),
    }


def test_an_object_that_was_changed_is_the_same_one_and_newer() -> None:
    known = {each.uid: each for each in map(stored, manifests(SIZE, "any"))}
    assert all(each.version == 1 and each.generation <= 1 for each in known.values())
    for kind in CHANGES.values():
        for turn in range(1, TURNS + 1):
            for now in map(stored, kind.make(turn, SIZE).put):
                before = known.get(now.uid, Stored(now.name, now.uid, 0, 0))
                assert (now.name, now.version) > (before.name, before.version)
                assert now.version == now.generation or not now.generation
                known[now.uid] = now


def stored(manifest: Manifest) -> Stored:
    """Read what an API server adds to an object."""
    metadata = manifest["metadata"]
    assert isinstance(metadata, dict)
    version = int(metadata["resourceVersion"])
    return Stored(metadata["name"], metadata["uid"], version, metadata.get("generation", 0))


def test_what_a_peer_cannot_do_is_said_and_everything_else_is_measured(
    capsys: pytest.CaptureFixture[str],
) -> None:
    size = SIZE._replace(gateways=1)
    single = ourselves()._replace(name="single", most_gateways=1)
    sent = compared([ourselves(), single], size)
    impossible = {name for name, kind in COMING_AND_GOING.items() if not single.can(kind, size)}
    assert (
        sent[ourselves().name].keys() - sent["single"].keys()
        == impossible
        == {"a Gateway more, with a route"}
    )
    runs = {peer.name: run(peer, size) for peer in (ourselves(), single)}
    compare(size, runs, sent, 1).tell()
    [line] = [line for line in capsys.readouterr().out.splitlines() if "cannot be done" in line]
    assert line.split("  ")[2] == "a Gateway more, with a route"


def test_what_was_found_is_kept_by_size_and_the_newest_of_a_size_stays(tmp_path: Path) -> None:
    file = tmp_path / "folder" / "peers.json"
    for routes, ratio in ((1000, 0.5), (100, 2.0), (1000, 0.25)):
        beside = Beside({WHOLE: Needs(ratio, ratio)}, Memory(ratio, ratio))
        keep(Found(routes, 1, 3, {"Contour": beside}, {}), file)
    assert [(each.routes, each.beside["Contour"].needs[WHOLE].clock) for each in kept(file)] == [
        (100, 2.0),
        (1000, 0.25),
    ]


def test_a_run_measures_every_change() -> None:
    found = run(ourselves(), SIZE)
    assert [*found.changes] == [*CHANGES]
    assert found.memory.peak >= found.memory.now > 0
    assert all(each.wall > 0 for each in (found.build, *found.changes.values()))


def test_a_peer_that_serves_something_else_is_not_measured() -> None:
    deaf = Peer("deaf", "nobody.test/controller", (sys.executable, "-m", "bench.peers.ourselves"))
    with pytest.raises(DifferentError, match="deaf"):
        compared([ourselves(), deaf], SIZE)
