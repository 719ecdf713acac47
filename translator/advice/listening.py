"""Listeners that nobody uses, and certificates that clients will not take."""

from collections.abc import Iterator
from itertools import pairwise

from translator.advice.checks import REMARK, WITHOUT_EFFECT, Advice, Check
from translator.names import Name
from translator.rules import listeners
from translator.rules.attachment import attached
from translator.rules.certificates import Link, links
from translator.rules.gateways import ours
from translator.rules.hostnames import EVERY
from translator.rules.listener_sets import Slot, slots, slots_of
from translator.verdict import listed
from translator.world import World

NO_ROUTES = Check(
    "listener-without-routes",
    WITHOUT_EFFECT,
    "a listener that is served, and that no route is attached to",
    "attach a route to it, or remove it",
)
OTHER_NAMES = Check(
    "certificate-hostname",
    REMARK,
    "a listener none of whose certificates is for a hostname that is served there",
    "have a certificate issued for the hostname; of a wildcard, `*.` stands for exactly one label",
)
CHAIN_SHORT = Check(
    "certificate-chain-short",
    REMARK,
    "a certificate without those between it and its root, though it says where they are had",
    "put the certificates above it, without the root, behind it in tls.crt",
)
CHAIN_ORDER = Check(
    "certificate-chain-order",
    REMARK,
    "a chain in which a certificate is not followed by the one that issued it",
    "order tls.crt from the server's own certificate upwards, each followed by its issuer",
)
CHECKS = (NO_ROUTES, OTHER_NAMES, CHAIN_SHORT, CHAIN_ORDER)


def listening(world: World) -> Iterator[Advice]:
    """Tell of listeners that are served, as far as something is to be known of them."""
    for gateway in sorted(ours(world)):
        for slot in slots(world, gateway):
            each = listeners.judge(world, slot)
            if each.served:
                field = _field(world, slot)
                guests = [guest for kind in each.kinds for guest in attached(world, slot, kind)]
                if not guests:
                    yield Advice(NO_ROUTES, slot.owner, field, f"no route is attached to {slot}")
                hostnames = {host.hostname for guest in guests for host in guest.hosts} | {each.hostname}
                yield from _certificates(world, slot, each.certificates, hostnames - {EVERY})


def _certificates(
    world: World, slot: Slot, secrets: tuple[Name, ...], hostnames: set[str]
) -> Iterator[Advice]:
    found = [(secret, certificates) for secret in secrets if (certificates := links(world, secret))]
    names = {name for _, certificates in found for name in certificates[0].names}
    field = f"{_field(world, slot)}.tls.certificateRefs"
    if found and (lacking := sorted(host for host in hostnames if not _is_proved(host, names))):
        proved = listed(sorted(names)) or "no DNS name"
        yield Advice(
            OTHER_NAMES, slot.owner, field, f"certificates are for {proved}, not for {listed(lacking)}"
        )
    for secret, certificates in found:
        yield from (
            Advice(check, slot.owner, field, f"Secret {secret}: {why}") for check, why in _odd(certificates)
        )


def _odd(chain: tuple[Link, ...]) -> Iterator[tuple[Check, str]]:
    """Say what clients may stumble over in a chain."""
    for place, (one, above) in enumerate(pairwise(chain), 1):
        if one.issuer != above.subject:
            why = f"certificate {place} was issued by {one.issuer}, and {above.subject} comes next"
            yield CHAIN_ORDER, why
    if len(chain) == 1 and chain[0].tells_issuer:
        yield CHAIN_SHORT, f"only the server's own certificate is there, without that of {chain[0].issuer}"


def _is_proved(hostname: str, names: set[str]) -> bool:
    """Say whether a client that asks for any such name believes the certificate; `*.` is one label there."""
    return hostname in names or f"*.{hostname.partition('.')[2]}" in names


def _field(world: World, slot: Slot) -> str:
    return f"spec.listeners[{_place(world, slot)}]"


def _place(world: World, slot: Slot) -> int:
    return slots_of(world, slot.gateway, slot.owner).index(slot)
