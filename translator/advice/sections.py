"""What parameters say of listeners that nobody has, and of those that cannot be told apart."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from translator.advice.checks import REMARK, WITHOUT_EFFECT, Advice, Check
from translator.names import Name, Ref
from translator.objects.gateway_parameters import GatewayParameters
from translator.rules import listeners
from translator.rules.gateways import ours
from translator.rules.listener_sets import Slot, slots
from translator.rules.parameters import said
from translator.verdict import listed
from translator.world import World

MISSING = Check(
    "parameters-listener-missing",
    WITHOUT_EFFECT,
    "what GatewayParameters say of a listener that none of their Gateways has",
    "name a listener of a Gateway's own, or say it of a port",
)
SHARED = Check(
    "parameters-listener-shared",
    REMARK,
    "what GatewayParameters say of one of several listeners for HTTP at a port: the strictest holds for all",
    "give the listener a port of its own, or end TLS there, or say it of the port",
)
CHECKS = (MISSING, SHARED)


def sections(world: World) -> Iterator[Advice]:
    """Tell of what is said of single listeners, and holds for none or for others as well."""
    heeded = _heeded(world)
    for name in sorted(world.names(GatewayParameters)):
        about, gateways = Ref("GatewayParameters", name), heeded[name]
        for number, entry in enumerate(world.must(GatewayParameters, name).spec.listeners):
            field = f"spec.listeners[{number}]"
            found = [slot for gateway in gateways for slot in _own(world, gateway, entry.section_name)]
            if gateways and not found:
                yield Advice(MISSING, about, field, f"no Gateway has a listener {entry.section_name}")
            for slot in found:
                if others := _sharing(world, slot):
                    message = f"{slot} of Gateway {slot.gateway} shares its connections with {listed(others)}"
                    yield Advice(SHARED, about, field, message)


def _heeded(world: World) -> Mapping[Name, Sequence[Name]]:
    """Return which Gateways go by parameters of which name."""
    found = defaultdict[Name, list[Name]](list)
    for gateway in sorted(ours(world)):
        for where in {one.where for one in said(world, gateway)}:
            found[where].append(gateway)
    return found


def _own(world: World, gateway: Name, section: str) -> list[Slot]:
    return [each for each in slots(world, gateway) if (each.owner.kind, each.section) == ("Gateway", section)]


def _sharing(world: World, slot: Slot) -> list[str]:
    """Name the listeners for HTTP that clients reach by the same connections."""
    here = listeners.slots_at(world, slot.gateway, listeners.judge(world, slot).port)
    served = [each for each in here if (it := listeners.judge(world, each)).served and it.protocol == "HTTP"]
    return [str(each) for each in served if each != slot] if slot in served else []
