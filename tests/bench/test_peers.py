"""Who is measured beside us must serve the same, and a difference must be found."""

import sys
from itertools import pairwise
from pathlib import Path

import pytest

from bench.peers.measure import built, run
from bench.peers.portrait import Dump, portrait, read, without_server_names
from bench.peers.programs import ourselves
from bench.peers.same import WHOLE, DifferentError, compared
from bench.peers.shop import CHANGES, PATHS, Size, host
from bench.peers.side import Peer, running

pytestmark = pytest.mark.tree

SIZE = Size(12, 2)


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
        found = []
        for change in (None, *CHANGES.values()):
            side.put([change(1, SIZE)] if change else [])
            side.translate()
            side.dump(tmp_path / "dump")
            found.append(portrait(read(tmp_path / "dump")))
    assert all(after != before for before, after in pairwise(found))


def test_each_change_is_sent_as_what_it_is_and_nothing_more() -> None:
    sent = compared([ourselves()], SIZE)[ourselves().name]
    assert [*sent] == [WHOLE, *CHANGES]
    assert [set(each.resources) for each in [*sent.values()][1:]] == [
        {"ClusterLoadAssignment"},
        {"RouteConfiguration"},
        {"Cluster"},
        {"Secret"},
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
