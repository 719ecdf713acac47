"""A world in which one thing changes, for tests of what that costs."""

from collections.abc import Callable, Iterable

from tests.golden import FOLDER, let_in, objects
from translator.objects.kinds import Object, name_of
from translator.translate import INDEXES, Translation, Translator
from translator.world import World

V1 = "gateway.networking.k8s.io/v1"


def thing(version: str, kind: str, name: str, namespace: str = "shop", **spec: object) -> Object:
    """Make an object as an API server would let it in."""
    metadata = {"name": name, "namespace": namespace}
    return let_in({"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec})


def changed(here: Iterable[Object], after: Object) -> tuple[Translation, Callable[[], Translation]]:
    """Translate what is here, and change one thing; give what was made, and what makes the rest."""
    world = World(INDEXES)
    translator = Translator(world)
    for each in (*objects(FOLDER / "background.yaml"), *here):
        world.put(type(each), name_of(each), each)
    made = translator.translate()
    world.put(type(after), name_of(after), after)
    return made, translator.translate
