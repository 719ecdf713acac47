"""Who speaks for a Gateway in GatewayParameters, and in which order: itself, then its class.

The class gives defaults, which the Gateway's own parameters replace field by field. Permissions are not
settled so: whoever asks for one hears all of them, and the strictest holds.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeVar

from translator.memo import query
from translator.names import Name
from translator.objects.gateway import Gateway
from translator.objects.gateway_class import GatewayClass
from translator.objects.gateway_parameters import GatewayParameters, GatewayParametersSpec
from translator.world import World

T = TypeVar("T")


class Said(NamedTuple):
    """What an operator wrote, and in which object."""

    where: Name
    spec: GatewayParametersSpec


@query
def said(world: World, gateway: Name) -> tuple[Said, ...]:
    """Return what holds for a Gateway, who decides first; parameters that do not exist say nothing."""
    its = world.must(Gateway, gateway)
    class_ = world.get(GatewayClass, Name("", its.spec.gateway_class_name))
    found = ((name, world.get(GatewayParameters, name)) for name in referred(its, class_))
    return tuple(Said(name, each.spec) for name, each in found if each)


def referred(*by: Gateway | GatewayClass | None) -> Iterator[Name]:
    """Name the parameters that Gateways and classes refer to, be they there or not."""
    for each in by:
        if isinstance(each, GatewayClass):
            if ref := each.spec.parameters_ref:
                yield Name(ref.namespace or "", ref.name)
        elif each and each.spec.infrastructure and (own := each.spec.infrastructure.parameters_ref):
            yield Name(each.metadata.namespace, own.name)


def first(said: Iterable[T | None], otherwise: T) -> T:
    """Settle one field: whoever says something first decides."""
    return next((value for value in said if value is not None), otherwise)
