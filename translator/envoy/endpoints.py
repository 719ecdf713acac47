"""Endpoints: where the pods behind a Service port are, as clusters ask for it over EDS."""

from envoy.config.endpoint.v3 import endpoint_pb2

from translator.envoy.encode import encode
from translator.envoy.resource import Resource
from translator.memo import query
from translator.names import ServicePort
from translator.rules.endpoints import endpoints
from translator.world import World


@query
def load_assignment(world: World, port: ServicePort) -> Resource:
    """Build the addresses behind a port; none is an answer too, which Envoy would otherwise wait for."""
    assignment = endpoint_pb2.ClusterLoadAssignment(cluster_name=str(port))
    if found := endpoints(world, port):
        locality = assignment.endpoints.add()
        for address, number in found:
            place = locality.lb_endpoints.add().endpoint.address.socket_address
            place.address, place.port_value = address, number
    return Resource(encode(assignment))
