"""The kinds that are watched in a cluster: what the translator reads, as the API serves it."""

from k8s_watch.kind import Kind
from translator.objects.config_map import ConfigMap
from translator.objects.kinds import KINDS, KindInfo, Object
from translator.objects.secret import Secret

PICKED = frozenset({Secret, ConfigMap})  # of these, only what something refers to is read


def watched(info: KindInfo) -> Kind[Object]:
    """Say how a kind is watched."""
    return Kind(info.group, info.versions, info.plural, info.type, info.namespaced)


WATCHED = tuple((info.type, watched(info)) for info in KINDS)
