"""Which classes and Gateways are ours, whether they can be served, and where their listeners bind."""

from msgspec import Struct

from translator.memo import query
from translator.names import Name
from translator.objects.gateway import Gateway, GatewaySpecAddress
from translator.objects.gateway_class import GatewayClass
from translator.objects.gateway_parameters import GatewayParameters
from translator.objects.kinds import LEGATION_GROUP
from translator.objects.references import GATEWAY_GROUP
from translator.objects.scalars import is_address
from translator.rules.managed import is_managed
from translator.verdict import Refused
from translator.world import Fact, Index, World

IP, NAME = "IPAddress", "Hostname"
CONTROLLER = "legation.dev/gateway-controller"
GATEWAY = (GATEWAY_GROUP, "Gateway")

CLASSES_BY_CONTROLLER = Index(GatewayClass, lambda each: [each.spec.controller_name])
GATEWAYS_BY_CLASS = Index(Gateway, lambda gateway: [gateway.spec.gateway_class_name])


class Binding(Struct, frozen=True):
    """Where listeners bind on the machine that Envoy runs on, when their Gateway does not say."""

    address: str = "0.0.0.0"  # noqa: S104  # a proxy in its own pod serves every address of it
    port_offset: int = 0
    is_exclusive: bool = False  # a TCP port that another process listens on is an error, not to be shared
    has_all: bool = False  # the Envoys of all Gateways run there


class Rejection(Struct, frozen=True):
    """A resource that an Envoy refused."""

    resource: str
    words: str  # Envoy's own, with a remedy where one is known
    listeners: tuple[str, ...] = ()  # of the Gateway's own, for which it stands
    is_endpoints: bool = False  # which may be called as a cluster is


class Delivery(Struct, frozen=True):
    """What a Gateway's Envoys made of the newest configuration: an input, put by whoever serves them."""

    acknowledged: bool
    rejections: tuple[Rejection, ...] = ()


BINDING = Fact("where listeners bind", Binding())
WATCHED = Fact("which namespaces are watched: all of them, if none is named", frozenset[str]())


@query
def ours(world: World) -> frozenset[Name]:
    """Return the Gateways whose class names our controller."""
    classes = world.names_where(CLASSES_BY_CONTROLLER, CONTROLLER)
    return frozenset(name for each in classes for name in world.names_where(GATEWAYS_BY_CLASS, each.name))


@query
def class_refusal(world: World, name: Name) -> Refused | None:
    """Say why a class of ours cannot be served, if so."""
    ref = world.must(GatewayClass, name).spec.parameters_ref
    if ref is None:
        return None
    return _parameters_refusal(world, (ref.group, ref.kind), Name(ref.namespace or "", ref.name))


def is_out_of_sight(world: World, name: Name) -> bool:
    """Say whether the parameters of a class lie where only others look: they judge it, and we keep silent."""
    ref = world.must(GatewayClass, name).spec.parameters_ref
    return ref is not None and not _is_watched(world, ref.namespace)


@query
def refusal(world: World, name: Name) -> Refused | None:
    """Say why a Gateway of ours cannot be served at all, if so."""
    gateway = world.must(Gateway, name)
    class_name = Name("", gateway.spec.gateway_class_name)
    if (broken := class_refusal(world, class_name)) is not None:
        return Refused("InvalidParameters", f"GatewayClass {class_name} is not accepted: {broken.message}")
    infrastructure = gateway.spec.infrastructure
    if infrastructure is not None and (ref := infrastructure.parameters_ref) is not None:
        target = Name(name.namespace, ref.name)
        if (broken := _parameters_refusal(world, (ref.group, ref.kind), target)) is not None:
            return broken
    types = (IP, NAME) if is_managed(world, name) else (IP,)  # nobody can bind a name
    return _unsupported_address(gateway.spec.addresses, types)


def _parameters_refusal(world: World, kind: tuple[str, str], name: Name) -> Refused | None:
    if kind != (LEGATION_GROUP, "GatewayParameters"):
        return Refused(
            "InvalidParameters", f"parametersRef must name a GatewayParameters of {LEGATION_GROUP}"
        )
    if not name.namespace:
        return Refused("InvalidParameters", f"parametersRef to {name} needs the namespace it lies in")
    if not _is_watched(world, name.namespace):
        wrong = (
            f"GatewayParameters {name} lies in a namespace that is not watched here: name it by --watch, too"
        )
        return Refused("InvalidParameters", wrong)
    if world.get(GatewayParameters, name) is None:
        return Refused(
            "InvalidParameters", f"GatewayParameters {name} does not exist; create it or drop the reference"
        )
    return None


def _is_watched(world: World, namespace: str | None) -> bool:
    watched = world.fact(WATCHED)
    return not watched or not namespace or namespace in watched


def _unsupported_address(addresses: tuple[GatewaySpecAddress, ...], types: tuple[str, ...]) -> Refused | None:
    for address in addresses:
        if address.type not in types:
            message = f"spec.addresses: type {address.type} is not supported; use {' or '.join(types)}"
            return Refused("UnsupportedAddress", message)
        if address.type == IP and address.value and not is_address(address.value):
            return Refused("UnsupportedAddress", f"spec.addresses: {address.value} is no IP address")
    return None
