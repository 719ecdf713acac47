"""Listener filters: services that are asked about every request before any route is chosen.  GEP-5224.

They are asked in the order in which they are written, and the first that says no answers the client. Where
one cannot be asked nobody can say yes, so requests fail; a filter of another type refuses its listener.
"""

from msgspec import Struct, structs

from translator.memo import steady
from translator.names import Name, Ref, ServicePort
from translator.objects.filters import HTTPExternalAuthFilter
from translator.objects.gateway import Gateway
from translator.objects.listener_set import ListenerSet
from translator.objects.listeners import Listener, ListenerFilter
from translator.objects.references import GATEWAY_GROUP
from translator.rules.backends import Backend
from translator.rules.external_names import forbidden
from translator.rules.grants import Pointer
from translator.rules.listener_sets import Slot, declared
from translator.rules.questions import Question, question, strange
from translator.verdict import Refused, our_fault
from translator.world import Index, World


class Questions(Struct, frozen=True):
    """All that is asked before routes of a listener are looked at, and what is wrong with it."""

    asked: tuple[Question, ...] = ()
    refusal: Refused | None = None
    unresolved: tuple[Refused, ...] = ()


def _services(one: Gateway | ListenerSet) -> list[Name]:
    return [
        Name(ref.namespace or one.metadata.namespace, ref.name)
        for listener in one.spec.listeners
        for each in _written(listener)
        if each.external_auth is not None
        for ref in (each.external_auth.backend_ref,)
    ]


GATEWAYS_BY_SERVICE = Index(Gateway, _services)
SETS_BY_SERVICE = Index(ListenerSet, _services)


@steady(lambda slot: Questions(refusal=our_fault(f"listener {slot}")))
def questions(world: World, slot: Slot) -> Questions:
    """Read what a listener asks about its requests."""
    written = _written(declared(world, slot))
    for number, each in enumerate(written):
        if (wrong := _refusal(each, f"filters.requests[{number}]")) is not None:
            return Questions((), wrong, _strange(each, number))
    asked = tuple(
        _question(world, slot, number, each.external_auth)
        for number, each in enumerate(written)
        if each.external_auth is not None
    )
    return Questions(asked, None, tuple(each.whom for each in asked if isinstance(each.whom, Refused)))


def asked_ports(world: World, slot: Slot, owner: Ref) -> frozenset[ServicePort]:
    """Return the ports of an object that a listener asks."""
    found = (each.whom for each in questions(world, slot).asked)
    return frozenset(each.port for each in found if isinstance(each, Backend) and each.port.owner == owner)


def _written(listener: Listener) -> tuple[ListenerFilter, ...]:
    return listener.filters.requests if listener.filters else ()


def _refusal(written: ListenerFilter, where: str) -> Refused | None:
    if written.external_auth is None:
        return Refused("UnsupportedValue", f"{where}: filters of type {written.type} are not supported")
    wrong = strange(written.external_auth)
    return Refused("InvalidListenerFilter", f"{where}: {wrong}") if wrong else None


def _strange(written: ListenerFilter, number: int) -> tuple[Refused, ...]:
    ref = written.extension_ref
    if ref is None:
        return ()
    message = f"filters.requests[{number}]: {ref.kind} {ref.name} of group {ref.group!r} is not known here"
    return (Refused("InvalidListenerFilterRef", message),)


def _question(world: World, slot: Slot, number: int, asked: HTTPExternalAuthFilter) -> Question:
    read = question(world, Pointer(GATEWAY_GROUP, slot.owner.kind, slot.owner.name.namespace), asked)
    whom = read.whom
    if isinstance(whom, Backend) and whom.by_name:
        whom = forbidden(world, slot.gateway, whom.port.owner) or whom
    if isinstance(whom, Refused):
        reason = whom.reason if whom.reason == "RefNotPermitted" else "InvalidListenerFilterRef"
        whom = Refused(reason, f"filters.requests[{number}]: {whom.message}")
    return structs.replace(read, whom=whom, name=f"{slot}/{number}")
