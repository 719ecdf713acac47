"""Addresses: those that a Gateway asks for and has, those that it cannot have, and where it binds.  GEP-5093.

Each wish is looked at by itself, and each address that there is answers one. What is asked for by its value,
or to be within the cluster, is never replaced by something else. Where proxies of ours run, addresses are
their Service's; everywhere else, Envoys bind what is asked for.
"""

from collections.abc import Iterator, Sequence
from ipaddress import ip_address

from msgspec import Struct, structs

from translator.memo import query
from translator.names import Name
from translator.objects.gateway import Gateway, GatewaySpecAddress
from translator.rules.bundles import is_experimental
from translator.rules.gateways import BINDING, IP
from translator.rules.managed import in_cluster, is_managed, proxy_name, reached_at
from translator.rules.status import Address
from translator.verdict import Condition, Refused, fails, holds
from translator.world import World

CLUSTER = "Cluster"
SENTINEL = "testing.x-k8s.io/sentinel"  # which promises nothing, and is reported: for the conformance suite


class Pool(Struct, frozen=True):
    """Addresses that there are: those that whoever does not choose is given, and those within the cluster."""

    ordinary: tuple[Address, ...]
    cluster: tuple[Address, ...] = ()


class Assigned(Struct, frozen=True):
    """The addresses that a Gateway has, and why it has not the others that it asks for."""

    addresses: tuple[Address, ...]
    lacking: tuple[Refused, ...] = ()


@query
def assigned(world: World, gateway: Name) -> Assigned:
    """Return which addresses a Gateway has."""
    asked = world.must(Gateway, gateway).spec.addresses
    pool = _pool(world, gateway)
    if not asked:
        return Assigned(tuple(_told(world, each, pool, None) for each in pool.ordinary))
    found = _matched(asked, pool)
    return Assigned(
        tuple(_told(world, found[n], pool, each) for n, each in enumerate(asked) if n in found),
        tuple(_lack(world, gateway, n, each) for n, each in enumerate(asked) if n not in found),
    )


@query
def binding(world: World, gateway: Name) -> tuple[str, ...]:
    """Return the addresses that listeners bind to: none where not one of those asked for can be had."""
    ordinary = world.fact(BINDING).address
    if is_managed(world, gateway) or not world.must(Gateway, gateway).spec.addresses:
        return (ordinary,)
    return tuple(each.value for each in assigned(world, gateway).addresses)


def unplaced(world: World, gateway: Name) -> Condition | None:
    """Say why a Gateway cannot be reached as it asks to be, if so."""
    found = assigned(world, gateway)
    unusable = [each for each in found.lacking if each.reason == "AddressNotUsable"]
    if unusable or (found.lacking and not found.addresses):
        reason = unusable[0].reason if unusable else "AddressNotAssigned"
        return fails("Programmed", reason, "; ".join(each.message for each in found.lacking))
    if is_managed(world, gateway) and not found.addresses:
        message = f"waiting for an address of Service {proxy_name(gateway)}"
        return fails("Programmed", "AddressNotAssigned", message)
    return None


def assignment(world: World, gateway: Name) -> Condition | None:
    """Say how many of its wishes a Gateway was granted, once that is known: in the experimental channel."""
    found = assigned(world, gateway)
    if not is_experimental(world) or not (found.addresses or found.lacking):
        return None
    if not found.lacking:
        return holds("AddressesAssigned")
    reason = "PartiallyAssigned" if found.addresses else "NotAssigned"
    return fails("AddressesAssigned", reason, "; ".join(each.message for each in found.lacking))


def _pool(world: World, gateway: Name) -> Pool:
    if is_managed(world, gateway):
        return Pool(reached_at(world, gateway), in_cluster(world, gateway))
    asked = world.must(Gateway, gateway).spec.addresses
    values = [world.fact(BINDING).address, *(each.value for each in asked if each.value)]
    known = dict.fromkeys(value for value in values if not ip_address(value).is_unspecified)
    return Pool(tuple(Address(IP, value) for value in known))


def _matched(asked: Sequence[GatewaySpecAddress], pool: Pool) -> dict[int, Address]:
    """Give each wish an address of its own; who is more particular chooses first."""
    free = list(dict.fromkeys((*pool.ordinary, *pool.cluster)))
    found: dict[int, Address] = {}
    for number, wish in sorted(
        enumerate(asked), key=lambda each: (not each[1].value, not each[1].routability)
    ):
        given = next((each for each in _candidates(wish, pool) if each in free), None)
        if given is not None:
            free.remove(given)
            found[number] = given
    return found


def _candidates(wish: GatewaySpecAddress, pool: Pool) -> Iterator[Address]:
    anywhere = (*pool.ordinary, *pool.cluster) if wish.value else pool.ordinary
    within = {None: anywhere, "": anywhere, SENTINEL: anywhere, CLUSTER: pool.cluster}
    for each in within.get(wish.routability, ()):
        if each.type == wish.type and (not wish.value or _same(each, wish.value)):
            yield each


def _told(world: World, given: Address, pool: Pool, wish: GatewaySpecAddress | None) -> Address:
    """Say how far an address reaches, where the API has a field for that."""
    value = wish.value if wish and wish.value else given.value  # an IPv6 address as it was written
    if not is_experimental(world):
        return Address(given.type, value)
    far = CLUSTER if given in pool.cluster else ""
    if wish is not None and wish.routability == SENTINEL:
        far = SENTINEL
    return structs.replace(given, value=value, routability=far)


def _lack(world: World, gateway: Name, number: int, wish: GatewaySpecAddress) -> Refused:
    """Say what is asked for in vain, and what there is instead."""
    where = f"spec.addresses[{number}]"
    if wish.routability not in (None, "", SENTINEL, CLUSTER):
        message = f"{where}: routability {wish.routability} is not known here: use {CLUSTER} or leave it out"
        return Refused("AddressNotAssigned", message)
    there = _pool(world, gateway)
    inside = wish.routability == CLUSTER
    values = ", ".join(each.value for each in (there.cluster if inside else there.ordinary)) or "none"
    owner = (
        f"Service {proxy_name(gateway)} has {values}" if is_managed(world, gateway) else f"there is {values}"
    )
    what = "a cluster IP" if inside else f"an address of type {wish.type}"
    if not wish.value:
        return Refused("AddressNotAssigned", f"{where}: {what} is not to be had: {owner}")
    reason = "AddressNotAssigned" if wish.routability else "AddressNotUsable"
    return Refused(reason, f"{where}: {wish.value} cannot be used as {what}: {owner}; name that, or no value")


def _same(address: Address, value: str) -> bool:
    return _normal(address.type, address.value) == _normal(address.type, value)


def _normal(kind: str, value: str) -> str | None:
    if kind != IP:
        return value
    try:
        return str(ip_address(value))
    except ValueError:
        return None
