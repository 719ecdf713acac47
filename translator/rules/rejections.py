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
    whose = listed([str(each) for each in makers(world, gateway, rejection.resource)])
    return f"{rejection.resource}{where}{f' of {whose}' if whose else ''}: {rejection.words}"


@steady(lambda _gateway, _resource: ())
def makers(world: World, gateway: Name, resource: str) -> tuple[Ref, ...]:
    """Name the objects of which a Gateway's cluster or the endpoints in it were made."""
    backends = (each.backend for each in needs(world, gateway).hops)
    found = {
        maker
        for backend in backends
        if resource in (str(backend), str(backend.port))
        for maker in _makers(world, gateway, backend, is_cluster=resource == str(backend))
    }
    return tuple(sorted(found))


def _makers(world: World, gateway: Name, backend: Backend, *, is_cluster: bool) -> Iterator[Ref]:
    """Name who says how a backend is reached, or else who leads there; endpoints are its own."""
    if not is_cluster or backend.own_tls:
        yield backend.port.owner
    elif backend.policy is not None:
        yield Ref("BackendTLSPolicy", backend.policy)
    else:
        yield from [*routes_to(world, backend.port, gateway)] or [backend.port.owner]
