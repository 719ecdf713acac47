"""What an Envoy refused, by the object that it was made of: whoever wrote that one can mend it."""

from collections.abc import Iterator

from translator.memo import steady
from translator.names import Name, Ref
from translator.rules.backends import Backend
from translator.rules.gateways import Rejection
from translator.rules.needs import needs
from translator.rules.reach import routes_to
from translator.verdict import listed
from translator.world import World


def told(world: World, gateway: Name, rejection: Rejection) -> str:
    """Say what was refused, whose it is, and why."""
    where = f" (listener {', '.join(rejection.listeners)})" if rejection.listeners else ""
    whose = listed([str(each) for each in makers(world, gateway, rejection.resource, rejection.is_endpoints)])
    return f"{rejection.resource}{where}{f' of {whose}' if whose else ''}: {rejection.words}"


@steady(lambda _gateway, _resource, _is_endpoints: ())
def makers(world: World, gateway: Name, resource: str, is_endpoints: bool) -> tuple[Ref, ...]:  # noqa: FBT001  # a query's names are given by position
    """Name the objects of which a Gateway's cluster, or endpoints, were made."""
    backends = (each.backend for each in needs(world, gateway).hops)
    found = {
        maker
        for backend in backends
        if resource == str(backend.port if is_endpoints else backend)
        for maker in _makers(world, gateway, backend, is_endpoints=is_endpoints)
    }
    return tuple(sorted(found))


def _makers(world: World, gateway: Name, backend: Backend, *, is_endpoints: bool) -> Iterator[Ref]:
    """Name who says how a backend is reached, or else who leads there; endpoints are its own."""
    by = backend.port.owner if is_endpoints else backend.decided_by
    yield from [by] if by else [*routes_to(world, backend.port, gateway)] or [backend.port.owner]
