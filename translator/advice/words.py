"""Words of ours that nobody knows, and versions of the API on their way out."""

from collections.abc import Iterator
from difflib import get_close_matches
from types import MappingProxyType

from translator.advice.checks import REMARK, WITHOUT_EFFECT, Advice, Check
from translator.objects.kinds import KINDS, LEGATION_GROUP, KindInfo, Object, ref_of
from translator.objects.references import GATEWAY_GROUP
from translator.objects.service import Service
from translator.objects.x_backend import X_GROUP
from translator.rules.identities import REVOKED_BEFORE
from translator.rules.tls_options import PREFIX, WRONG
from translator.world import World

UNKNOWN = Check(
    "annotation-unknown",
    WITHOUT_EFFECT,
    "an annotation with our prefix that nobody reads on this kind",
    "correct its key, or remove it",
)
OLD_VERSION = Check(
    "version-deprecated",
    REMARK,
    "a manifest in a version of the API that is on its way out",
    "write the version that the message names: the fields are the same",
)
CHECKS = (UNKNOWN, OLD_VERSION)

READ = MappingProxyType({"Gateway": (REVOKED_BEFORE,), "XBackend": tuple(f"{PREFIX}{key}" for key in WRONG)})
GROUPS = (GATEWAY_GROUP, X_GROUP, LEGATION_GROUP)


def words(world: World) -> Iterator[Advice]:
    """Tell of annotations and versions, of kinds that are written for Gateways and of Services."""
    for info in KINDS:
        if info.group in GROUPS or info.type is Service:
            for name in sorted(world.names(info.type)):
                yield from _of(info, world.must(info.type, name))


def _of(info: KindInfo, thing: Object) -> Iterator[Advice]:
    if thing.api_version != info.newest:
        message = f"{thing.api_version}: now it is {info.newest}"
        yield Advice(OLD_VERSION, ref_of(thing), "apiVersion", message)
    known = READ.get(info.kind, ())
    for key in sorted(thing.metadata.annotations):
        if key.startswith(PREFIX) and key not in known:
            near = get_close_matches(key, known, n=1)
            meant = f"did you mean {near[0]}?" if near else f"{info.kind}s have {', '.join(known) or 'none'}"
            yield Advice(
                UNKNOWN, ref_of(thing), f"metadata.annotations[{key}]", f"{key} is not read; {meant}"
            )
