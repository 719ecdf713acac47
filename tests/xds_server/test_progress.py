"""What is told of a change that was offered: first sent, answered by all, refused by some, by whom never."""

import pytest

from tests.xds_server.honest_envoy import GROUP
from tests.xds_server.talk import GRACE, HOLD, Server, Talk
from xds_server.messages import Response
from xds_server.progress import MOST
from xds_server.report import Accepted, Arrived, Begun, Cause
from xds_server.snapshot import CDS, LDS, Resource, Snapshot

BOTH = pytest.mark.parametrize("whole", [True, False], ids=["whole", "delta"])


class Office:
    """A server that offers numbered versions of one listener, and passes on what it sends."""

    def __init__(self) -> None:
        self.server = Server()
        self.number = 0

    def offer(self, version: str = "") -> Cause:
        """Offer another version, which is a change that is due since now."""
        self.number += 1
        cause = Cause(self.number, self.server.clock.now)
        listeners = {"a": Resource((version or f"v{self.number}").encode())}
        snapshot = Snapshot.of({LDS: listeners}, self.server.hub.snapshot(GROUP))
        self.server.hub.publish(GROUP, snapshot, cause)
        return cause

    def connect(self, *, whole: bool, node: str) -> Talk:
        """Open a stream that holds the newest already."""
        talk = self.server.connect(whole=whole, node=node)
        talk.take_all(talk.want(LDS))
        return talk

    def hear(self, talk: Talk) -> Response:
        """Have the one response that is due carried to its Envoy."""
        [response] = talk.hear()
        self.server.hub.sent(talk.seat, response, 1)
        return response

    def told(self) -> list[Begun | Arrived]:
        """What was said of changes as a whole."""
        return [report for report in self.server.reports if isinstance(report, Begun | Arrived)]


@BOTH
def test_a_change_begins_with_the_first_response_and_arrives_with_the_last_answer(*, whole: bool) -> None:
    office = Office()
    office.offer()
    one, two = (office.connect(whole=whole, node=node) for node in ("one", "two"))
    change = office.offer()
    assert office.told() == []
    assert office.server.hub.oldest() == change
    first, second = office.hear(one), office.hear(two)
    assert office.told() == [Begun(GROUP, change)]
    one.ack(first)
    assert office.told() == [Begun(GROUP, change)]
    two.ack(second)
    assert office.told() == [Begun(GROUP, change), Arrived(GROUP, change, refused=False)]
    assert office.server.hub.oldest() is None


@BOTH
def test_one_answer_is_enough_for_the_changes_that_one_response_brought_together(*, whole: bool) -> None:
    office = Office()
    office.offer()
    talk = office.connect(whole=whole, node="one")
    changes = [office.offer(), office.offer()]
    talk.ack(office.hear(talk))
    assert office.told() == [
        *(Begun(GROUP, change) for change in changes),
        *(Arrived(GROUP, change, refused=False) for change in changes),
    ]


@BOTH
def test_a_change_that_an_envoy_refused_is_told_as_refused_and_held_back(*, whole: bool) -> None:
    office = Office()
    office.offer()
    talk = office.connect(whole=whole, node="one")
    change = office.offer("bad")
    answers = talk.nack(office.hear(talk), "no")
    talk.take_all(answers)
    assert office.told() == [Begun(GROUP, change), Arrived(GROUP, change, refused=True)]
    assert +office.server.hub.held_back() == {LDS: 1}
    office.offer("good")
    talk.ack(office.hear(talk))
    assert +office.server.hub.held_back() == {}


def test_what_concerns_no_connected_envoy_is_not_waited_for() -> None:
    office = Office()
    office.offer()
    assert office.server.hub.oldest() is None
    talk = office.connect(whole=True, node="one")
    office.offer("v1")  # as it was
    assert office.server.hub.oldest() is None
    office.offer()
    talk.leave()
    assert office.server.hub.oldest() is None
    assert office.told() == []


def test_who_leaves_is_waited_for_no_more() -> None:
    office = Office()
    office.offer()
    one, two = (office.connect(whole=False, node=node) for node in ("one", "two"))
    change = office.offer()
    one.ack(office.hear(one))
    office.hear(two)
    two.leave()
    assert office.told() == [Begun(GROUP, change), Arrived(GROUP, change, refused=False)]


def test_a_gateway_that_is_gone_owes_nothing() -> None:
    office = Office()
    office.offer()
    office.connect(whole=True, node="one")
    office.offer()
    office.server.hub.withdraw(GROUP)
    assert office.server.hub.oldest() is None


def test_of_an_envoy_that_never_answers_the_oldest_change_is_kept_and_not_all_others() -> None:
    office = Office()
    office.offer()
    talk = office.connect(whole=False, node="one")
    oldest = office.offer()
    response = office.hear(talk)
    for _ in range(3 * MOST):
        office.offer()
    assert office.server.hub.oldest() == oldest
    talk.take_all(talk.ack(response))
    arrived = [each for each in office.told() if isinstance(each, Arrived)]
    assert (arrived[0].cause, len(arrived)) == (oldest, 1), "what was never carried to it has not arrived"
    assert office.server.hub.oldest() is None


def test_an_answer_says_how_long_it_took() -> None:
    office = Office()
    office.offer()
    talk = office.connect(whole=False, node="one")
    office.offer()
    response = office.hear(talk)
    office.server.clock.now += HOLD / 4
    talk.ack(response)
    [*_, accepted] = [each for each in office.server.reports if isinstance(each, Accepted)]
    assert accepted.waited == HOLD / 4


@BOTH
def test_what_is_to_be_taken_away_later_is_owed_by_nobody(*, whole: bool) -> None:
    office = Office()
    hub = office.server.hub

    def lead(*clusters: str) -> Cause:
        office.number += 1
        cause = Cause(office.number, office.server.clock.now)
        leading = Resource(str(clusters).encode(), targets=clusters)
        offered = {CDS: {name: Resource(name.encode()) for name in clusters}, LDS: {"a": leading}}
        hub.publish(GROUP, Snapshot.of(offered, hub.snapshot(GROUP)), cause)
        return cause

    lead("one")
    talk = office.server.connect(whole=whole)
    for type_url in (CDS, LDS):
        talk.take_all(talk.want(type_url))
    for name in ("two", "three", "one", "two"):  # each before the one before it may go
        change = lead(name)
        assert hub.oldest() == change
        for response in (heard := talk.hear()):
            hub.sent(talk.seat, response, 1)
            for following in talk.ack(response):
                hub.sent(talk.seat, following, 1)
                heard.append(following)
        assert hub.oldest() is None
        assert office.told()[-1] == Arrived(GROUP, change, refused=False)
        office.server.clock.now += GRACE / 2
    assert not talk.seat.stream.is_settled
    talk.take_all(talk.hear_after(GRACE))
    assert talk.seat.stream.is_settled


@BOTH
def test_what_is_to_be_taken_away_is_owed_until_it_waits_for_that_and_again_if_it_comes_back(
    *, whole: bool
) -> None:
    server = Server()
    server.publish({CDS: {"a": Resource(b"v1")}})
    talk = server.connect(whole=whole)
    talk.take_all(talk.want(CDS))
    for number, clusters in enumerate(({}, {"a": Resource(b"v2")})):
        cause = Cause(number, server.clock.now)
        snapshot = Snapshot.of({CDS: clusters}, server.hub.snapshot(GROUP))
        assert server.hub.publish(GROUP, snapshot, cause) is True
        assert server.hub.oldest() == cause
        talk.take_all(talk.hear())
        assert server.hub.oldest() is None
