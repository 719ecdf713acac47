"""What one change costs where one Service has many ports, policies and routes."""

from collections.abc import Callable, Iterable

import pytest

from tests.golden import FOLDER, objects
from tests.poison.effort import grows_no_faster
from tests.translator.rules.changing import V1, changed, thing
from translator.objects.kinds import Object, name_of
from translator.translate import INDEXES, translate
from translator.world import World

FEW = 40  # ports, of which four times as many are tried


def service(ports: Iterable[int]) -> Object:
    return thing("v1", "Service", "big", ports=[{"name": f"p{port}", "port": port} for port in ports])


def route(number: int, port: int) -> Object:
    """Return a route for one host to one port."""
    refs = [{"name": "big", "port": port}]
    parents = [{"name": "edge", "namespace": "infra"}]
    hosts = [f"n{number}.shop.test"]
    return thing(
        V1, "HTTPRoute", f"n{number}", parentRefs=parents, hostnames=hosts, rules=[{"backendRefs": refs}]
    )


def policy(number: int, section: str = "", hostname: str = "pay.test") -> Object:
    """Return a policy for the Service, or for one port of it."""
    target = {"group": "", "kind": "Service", "name": "big"} | ({"sectionName": section} if section else {})
    proof = {"hostname": hostname, "wellKnownCACertificates": "System"}
    return thing(V1, "BackendTLSPolicy", f"n{number}", targetRefs=[target], validation=proof)


def many_routes(many: int) -> list[Object]:
    """Return a route to each port, and a policy for all ports."""
    return [policy(0), *(route(port, port) for port in range(1, many + 1))]


def policies_of_ports(many: int) -> list[Object]:
    """Return a route to each port, and a policy for each."""
    return [*many_routes(many)[1:], *(policy(port, f"p{port}") for port in range(1, many + 1))]


def rivals(many: int) -> list[Object]:
    """Return many policies for all ports, of which one wins, and a route."""
    return [route(1, 1), *map(policy, range(many))]


WORLDS = (many_routes, policies_of_ports, rivals)


def asked(given: Iterable[Object]) -> set[str]:
    """Name the queries that a world is translated by."""
    world = World(INDEXES)
    for each in (*objects(FOLDER / "background.yaml"), service([1]), *given):
        world.put(type(each), name_of(each), each)
    translate(world)
    return {question for question, runs in world.memory.runs.items() if runs}


def test_who_came_first_is_asked_only_where_several_want_the_same() -> None:
    assert asked(rivals(2)) - asked(rivals(1)) == {"_eldest"}


def other_port(_many: int) -> Object:
    return route(1, 2)


def one_port_more(many: int) -> Object:
    return service(range(1, many + 2))


def other_hostname(_many: int) -> Object:
    return policy(1, "p1", "other.test")


CHANGES = (other_port, one_port_more, other_hostname)


@pytest.mark.parametrize("change", CHANGES, ids=lambda each: each.__name__)
@pytest.mark.parametrize("given", WORLDS, ids=lambda each: each.__name__)
def test_a_change_takes_as_many_steps_as_there_are_ports_policies_and_routes_and_not_pairs_of_them(
    given: Callable[[int], list[Object]], change: Callable[[int], Object]
) -> None:
    def begin(many: int) -> Callable[[], object]:
        _, translate = changed([service(range(1, many + 1)), *given(many)], change(many))
        return translate

    assert grows_no_faster(begin, FEW)
