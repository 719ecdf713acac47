"""Endpoints: where the pods behind a Service port are, as clusters ask for it over EDS."""

from envoy.config.endpoint.v3 import endpoint_pb2

from translator.envoy.encode import encode
from translator.envoy.resource import Resource
from translator.memo import query
from translator.names import ServicePort
from translator.rules.endpoints import Endpoint, endpoints
from translator.world import World


@query
def load_assignment(world: World, port: ServicePort) -> Resource:
    """Build the addresses behind a port; none is an answer too, which Envoy would otherwise wait for."""
    return build(port, endpoints(world, port))


def build(port: ServicePort, found: tuple[Endpoint, ...]) -> Resource:
    """Build an assignment; Envoy asks for it by the port's name, whatever the cluster is called."""
    assignment = endpoint_pb2.ClusterLoadAssignment(cluster_name=str(port))
    if found:
        locality = assignment.endpoints.add()
        for address, number in found:
            place = locality.lb_endpoints.add().endpoint.address.socket_address
            place.address, place.port_value = address, number
    return Resource(encode(assignment))
