"""The one test that guards the memory: after any sequence of changes, the incremental result equals a fresh one."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.worlds import Put, puts
from translator.translate import INDEXES, Translation, Translator, translate
from translator.world import World


def fresh(changes: list[Put]) -> Translation:
    world = World(INDEXES)
    for change in changes:
        change.into(world)
    return translate(world)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.lists(puts(), min_size=1, max_size=8), min_size=1, max_size=6))
def test_any_sequence_of_changes_gives_what_a_fresh_translation_gives(batches: list[list[Put]]) -> None:
    world = World(INDEXES)
    translator = Translator(world)
    done: list[Put] = []
    for batch in batches:
        for change in batch:
            change.into(world)
        done += batch
        incremental = translator.translate()
        expected = fresh(done)
        assert not expected.broken
        assert incremental.gateways == expected.gateways
        assert incremental.statuses == expected.statuses
