"""The kinds that are watched in a cluster: what the translator reads, as the API serves it."""

from k8s_watch.kind import Kind, Place
from translator.names import Ref
from translator.objects.config_map import ConfigMap
from translator.objects.kinds import BY_KIND, KINDS, KindInfo, Object
from translator.objects.secret import Secret

PICKED = frozenset({Secret, ConfigMap})  # of these, only what something refers to is read


def watched(info: KindInfo) -> Kind[Object]:
    """Say how a kind is watched."""
    return Kind(info.group, info.versions, info.plural, info.type, info.namespaced)


WATCHED = tuple((info.type, watched(info)) for info in KINDS)


def place(ref: Ref) -> Place:
    """Say where an object is, whatever version it was read in."""
    info = BY_KIND[ref.kind]
    return Place(info.newest, info.plural, *ref.name)
