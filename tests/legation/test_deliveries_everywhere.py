"""Envoys at several replicas, judged by what one of them offers: no status moves but by what Envoys hold."""

from collections.abc import Callable

import pytest
from msgspec import structs

from legation.deliveries import Deliveries, Heard, Refusal
from legation.journal import Copy, messages
from legation.peers import Others
from legation.telling import ARRIVES_WITHIN, MOST_HOLDINGS, Telling, tell_of
from tests.xds_server.honest_envoy import GROUP, listener
from tests.xds_server.talk import Server, Talk
from translator.names import Name
from xds_server import report
from xds_server.snapshot import CDS, EDS, LDS

EDGE = Name("shop", "edge")
HELD, PENDING, SILENT = Heard(EDGE, acknowledged=True), Heard(EDGE), Heard(EDGE, present=False)
BOTH = pytest.mark.parametrize("whole", [True, False], ids=["whole", "delta"])


class Envoy:
    """A client that takes what it is sent when it is told to."""

    def __init__(self, server: Server, node: str, *, whole: bool = False) -> None:
        self.talk: Talk = server.connect(whole=whole, node=node)
        self.talk.want(CDS)
        self.waiting = self.talk.want(LDS)

    def takes(self) -> None:
        self.waiting += self.talk.hear()
        self.talk.take_all(self.waiting)
        self.waiting = []

    def refuses(self, words: str) -> None:
        self.waiting += self.talk.hear()
        [response] = [each for each in self.waiting if each.type_url == LDS]
        self.talk.nack(response, words)
        self.waiting = []


class Replicas:
    """The one whose deliveries are asked for, and another that tells of its Envoys over the wire."""

    def __init__(self) -> None:
        self.here, self.there = Server(), Server()
        self.incomplete = False
        self.heard = True
        self.deliveries = Deliveries(self.others)
        self.told: Callable[[Telling], Telling] = lambda telling: telling

    def others(self) -> Others:
        copy = Copy()
        there = tell_of(self.there.hub, GROUP)
        for message in messages({}, {GROUP: self.told(there)} if there else {}):
            copy.take(message)
        assert copy.tellings is not None
        return Others((copy.tellings,) if self.heard else (), self.incomplete)

    def offer(self, *versions: str) -> None:
        """Offer listeners here, and there, unless only one is given."""
        for server, version in zip((self.here, self.there), versions, strict=False):
            server.publish({LDS: {"web": listener(version)}})

    def news(self) -> list[Heard]:
        return list(self.deliveries.news(self.here.hub))

    def later(self, seconds: float = ARRIVES_WITHIN + 1) -> None:
        for server in (self.here, self.there):
            server.clock.now += seconds


@pytest.fixture
def replicas() -> Replicas:
    made = Replicas()
    made.offer("v1", "v1")
    assert made.news() == [SILENT]
    return made


@BOTH
def test_a_gateway_is_programmed_once_envoys_at_every_replica_hold_its_listeners(
    replicas: Replicas, *, whole: bool
) -> None:
    here, there = Envoy(replicas.here, "a", whole=whole), Envoy(replicas.there, "b", whole=whole)
    here.takes()
    assert replicas.news() == []
    there.takes()
    assert replicas.news() == [HELD]


@BOTH
def test_a_replica_that_lags_behind_is_waited_for(replicas: Replicas, *, whole: bool) -> None:
    here, there = Envoy(replicas.here, "a", whole=whole), Envoy(replicas.there, "b", whole=whole)
    here.takes()
    there.takes()
    assert replicas.news() == [HELD]
    replicas.offer("v2")
    here.takes()
    assert replicas.news() == [PENDING]
    replicas.later()
    assert replicas.news() == []
    replicas.offer("v2", "v2")
    assert replicas.news() == []
    there.takes()
    assert replicas.news() == [HELD]


def test_one_slow_envoy_elsewhere_is_waited_for(replicas: Replicas) -> None:
    envoys = [Envoy(replicas.there, node) for node in "abc"]
    for envoy in envoys[:2]:
        envoy.takes()
    replicas.later()
    assert replicas.news() == [PENDING]
    envoys[2].takes()
    assert replicas.news() == [HELD]


def test_an_envoy_that_comes_changes_nothing_unless_it_is_slow(replicas: Replicas) -> None:
    Envoy(replicas.here, "a").takes()
    assert replicas.news() == [HELD]
    late = Envoy(replicas.there, "b")
    assert replicas.news() == []
    replicas.later()
    assert replicas.news() == [PENDING]
    late.takes()
    assert replicas.news() == [HELD]


def test_an_envoy_that_moves_to_another_replica_is_not_noticed(replicas: Replicas) -> None:
    first = Envoy(replicas.here, "a")
    first.takes()
    assert replicas.news() == [HELD]
    second = Envoy(replicas.there, "a")
    assert replicas.news() == []
    first.talk.leave()
    assert replicas.news() == []
    second.takes()
    assert replicas.news() == []


def test_what_nobody_holds_any_more_is_not_said_of_what_is_new(replicas: Replicas) -> None:
    envoy = Envoy(replicas.there, "a")
    envoy.takes()
    assert replicas.news() == [HELD]
    envoy.talk.leave()
    assert replicas.news() == [SILENT]
    replicas.offer("v2", "v2")
    assert replicas.news() == [PENDING]


def test_a_refusal_that_another_replica_hears_is_told(replicas: Replicas) -> None:
    Envoy(replicas.here, "a").takes()
    assert replicas.news() == [HELD]
    Envoy(replicas.there, "b").refuses("web: no such thing")
    assert replicas.news() == [Heard(EDGE, refusals=(Refusal("web", "no such thing"),))]


def test_a_refusal_of_what_is_not_offered_any_more_is_history(replicas: Replicas) -> None:
    envoy = Envoy(replicas.there, "b")
    envoy.refuses("web: no such thing")
    replicas.offer("v2")
    assert replicas.news() == [PENDING]
    replicas.offer("v2", "v2")
    envoy.takes()
    assert replicas.news() == [HELD]


def test_while_a_replica_is_to_be_heard_what_was_said_stands(replicas: Replicas) -> None:
    Envoy(replicas.here, "a").takes()
    replicas.incomplete = True
    assert replicas.news() == []
    replicas.incomplete = False
    assert replicas.news() == [HELD]
    replicas.incomplete = True
    assert replicas.news() == []


def test_while_a_replica_is_to_be_heard_nothing_new_is_vouched_for(replicas: Replicas) -> None:
    envoy = Envoy(replicas.here, "a")
    envoy.takes()
    assert replicas.news() == [HELD]
    replicas.incomplete = True
    replicas.offer("v2", "v2")
    envoy.takes()
    assert replicas.news() == [PENDING]
    assert replicas.news() == []
    replicas.incomplete = False
    assert replicas.news() == [HELD]


def test_a_replica_that_is_forgotten_is_waited_for_no_more(replicas: Replicas) -> None:
    here, _there = Envoy(replicas.here, "a"), Envoy(replicas.there, "b")
    here.takes()
    replicas.later()
    assert replicas.news() == [PENDING]
    replicas.heard = False
    assert replicas.news() == [HELD]


def test_another_release_makes_other_bytes_of_the_same_so_its_word_is_taken(replicas: Replicas) -> None:
    replicas.told = lambda telling: structs.replace(telling, release="another")
    replicas.offer("v2", "as another release writes it")
    envoy = Envoy(replicas.there, "b")
    assert replicas.news() == [PENDING]
    envoy.takes()
    assert replicas.news() == [HELD]
    replicas.offer("v2", "as it writes what is new")
    replicas.later()
    assert replicas.news() == [PENDING]
    envoy.refuses("web: no")
    assert replicas.news() == [Heard(EDGE, refusals=(Refusal("web", "no"),))]


def test_a_gateway_that_is_offered_nothing_any_more_is_told_once(replicas: Replicas) -> None:
    Envoy(replicas.there, "a").takes()
    assert replicas.news() == [HELD]
    replicas.here.hub.withdraw(GROUP)
    assert replicas.news() == [PENDING]
    assert replicas.news() == []


def test_what_is_told_does_not_grow_with_envoys_and_tells_first_of_those_that_lag(replicas: Replicas) -> None:
    envoys = [Envoy(replicas.there, f"a{number}") for number in range(3 * MOST_HOLDINGS)]
    for number, envoy in enumerate(envoys[:-1]):
        replicas.offer("v1", f"v{number}")
        envoy.takes()
    envoys[-1].takes()
    replicas.later()
    telling = tell_of(replicas.there.hub, GROUP)
    assert telling is not None
    assert [each.newest for each in telling.holdings] == [False] * MOST_HOLDINGS


@pytest.mark.parametrize(("type_url", "is_news"), [(LDS, True), (EDS, False)], ids=["listeners", "endpoints"])
def test_endpoints_that_come_and_go_make_nobody_ask_again(type_url: str, *, is_news: bool) -> None:
    deliveries = Deliveries()
    deliveries.note(report.Accepted(report.Envoy(GROUP, "a"), type_url, {"web": "v1"}))
    assert deliveries._news.is_set() == is_news


def test_envoys_that_hold_the_same_are_told_of_as_one(replicas: Replicas) -> None:
    for number in range(100):
        Envoy(replicas.there, f"a{number}").takes()
    telling = tell_of(replicas.there.hub, GROUP)
    assert telling is not None
    assert len(telling.holdings) == 1
