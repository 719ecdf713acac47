"""Where the pods behind a Service port are: a query of its own, so that a rolling pod never touches a route."""

from typing import NamedTuple

from translator.memo import query
from translator.names import ServicePort
from translator.world import World


class Endpoint(NamedTuple):
    """One address that serves a Service port."""

    address: str
    port: int


@query
def endpoints(world: World, port: ServicePort) -> tuple[Endpoint, ...]:
    """Return the ready addresses behind a Service port, sorted, each once."""
    raise NotImplementedError
