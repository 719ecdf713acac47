"""Objects, looked at one by one: what each says of itself, what it leads to, and how to find it."""

from collections.abc import Iterator, Mapping
from itertools import islice
from types import MappingProxyType

from msgspec import Struct

from legation.atlas.landscape import Thing, thing
from legation.checks.findings import Fault
from legation.written_status import Condition, read_status
from translator.names import Ref
from translator.objects.backend_tls_policy import BackendTLSPolicy
from translator.objects.endpoint_slice import EndpointSlice
from translator.objects.kinds import KINDS
from translator.objects.namespace import Namespace
from translator.rules.attachment import ROUTES, parents, written_hostnames
from translator.rules.backend_tls import POLICIES_BY_TARGET, Target, target_of
from translator.rules.open_ports import GROUPS, open_ports
from translator.rules.reach import ROUTES_BY_TARGET, targets
from translator.world import World

MOST_FOUND = 40
MOST_RELATED = 200
SHOWN = MappingProxyType({
    info.kind: info.type for info in KINDS if info.type not in (EndpointSlice, Namespace)
})  # fmt: skip


class Said(Struct, frozen=True, rename="camel"):
    """A condition, and what it means for whoever reads it."""

    type: str
    status: str
    reason: str
    message: str
    verdict: str  # `good`, `bad`, `alarm`, `warning` or `waiting`
    remedy: str = ""
    since: str = ""


class About(Struct, frozen=True):
    """What an object says in respect of something; of itself, where that is empty."""

    about: str
    conditions: tuple[Said, ...]


class Portrait(Struct, frozen=True, rename="camel"):
    """One object."""

    object: Thing
    says: tuple[About, ...]
    hostnames: tuple[str, ...] = ()
    gateways: tuple[Thing, ...] = ()  # that it is attached to
    leads_to: tuple[Thing, ...] = ()
    led_to_by: tuple[Thing, ...] = ()


class Hit(Struct, frozen=True):
    """Something that was searched for."""

    object: Thing
    hostnames: tuple[str, ...] = ()


def portrait(world: World, statuses: Mapping[Ref, bytes], ref: Ref) -> Portrait | None:
    """Look at an object, if it is there and of a kind that is shown."""
    kind = SHOWN.get(ref.kind)
    if kind is None or world.get(kind, ref.name) is None:
        return None
    says = tuple(_spoken(ref, statuses[ref])) if ref in statuses else ()
    gateways = dict.fromkeys(each.gateway for each in parents(world, ref)) if ref.kind in ROUTES else ()
    return Portrait(
        thing(ref),
        says,
        _hostnames(world, ref),
        tuple(thing(Ref("Gateway", each)) for each in gateways),
        tuple(map(thing, islice(dict.fromkeys(_leads_to(world, ref)), MOST_RELATED))),
        tuple(map(thing, islice(dict.fromkeys(_led_to_by(world, ref)), MOST_RELATED))),
    )


def said(condition: Condition) -> Said:
    """Judge a condition for whoever reads it."""
    return Said(
        condition.type,
        condition.status,
        condition.reason,
        condition.message,
        _verdict(condition),
        Fault("", condition).remedy if condition.is_bad else "",
        condition.last_transition_time,
    )


def search(world: World, text: str) -> tuple[Hit, ...]:
    """Find objects by words that stand in their kind, namespace, name or hostnames; Gateways first."""
    words = text.lower().split()
    return tuple(islice(_hits(world, words), MOST_FOUND)) if words else ()


def _hits(world: World, words: list[str]) -> Iterator[Hit]:
    for kind, its_type in SHOWN.items():
        for name in sorted(world.names(its_type)):
            ref = Ref(kind, name)
            hostnames = _hostnames(world, ref)
            searched = f"{ref} {' '.join(hostnames)}".lower()
            if all(word in searched for word in words):
                yield Hit(thing(ref), hostnames)


def _hostnames(world: World, ref: Ref) -> tuple[str, ...]:
    return written_hostnames(world, ref) if ref.kind in ROUTES else ()


def _spoken(ref: Ref, written: bytes) -> Iterator[About]:
    status = read_status(written)
    if status.conditions:
        yield About("", tuple(map(said, status.conditions)))
    for listener in status.listeners:
        yield About(f"listener {listener.name}", tuple(map(said, listener.conditions)))
    for entry in status.ours:
        yield About(str(entry.about(ref.name.namespace)), tuple(map(said, entry.conditions)))


def _verdict(condition: Condition) -> str:
    if condition.is_alarm:
        return "alarm"
    if condition.is_bad:
        return "bad"
    if condition.is_warning:
        return "warning"
    return "waiting" if condition.is_waiting else "good"


def _leads_to(world: World, ref: Ref) -> Iterator[Ref]:
    if ref.kind in ROUTES:
        yield from targets(world.must(ROUTES[ref.kind], ref.name))
    if ref.kind == "BackendTLSPolicy":
        refs = world.must(BackendTLSPolicy, ref.name).spec.target_refs
        yield from (each.owner for one in refs if (each := target_of(ref.name.namespace, one)))


def _led_to_by(world: World, ref: Ref) -> Iterator[Ref]:
    for kind, index in ROUTES_BY_TARGET.items():
        yield from (Ref(kind, name) for name in world.names_where(index, ref))
    sections = ("", *_section_names(world, ref))
    for section in sections:
        policies = world.names_where(POLICIES_BY_TARGET, Target(ref.name, section, ref.kind))
        yield from (Ref("BackendTLSPolicy", name) for name in policies)


def _section_names(world: World, ref: Ref) -> tuple[str, ...]:
    ports = open_ports(world, ref) or () if ref.kind in GROUPS else ()
    return tuple(each.name for each in ports if each.name)
