"""Which Gateways are to have proxies of ours, and what each of them needs to know."""

from msgspec import Raw, Struct, structs

from translator.memo import query
from translator.names import Name
from translator.objects.gateway import Gateway
from translator.objects.kinds import name_of
from translator.rules.gateways import refusal
from translator.rules.managed import Wishes, proxy_name, wishes
from translator.rules.ports import Bound, sites
from translator.world import World


class Wanted(Struct, frozen=True):
    """A Gateway whose proxies are managed, with the ports that it has and how it wants to be run."""

    gateway: Gateway  # without its status
    ports: tuple[Bound, ...]
    wishes: Wishes

    @property
    def name(self) -> Name:
        """Name all of its objects."""
        return proxy_name(name_of(self.gateway))


@query
def wanted(world: World, gateway: Name) -> Wanted | None:
    """Return what a Gateway's proxies are made from; None leaves them as they are, if there are any."""
    its = world.must(Gateway, gateway)
    if its.metadata.deletion_timestamp is not None or refusal(world, gateway) is not None:
        return None
    return Wanted(structs.replace(its, status=Raw()), sites(world, gateway), wishes(world, gateway))
