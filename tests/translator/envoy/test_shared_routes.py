"""What hosts under a wide name share is in each of them as if it had been built for that one."""

from typing import Any

import pytest
from envoy.config.route.v3 import route_pb2

from tests.golden import FOLDER, objects
from tests.translator.rules.changing import V1, thing
from translator.envoy import routes
from translator.names import Name
from translator.objects.kinds import Object, name_of
from translator.rules import tables
from translator.translate import INDEXES
from translator.world import World

TABLE = tables.Table(Name("infra", "edge"), 80)
BIG: dict[str, Any] = {"name": "big", "port": 80}
HOSTS = ("a.wide.test", "c.b.wide.test", "a.b.wide.test", "*.b.wide.test", "*.wide.test")


def redirect(**to: Any) -> dict[str, Any]:  # noqa: ANN401  any JSON
    return {"type": "RequestRedirect", "requestRedirect": to}


def route(name: str, hosts: list[str], **rule: Any) -> Object:  # noqa: ANN401  any JSON
    parents = [{"name": "edge", "namespace": "infra"}]
    rules = [{"matches": [{"path": {"value": f"/{name}"}}], **rule}]
    return thing(V1, "HTTPRoute", name, parentRefs=parents, hostnames=hosts, rules=rules)


PLAIN = [
    route("near", ["a.wide.test", "a.b.wide.test", "c.b.wide.test"], backendRefs=[BIG]),
    route("far", ["*.wide.test"], backendRefs=[BIG]),
    route("nested", ["*.b.wide.test"], backendRefs=[BIG]),
    route("elsewhere", ["*.wide.test"], filters=[redirect(hostname="other.test")]),
]
DIFFERENT = [
    route("same-host", ["*.wide.test"], filters=[redirect(scheme="https")]),
    route("in-part", ["*.wide.test"], backendRefs=[BIG, {**BIG, "filters": [redirect(scheme="https")]}]),
]
TWICE = [route("twice", [*HOSTS[2:]], backendRefs=[BIG])]


def world_of(written: list[Object]) -> World:
    world = World(INDEXES)
    service = thing("v1", "Service", "big", ports=[{"port": 80}])
    for each in (*objects(FOLDER / "background.yaml"), service, *written):
        world.put(type(each), name_of(each), each)
    return world


def names(world: World, hostname: str) -> list[str]:
    """Name the routes of a built virtual host, in their order."""
    body = routes.virtual_host(world, TABLE, hostname).body
    [host] = route_pb2.RouteConfiguration.FromString(body).virtual_hosts
    return [each.name.partition("/")[2].partition(" ")[0] for each in host.routes]


@pytest.mark.parametrize("written", [PLAIN, [*PLAIN, *DIFFERENT], [*PLAIN, *TWICE, *DIFFERENT]])
def test_a_host_has_what_is_shared_as_if_it_were_built_for_it(written: list[Object]) -> None:
    world = world_of(written)
    for hostname in HOSTS:
        alone = routes.build(TABLE, hostname, [*tables.answers(world, TABLE, hostname)])
        assert routes.virtual_host(world, TABLE, hostname) == alone


def test_routes_of_a_narrower_name_come_first_and_each_comes_once() -> None:
    world = world_of([*PLAIN, *TWICE])
    assert names(world, "a.b.wide.test") == ["twice", "near", "nested", "elsewhere", "far"]
    assert names(world, "c.b.wide.test") == ["near", "nested", "twice", "elsewhere", "far"]
    assert names(world, "*.b.wide.test") == ["nested", "twice", "elsewhere", "far"]
    assert names(world, "a.wide.test") == ["near", "elsewhere", "twice", "far"]
    assert names(world, "*.wide.test") == ["elsewhere", "twice", "far"]
