"""Which object is meant by `KIND/NAMESPACE/NAME`, however its kind is spelt; what is nearly so called."""

from difflib import SequenceMatcher, get_close_matches
from itertools import islice
from types import MappingProxyType

from legation.explain.explanation import Unknown
from translator.names import Name, Ref
from translator.objects.kinds import KINDS, KindInfo
from translator.world import World

FORM = "KIND/NAMESPACE/NAME or a URL"
MOST_SIMILAR = 5
MOST_OFFERED = 200  # to complete what somebody types
ALIKE = 0.65
SHORT = MappingProxyType({
    "gc": "GatewayClass",
    "gtw": "Gateway",
    "lset": "ListenerSet",
    "btlspolicy": "BackendTLSPolicy",
    "refgrant": "ReferenceGrant",
    "svc": "Service",
    "svcim": "ServiceImport",
    "cm": "ConfigMap",
    "ns": "Namespace",
})  # fmt: skip


def meant(world: World, text: str) -> Ref | Unknown:
    """Find the object that is meant; where a name is unique, its namespace may be left out."""
    spelling, *rest = text.strip("/").split("/")
    kind = _kind(spelling)
    if kind is None:
        return Unknown(f"{spelling} is no kind that is read; write {FORM}", _kinds_like(spelling))
    match rest:
        case [namespace, name] if kind.namespaced:
            return _found(world, kind, Name(namespace, name))
        case [name] if not kind.namespaced:
            return _found(world, kind, Name("", name))
        case [name]:
            return _only(world, kind, name)
        case _:
            form = "NAMESPACE/NAME" if kind.namespaced else "NAME"
            return Unknown(
                f"{text} names no {kind.kind}; write {kind.kind}/{form}", every(world, kind)[:MOST_SIMILAR]
            )


def every(world: World, kind: KindInfo) -> tuple[str, ...]:
    """Name all objects of a kind, as they are asked for."""
    return tuple(_asked_for(kind, name) for name in sorted(world.names(kind.type)))


def beginning_with(world: World, text: str) -> tuple[str, ...]:
    """Name objects that begin like this, as they are asked for; or kinds, as long as there are several."""
    spelling, slash, rest = text.partition("/")
    kinds = [
        each for each in KINDS if each.kind.lower().startswith(spelling.lower()) and world.names(each.type)
    ]
    if not slash and len(kinds) > 1:
        return tuple(f"{each.kind.lower()}/" for each in kinds)
    kind = _kind(spelling) if slash else next(iter(kinds), None)
    if kind is None:
        return ()
    written = spelling if slash else kind.kind.lower()
    named = (str(name) for name in sorted(world.names(kind.type)))
    return tuple(islice((f"{written}/{name}" for name in named if name.startswith(rest)), MOST_OFFERED))


def _kind(spelling: str) -> KindInfo | None:
    """Find a kind by its name or a short one: singular or plural, in any case, with or without a group."""
    word = spelling.partition(".")[0].lower()
    word = SHORT.get(word, word).lower()
    return next((each for each in KINDS if word in (each.kind.lower(), each.plural)), None)


def _kinds_like(spelling: str) -> tuple[str, ...]:
    found = get_close_matches(spelling.lower(), [each.kind.lower() for each in KINDS], 2)
    return tuple(each.kind for each in KINDS if each.kind.lower() in found)


def _found(world: World, kind: KindInfo, name: Name) -> Ref | Unknown:
    if name in world.names(kind.type):
        return Ref(kind.kind, name)
    return Unknown(f"there is no {Ref(kind.kind, name)}", tuple(_similar(world, kind, name)))


def _only(world: World, kind: KindInfo, name: str) -> Ref | Unknown:
    found = [each for each in sorted(world.names(kind.type)) if each.name == name]
    if len(found) == 1:
        return Ref(kind.kind, found[0])
    if found:
        similar = tuple(_asked_for(kind, each) for each in found[:MOST_SIMILAR])
        return Unknown(f"there are {len(found)} of the name {name}: name the namespace, too", similar)
    return _found(world, kind, Name("", name))


def _similar(world: World, kind: KindInfo, name: Name) -> list[str]:
    """Name what may have been meant: another kind of this name, or what is most alike; else what there is."""
    others = [_asked_for(other, name) for other in KINDS if other != kind and name in world.names(other.type)]
    ranked = sorted((-_likeness(each, name), each) for each in world.names(kind.type))
    alike = [_asked_for(kind, each) for unlikeness, each in ranked if -unlikeness > ALIKE]
    return [*others, *alike][:MOST_SIMILAR] or [*every(world, kind)[:MOST_SIMILAR]]


def _likeness(one: Name, other: Name) -> float:
    if one.name == other.name:
        return 1.0
    return SequenceMatcher(a=one.name, b=other.name).ratio()


def _asked_for(kind: KindInfo, name: Name) -> str:
    return f"{kind.kind}/{name}"
