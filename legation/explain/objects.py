"""Why an object is or is not served, by kind."""

from collections.abc import Iterable, Sequence

from msgspec import structs

from legation.atlas.landscape import Thing, thing
from legation.atlas.ways import destinations, failures
from legation.explain.explanation import About, OfObject, Place
from legation.explain.places import naming, of_backend, of_route
from legation.explain.policies import contests, contests_at
from legation.explain.told import Statuses, about, faults
from legation.explain.users import users
from translator.names import Ref
from translator.objects.backend_tls_policy import BackendTLSPolicy
from translator.rules.attachment import ROUTES, attached
from translator.rules.backend_tls import target_of
from translator.rules.gateways import ours
from translator.rules.listener_sets import gateway_of, slots
from translator.world import World

BACKENDS = ("Service", "ServiceImport", "XBackend")


def explain(world: World, statuses: Statuses, ref: Ref) -> OfObject:
    """Explain an object that is there."""
    told = about(statuses, ref)
    if ref.kind in ROUTES:
        return _route(world, ref, told)
    if ref.kind == "BackendTLSPolicy":
        return _policy(world, ref, told)
    if ref.kind in BACKENDS:
        return _backend(world, ref, told)
    if ref.kind in ("Gateway", "ListenerSet"):
        return _listening(world, ref, told)
    return _other(world, ref, told)


def _route(world: World, ref: Ref, told: tuple[About, ...]) -> OfObject:
    places = tuple(of_route(world, ref))
    nowhere = "no request comes to it" if told else "no parentRef leads to a Gateway of ours"
    found = _met(ref, told, places, nowhere, _failing(places))
    gateways = tuple(dict.fromkeys(_gateways(places)))
    return structs.replace(found, contests=contests_at(world, places), users=gateways)


def _backend(world: World, ref: Ref, told: tuple[About, ...]) -> OfObject:
    places = tuple(of_backend(world, ref))
    routes = naming(world, ref)
    nowhere = "routes name it, and no request comes through them" if routes else "no route leads to it"
    found = _met(ref, told, places, nowhere, _failing(places))
    return structs.replace(found, contests=contests(world, ref), users=tuple(map(thing, routes)))


def _policy(world: World, ref: Ref, told: tuple[About, ...]) -> OfObject:
    policy = world.must(BackendTLSPolicy, ref.name)
    targets = [target_of(ref.name.namespace, each) for each in policy.spec.target_refs]
    owners = list(dict.fromkeys(target.owner for target in targets if target is not None))
    places = tuple(place for owner in owners for place in of_backend(world, owner) if _decides(place, ref))
    found = _met(ref, told, places, "no Gateway opens a connection that it governs", [])
    return structs.replace(found, contests=tuple(each for owner in owners for each in contests(world, owner)))


def _met(
    ref: Ref, told: tuple[About, ...], places: tuple[Place, ...], nowhere: str, failing: list[str]
) -> OfObject:
    """Explain what traffic meets; `nowhere` says why none does, where the object itself does not."""
    wrong = [*_wrong(told), *failing]
    served = bool(places) and not wrong
    return OfObject(thing(ref), served, _verdict(places, wrong, nowhere), told, places)


def _listening(world: World, ref: Ref, told: tuple[About, ...]) -> OfObject:
    gateway = ref.name if ref.kind == "Gateway" else gateway_of(world, ref.name)
    if gateway is None or gateway not in ours(world):
        return OfObject(
            thing(ref), served=False, words="it is not ours: its class names another controller", about=told
        )
    mine = [slot for slot in slots(world, gateway) if slot.owner == ref or ref.kind == "Gateway"]
    routes = {
        Ref(kind, guest.name) for slot in mine for kind in ROUTES for guest in attached(world, slot, kind)
    }
    wrong = _wrong(told)
    waits = any(said.verdict == "waiting" for each in told for said in each.said)
    good = "is not served yet: it waits for its Envoys" if waits else "is served"
    return OfObject(
        thing(ref),
        not wrong and not waits,
        f"something is not served: {wrong[0]}" if wrong else good,
        told,
        attached=tuple(map(thing, sorted(routes))),
    )


def _other(world: World, ref: Ref, told: tuple[About, ...]) -> OfObject:
    who, wrong = users(world, ref), _wrong(told)
    served = bool(who) and not wrong
    words = f"is used by {len(who)}" if who else "nothing that is served refers to it"
    return OfObject(thing(ref), served, wrong[0] if wrong else words, told, users=tuple(map(thing, who)))


def _decides(place: Place, policy: Ref) -> bool:
    decided = (each.proving.decided_by for each in destinations(place.leads))
    return any(each is not None and each.ref == policy for each in decided)


def _gateways(places: Iterable[Place]) -> Iterable[Thing]:
    return (place.gateway for place in places)


def _wrong(told: Iterable[About]) -> list[str]:
    return [f"{said.reason}: {said.message}" for said in faults(told)]


def _failing(places: Iterable[Place]) -> list[str]:
    return list(dict.fromkeys(each for place in places for each in failures(place.leads)))


def _verdict(places: Sequence[Place], wrong: Sequence[str], nowhere: str) -> str:
    if not places:
        return f"is not served: {wrong[0] if wrong else nowhere}"
    gateways = ", ".join(map(str, dict.fromkeys(_gateways(places))))
    if wrong:
        return f"is not served as written by {gateways}: {wrong[0]}"
    return f"is served by {gateways}"
