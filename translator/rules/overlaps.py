"""TLS listeners of one port whose hostnames overlap: a client may take one connection for names of both."""

from itertools import islice

from translator.memo import keyed
from translator.names import Name
from translator.rules import listeners
from translator.rules.hostnames import wider
from translator.rules.listener_sets import Slot
from translator.rules.tables import distinct
from translator.verdict import Condition, holds
from translator.world import World


def overlapping(world: World, slot: Slot) -> tuple[Condition, ...]:
    """Say whose hostname a listener's covers, or is covered by, if another one's is."""
    each = listeners.judge(world, slot)
    if not _speaks_tls(each) or each.conflict is not None:
        return ()
    other = _others.at(world, each.hostname, slot.gateway, each.port)
    if other is None:
        return ()
    message = (
        f"hostname {each.hostname} and {other} of another listener on port {each.port} have names in common, "
        "so clients may share a connection for both: give each listener names and certificates of its own"
    )
    return (holds("OverlappingTLSConfig", "OverlappingHostnames", message),)


@keyed(rank=0)
def _others(world: World, gateway: Name, port: int) -> dict[str, str]:
    """Return for each hostname of a port the narrowest that covers it, or else the first that it covers."""
    names = {each.hostname for _, each in distinct(world, gateway, port) if _speaks_tls(each)}
    found: dict[str, str] = {}
    for name in sorted(names):
        wide = next((each for each in islice(wider(name), 1, None) if each in names), None)
        if wide is not None:
            found.setdefault(wide, name)
            found[name] = wide
    return found


def _speaks_tls(each: listeners.Listening) -> bool:
    return listeners.FAMILIES.get(each.protocol) == "TLS"
