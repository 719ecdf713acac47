"""An offset moves every port that clients see, also those that redirects tell them."""

from envoy.config.listener.v3 import listener_pb2
from envoy.config.route.v3 import route_pb2

from tests.worlds import thing, working
from translator.envoy.resource import LISTENER, ROUTES
from translator.names import Name, Ref
from translator.rules.gateways import BINDING, Binding
from translator.rules.status import GatewayStatus
from translator.translate import INDEXES, translate
from translator.world import World


def test_an_offset_moves_listeners_and_the_redirects_that_keep_their_port() -> None:
    world = World(INDEXES)
    redirect = {"type": "RequestRedirect", "requestRedirect": {"hostname": "new.test"}}
    spec = {"parentRefs": [{"name": "a", "sectionName": "a"}], "rules": [{"filters": [redirect]}]}
    for put in [*working(), thing("HTTPRoute", "shop", "a", spec=spec)]:
        put.into(world)
    world.state(BINDING, Binding(port_offset=8000))
    [resources] = translate(world).gateways.values()
    listener = listener_pb2.Listener.FromString(resources[LISTENER]["shop/a:80"].body)
    table = route_pb2.RouteConfiguration.FromString(resources[ROUTES]["shop/a:80"].body)
    assert listener.address.socket_address.port_value == 8080
    assert table.virtual_hosts[0].routes[0].redirect.port_redirect == 8080


def test_a_port_that_an_offset_moves_past_the_last_one_is_refused_and_not_sent() -> None:
    world = World(INDEXES)
    for put in working():
        put.into(world)
    world.state(BINDING, Binding(port_offset=65_500))
    translation = translate(world)
    [resources] = translation.gateways.values()
    assert "shop/a:80" not in resources.get(LISTENER, {})
    said = translation.statuses[Ref("Gateway", Name("shop", "a"))]
    assert isinstance(said, GatewayStatus)
    words = {each.message for listener in said.listeners for each in listener.conditions}
    assert "port 80 becomes 65580 by the offset of 65500, and the last is 65535" in words
