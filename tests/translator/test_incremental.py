"""The test that guards the memory: after any changes, the incremental result equals a fresh one."""

from collections.abc import Iterable, Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.worlds import Put, puts, working
from translator.envoy.resource import CLUSTER, ENDPOINTS, LISTENER, ROUTES, SECRET
from translator.names import Ref
from translator.rules.status import Status
from translator.translate import INDEXES, Supply, Translation, Translator, translate
from translator.world import World


def fresh(changes: Iterable[Put]) -> Translation:
    world = World(INDEXES)
    for change in changes:
        change.into(world)
    return translate(world)


def test_the_world_that_changes_start_from_serves_every_kind_of_resource() -> None:
    translation = fresh(working())
    [resources] = translation.gateways.values()
    assert {kind: sorted(named) for kind, named in resources.items()} == {
        CLUSTER: ["ServiceImport/shop/a:443+a", "XBackend/shop/a:443+tls", "legation/refused",
                  "shop/a:443+a", "shop/a:443/h2+a", "shop/a:443/tcp", "shop/a:443/tcp+a", "shop/a:443/udp",
                  "shop/b:80", "shop/b:80/h2", "shop/b:80/tcp", "shop/b:80/udp"],
        ENDPOINTS: ["ServiceImport/shop/a:443", "XBackend/shop/a:443",
                    "shop/a:443", "shop/a:443/udp", "shop/b:80", "shop/b:80/udp"],
        LISTENER: ["shop/a:443", "shop/a:80", "shop/a:8443", "shop/a:8443/udp"],
        ROUTES: ["shop/a:443/*.test", "shop/a:80"],
        SECRET: ["certificate/shop/a", "clients/shop/a", "trust/XBackend/shop/a", "trust/shop/a"],
    }  # fmt: skip


@settings(max_examples=150)
@given(st.lists(st.lists(puts(), min_size=1, max_size=8), min_size=1, max_size=6))
def test_any_sequence_of_changes_gives_what_a_fresh_translation_gives(batches: list[list[Put]]) -> None:
    world = World(INDEXES)
    translator = Translator(world)
    done: list[Put] = []
    before: Mapping[Ref, Status] = {}
    for batch in (working(), *batches):
        for change in batch:
            change.into(world)
        done += batch
        incremental = translator.translate()
        expected = fresh(done)
        assert not expected.broken
        assert incremental.gateways == expected.gateways
        assert incremental.statuses == expected.statuses
        everybody = before.keys() | expected.statuses.keys()
        assert incremental.told >= {ref for ref in everybody if before.get(ref) != expected.statuses.get(ref)}
        before = expected.statuses


@settings(max_examples=50)
@given(st.lists(st.lists(puts(), min_size=1, max_size=8), min_size=1, max_size=4))
def test_what_a_mistake_of_ours_cut_short_is_made_up_for_the_next_time(batches: list[list[Put]]) -> None:
    world = World(INDEXES)
    translator = Translator(world)
    done: list[Put] = []
    for batch in (working(), *batches):
        for change in batch:
            change.into(world)
        done += batch
        with pytest.MonkeyPatch.context() as broken:
            broken.delattr(Supply, "is_moved")
            with pytest.raises(AttributeError):
                translator.translate()
        incremental, expected = translator.translate(), fresh(done)
        assert incremental.gateways == expected.gateways
        assert incremental.statuses == expected.statuses
