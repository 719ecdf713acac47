"""Changes of headers that come one after the other are as good as one."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from translator.rules.headers import HeaderChanges

NAMES = st.sampled_from(("a", "A", "b", "c"))
Pairs = Sequence[tuple[str, str]]


def unique(pairs: Pairs) -> tuple[tuple[str, str], ...]:
    return tuple({name.lower(): (name, value) for name, value in pairs}.values())


pairs = st.lists(st.tuples(NAMES, st.sampled_from("123")), max_size=3).map(unique)
changes = st.builds(HeaderChanges, pairs, pairs, st.lists(NAMES, max_size=2).map(tuple))


def changed(headers: Pairs, by: HeaderChanges) -> Pairs:
    """Change headers as Envoy does: it removes, sets, then adds."""
    kept = _without(headers, by.remove)
    for name, value in by.set:
        kept = [*_without(kept, (name,)), (name, value)]
    return [*kept, *by.add]


def _without(headers: Pairs, names: Sequence[str]) -> Pairs:
    gone = {name.lower() for name in names}
    return [pair for pair in headers if pair[0].lower() not in gone]


def by_name(headers: Pairs) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in headers:
        found.setdefault(name.lower(), []).append(value)
    return found


@given(changes, changes, pairs)
def test_two_changes_are_one_that_does_the_same(
    first: HeaderChanges, later: HeaderChanges, sent: Pairs
) -> None:
    assert by_name(changed(sent, first.then(later))) == by_name(changed(changed(sent, first), later))
