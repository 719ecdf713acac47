"""What replicas tell each other: complete moments, however written, and nothing that is not understood."""

import asyncio
from contextlib import aclosing

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from legation import journal
from legation.journal import LONG, Copy, Journal, News, NotUnderstoodError, messages
from legation.quarantined import Held
from legation.telling import Holding, Refused, Telling
from tests.looking import SOON
from translator.names import Name, Ref

HELD = Telling(holdings=(Holding(newest=True, listeners=(("infra/edge:80", "v1"),)),))
REFUSED = Telling(refused=(Refused("infra/edge:80", "type", "v2", "no"),))
PAY = Ref("HTTPRoute", Name("shop", "pay"))
KEPT = (Held(PAY, "before", "no such path"), Held(PAY, "after", "no such path", '{"spec": {}}'))
MOMENTS = st.dictionaries(
    st.sampled_from(["infra/edge", "infra/inner", "shop/edge"]), st.sampled_from([HELD, REFUSED])
)


def copied(*told: bytes) -> Copy:
    copy = Copy()
    for message in told:
        copy.take(message)
    return copy


@given(st.lists(MOMENTS, min_size=1))
def test_whatever_changes_a_copy_is_what_was_told_last(moments: list[dict[str, Telling]]) -> None:
    copy, before = Copy(), journal.NOTHING
    for moment in moments:
        for message in messages(before, moment):
            copy.take(message)
        assert copy.tellings == moment
        before = moment


@given(
    st.lists(st.tuples(MOMENTS, st.dictionaries(st.sampled_from("abc"), st.sampled_from(KEPT))), min_size=1)
)
def test_a_copy_holds_back_what_was_told_last(
    moments: list[tuple[dict[str, Telling], dict[str, Held]]],
) -> None:
    copy, before = Copy(), (journal.NOTHING, journal.NOBODY)
    for told, held in moments:
        for message in messages(before[0], told, "", (before[1], held)):
            copy.take(message)
        assert (copy.tellings, copy.held) == (told, held)
        before = told, held


def test_much_that_is_held_back_is_told_in_many_messages() -> None:
    kept = structs.replace(KEPT[1], before="x" * 10_000)
    held = {str(number): kept for number in range(300)}
    told = list(messages({}, {}, "", ({}, held)))
    assert len(told) > 2
    assert copied(*told).held == held


async def test_who_follows_is_told_when_only_what_is_held_back_changes() -> None:
    kept = Journal()
    async with asyncio.timeout(SOON), aclosing(kept.follow()) as following:
        copy = copied(await anext(following))
        kept.keep({}, {"a": KEPT[0]})
        copy.take(await anext(following))
        assert copy.held == {"a": KEPT[0]}


def test_only_what_changed_is_written() -> None:
    before = {"infra/edge": HELD, "infra/inner": HELD, "shop/edge": HELD}
    [message] = messages(before, {"infra/edge": HELD, "infra/inner": REFUSED})
    news = msgspec.json.decode(message, type=News)
    assert news == News("", {"infra/inner": REFUSED}, ("shop/edge",), complete=True)


def test_a_long_moment_is_many_messages_and_counts_once_it_is_complete() -> None:
    words = "x" * 10_000
    moment = {
        f"infra/{number}": Telling(refused=(Refused("a", "type", "v1", words),)) for number in range(300)
    }
    told = list(messages({}, moment))
    assert len(told) > 2
    assert max(map(len, told)) < LONG + 2 * len(words)
    assert copied(*told[:-1]).tellings is None
    assert copied(*told).tellings == moment


def test_where_nothing_is_connected_that_is_said() -> None:
    assert copied(*messages({}, {})).tellings == {}


def test_what_a_later_release_adds_is_passed_over() -> None:
    later = (
        b'{"complete": true, "mood": "good", "told": {"infra/edge": {"release": "9", "weather": 1,'
        b' "holdings": [{"newest": true, "taste": []}]}}}'
    )
    assert copied(later).tellings == {"infra/edge": Telling("9", (Holding(newest=True),))}


@pytest.mark.parametrize("told", [b"", b"\xff", b"[]", b'{"told": {"infra/edge": 7}}'])
def test_what_is_no_news_is_not_believed(told: bytes) -> None:
    with pytest.raises(NotUnderstoodError):
        copied(told)


async def test_a_slow_follower_is_told_the_newest_and_not_what_it_missed() -> None:
    kept = Journal()
    async with asyncio.timeout(SOON), aclosing(kept.follow()) as following:
        copy = copied(await anext(following))
        assert copy.tellings == {}
        kept.keep({"infra/edge": HELD})
        kept.keep({"infra/inner": HELD})
        copy.take(await anext(following))
        assert copy.tellings == {"infra/inner": HELD}
        kept.keep({"infra/inner": HELD})
        waiting = asyncio.ensure_future(anext(following))
        await asyncio.sleep(0)
        assert not waiting.done()
        kept.keep({})
        copy.take(await waiting)
        assert copy.tellings == {}
