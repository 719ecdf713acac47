"""What a mistake of ours keeps as it was says of no newer generation that it was observed."""

import msgspec
import pytest
from msgspec.structs import replace

from legation.workbench import Workbench
from tests.poison.spells import TENANT
from tests.poison.tenants import QUIET, world_of
from tests.poison.test_mistakes import Query, evil, plant
from tests.poison.test_quarantine import put
from translator.envoy import routes
from translator.names import Name, Ref
from translator.objects.http_route import HTTPPathMatch, HTTPRoute, HTTPRouteMatch
from translator.objects.kinds import KINDS
from translator.rules import attachment, http_routes, tables

ROUTE = Ref("HTTPRoute", Name(TENANT, "a"))
OTHER = Ref("HTTPRoute", Name(QUIET, "a"))


def changed(workbench: Workbench, route: Ref, generation: int) -> HTTPRoute:
    """Return a route as its author writes it next."""
    thing = workbench.world.must(HTTPRoute, route.name)
    match = HTTPRouteMatch(path=HTTPPathMatch(value=f"/generation-{generation}"))
    rules = tuple(replace(rule, matches=(match,)) for rule in thing.spec.rules)
    metadata = replace(thing.metadata, generation=generation)
    return replace(thing, metadata=metadata, spec=replace(thing.spec, rules=rules))


def observed(written: bytes) -> set[int]:
    """Return the generations that a status says it is about."""
    parents = msgspec.json.decode(written)["parents"]
    return {each["observedGeneration"] for parent in parents for each in parent["conditions"]}


@pytest.mark.parametrize(
    "query",
    [http_routes.rules, attachment.parents, tables.virtual_host, routes.virtual_host],
    ids=["rules", "parents", "what a host answers", "how a host is built"],
)
def test_a_status_claims_no_generation_that_is_not_served(
    query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    workbench, world = Workbench(asks_envoys=False), world_of(evil())
    workbench.work([put(world.must(i.type, name)) for i in KINDS for name in world.names(i.type)])
    both = [put(changed(workbench, ref, 1)) for ref in (ROUTE, OTHER)]
    good = workbench.work(both)
    assert (observed(good.statuses[ROUTE]), observed(good.statuses[OTHER])) == ({1}, {1})
    with monkeypatch.context() as broken:
        asked = plant(query, broken)
        during = workbench.work([put(changed(workbench, ref, 2)) for ref in (ROUTE, OTHER)])
        assert asked
        assert (observed(during.statuses[ROUTE]), observed(during.statuses[OTHER])) == ({1}, {2})
        assert during.judged[ROUTE].generation == 1
    for names in set(asked):
        workbench.world.memory.touch(query, *names)
    after = workbench.work([])
    assert not after.broken
    assert (observed(after.statuses[ROUTE]), observed(after.statuses[OTHER])) == ({2}, {2})
