"""What Envoys are told of a shop: what a change leaves as it was, no traffic can be harmed by."""

import json
from collections.abc import Mapping

from msgspec import structs

from legation.manifests import read_manifests
from tests.changing.shop import Grounds, Shop, written
from tests.handshakes.manifests import SERVED_BY_US
from translator.objects.kinds import name_of
from translator.translate import INDEXES, Resources, translate
from translator.world import World

Told = Mapping[tuple[str, str], bytes]  # by type and name


def resources(shop: Shop, grounds: Grounds) -> Resources:
    """Translate a shop."""
    documents = [SERVED_BY_US, *written(shop, grounds)]
    loaded, problems = read_manifests(
        "---\n".join(json.dumps(each) + "\n" for each in documents), "shop.yaml"
    )
    assert not problems
    world = World(INDEXES)
    for each in loaded:
        world.put(type(each.thing), name_of(each.thing), each.thing)
    [made] = translate(world).gateways.values()
    return made


def told(shop: Shop, grounds: Grounds) -> Told:
    """Translate a shop, whatever its number: that one is told does not make a change of it."""
    return {
        (kind, name): resource.body
        for kind, named in resources(structs.replace(shop, number=0), grounds).items()
        for name, resource in named.items()
    }
