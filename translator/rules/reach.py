"""Which Gateways lead to a Service: through an attached route's rule or through a filter."""

from translator.memo import query
from translator.names import Name, ServicePort
from translator.world import World


@query
def gateways_to(world: World, port: ServicePort) -> tuple[Name, ...]:
    """Return the Gateways of ours whose attached routes originate connections to a Service port, by name."""
    raise NotImplementedError
