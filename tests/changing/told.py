"""What Envoys are told of a shop: what a change leaves as it was, no traffic can be harmed by."""

import json
from collections.abc import Mapping

from msgspec import structs

from legation.manifests import read_manifests
from tests.changing.shop import Grounds, Shop, written
from tests.handshakes.manifests import SERVED_BY_US
from translator.objects.kinds import name_of
from translator.translate import INDEXES, translate
from translator.world import World

Told = Mapping[tuple[str, str], bytes]  # by type and name


def told(shop: Shop, grounds: Grounds) -> Told:
    """Translate a shop, whatever its number: that one is told does not make a change of it."""
    documents = [SERVED_BY_US, *written(structs.replace(shop, number=0), grounds)]
    loaded, problems = read_manifests(
        "---\n".join(json.dumps(each) + "\n" for each in documents), "shop.yaml"
    )
    assert not problems
    world = World(INDEXES)
    for each in loaded:
        world.put(type(each.thing), name_of(each.thing), each.thing)
    [resources] = translate(world).gateways.values()
    return {
        (kind, name): resource.body for kind, named in resources.items() for name, resource in named.items()
    }
