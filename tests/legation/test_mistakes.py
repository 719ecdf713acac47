"""A mistake of ours: the process lives, what it is about stays as it was, and is named."""

import pytest

from legation.change import Put
from legation.pump import Workbench, the_time
from tests.legation.manifest_texts import route, together
from tests.legation.test_pump import GROUP, SHOP, Manifests
from translator.names import Name, Ref
from translator.rules import attachment
from xds_server.snapshot import RDS

STORE = Ref("HTTPRoute", Name("shop", "store"))
BOTH = together(SHOP, route("quiet", "store", host="quiet.example"))
CHANGED = BOTH.replace("shop.example", "new.example").replace("quiet.example", "calm.example")


class PlantedError(Exception):
    """What a step does that has a mistake."""


def test_an_object_whose_relations_cannot_be_found_stays_as_it_was_and_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    workbench, manifests = Workbench(), Manifests()
    workbench.work(manifests.now(BOTH))
    index = attachment.ROUTES_BY_PARENT["HTTPRoute"]
    good = index.keys
    added = together(CHANGED, route("extra", "store", host="extra.example"))
    changes = manifests.now(added)

    def keys(thing: object) -> object:
        if "new.example" in repr(thing) or "extra" in repr(thing):
            raise PlantedError
        return good(thing)  # type: ignore[arg-type]  # what it is for

    extra = Ref("HTTPRoute", Name("shop", "extra"))
    with monkeypatch.context() as planted:
        planted.setattr(index, "keys", keys)
        during = workbench.work(changes)
        assert {each.about for each in during.broken.values()} == {STORE, extra}
        table = during.snapshots[GROUP].entries[RDS]["infra/edge:80"].resource.body
        assert b"calm.example" in table
        assert b"shop.example" in table
        assert b"extra.example" not in table
        assert workbench.work([the_time()]).broken.keys() == during.broken.keys()
        gone = [Put(each.kind, each.name, None) for each in changes if each.name == extra.name]
        assert {each.about for each in workbench.work(gone).broken.values()} == {STORE}
    after = workbench.work([each for each in changes if each.name == STORE.name])
    assert after.broken == {}
    assert b"new.example" in after.snapshots[GROUP].entries[RDS]["infra/edge:80"].resource.body
