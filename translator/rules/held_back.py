"""Routes that an Envoy refused although every check of ours let them pass: what they said before is served.

One refused route would hold up its whole table, and with it every other tenant's routes there. A Secret that
Envoys never took is held back, too: they would refuse every change of a listener that shows it.
"""

from msgspec import Struct

from translator.names import Name, Ref
from translator.objects.grpc_route import GRPCRoute
from translator.objects.http_route import HTTPRoute
from translator.verdict import Refused, listed
from translator.world import World

HttpRoute = HTTPRoute | GRPCRoute
HTTP_ROUTES: dict[str, type[HttpRoute]] = {"HTTPRoute": HTTPRoute, "GRPCRoute": GRPCRoute}
REASON = "RefusedByEnvoy"


class HeldBack(Struct, frozen=True):
    """Why a route or a Secret is held back, in Envoy's words, and what it said before, if there was any."""

    words: str
    before: HttpRoute | None


def place(ref: Ref) -> Name:
    """Name where it is said of an object that it is held back."""
    return Name(f"{ref.kind} {ref.name.namespace}", ref.name.name)


def held_back(world: World, ref: Ref) -> HeldBack | None:
    """Return why an object is held back, if it is; as long as none ever was, nobody is asked for by name."""
    return world.get(HeldBack, place(ref)) if world.has_seen(HeldBack) else None


def stated(world: World, route: Ref) -> HttpRoute:
    """Return a route as it was written, or as it was before it was held back."""
    return stated_beside(world, route, held_back(world, route))


def stated_beside(world: World, route: Ref, held: HeldBack | None) -> HttpRoute:
    """Return the same where it is known already why the route is held back, if it is."""
    if held is not None and held.before is not None:
        return held.before
    return world.must(HTTP_ROUTES[route.kind], route.name)


def refusal(held: HeldBack) -> Refused:
    """Say it to the route."""
    served = "nothing of it is served" if held.before is None else "what it said before is served"
    remedy = "change it, and it is tried again"
    return Refused(REASON, f"an Envoy refused it, so {served}: {listed([held.words])}; {remedy}")
