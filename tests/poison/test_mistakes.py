"""A mistake of ours about one tenant's objects: what it breaks stays as it was, is named, delays nobody."""

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from functools import cache
from types import ModuleType
from typing import Any

import pytest
from msgspec.structs import replace

import translator.envoy
import translator.rules
from legation.manifests import read_manifests
from tests.messages import read
from tests.poison.spells import TENANT
from tests.poison.tenants import DOOR, HOST, QUIET, SHARED, portrait, world_of
from translator.envoy.resource import ROUTES
from translator.names import Name
from translator.objects.http_route import HTTPPathMatch, HTTPRoute, HTTPRouteMatch
from translator.objects.kinds import KINDS, Object, name_of
from translator.translate import Translation, Translator, translate
from translator.world import World

Query = Callable[..., Any]

ROUTE = """
apiVersion: gateway.networking.k8s.io/v1
kind: {kind}Route
metadata: {{name: a, namespace: evil}}
spec:
  parentRefs: [{{name: shared, namespace: infra}}, {{name: a}}, {{kind: ListenerSet, name: a}}]
  {hosts}
  rules: [{{backendRefs: [{{name: a, port: 80}}]}}]
---"""
POLICY = """
apiVersion: gateway.networking.k8s.io/v1
kind: BackendTLSPolicy
metadata: {name: a, namespace: evil}
spec:
  targetRefs: [{group: "", kind: Service, name: a}]
  validation: {hostname: evil.example, caCertificateRefs: [{group: "", kind: ConfigMap, name: roots}]}
"""
HOSTS = {"HTTP": "evil.example", "GRPC": "grpc.evil.example", "TLS": "tls.evil.example", "TCP": "", "UDP": ""}
NEW_PATH = "/new"


class PlantedError(Exception):
    """What a query does that has a mistake."""


def evil() -> tuple[Object, ...]:
    """Return what the other tenant has: routes of every kind, and a policy."""
    hosts = {kind: f"hostnames: [{host}]" if host else "" for kind, host in HOSTS.items()}
    text = "".join(ROUTE.format(kind=kind, hosts=said) for kind, said in hosts.items()) + POLICY
    loaded, problems = read_manifests(text, "evil.yaml")
    assert not problems
    return tuple(each.thing for each in loaded)


def queries() -> list[tuple[str, Query]]:
    """Return every query of the translator's rules and of what is built from them."""
    return [
        named
        for package in (translator.rules, translator.envoy)
        for found in pkgutil.iter_modules(package.__path__)
        for named in _queries_of(importlib.import_module(f"{package.__name__}.{found.name}"))
    ]


def _queries_of(module: ModuleType) -> Iterator[tuple[str, Query]]:
    for name, value in vars(module).items():
        wrapped = getattr(value, "__wrapped__", None)
        if wrapped is not None and getattr(wrapped, "__module__", "") == module.__name__:
            yield f"{module.__name__}.{name}", value


def plant(query: Query, broken: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Have a query fail about the other tenant; return what it was then asked about."""
    good, asked = vars(query)["__wrapped__"], list[tuple[Any, ...]]()

    def failing(world: World, *names: object) -> object:
        if TENANT in repr(names):
            asked.append(names)
            raise PlantedError
        return good(world, *names)

    broken.setattr(query, "__wrapped__", failing)
    return asked


def change_quiet(world: World) -> None:
    """Have the quiet tenant change his route."""
    route = world.must(HTTPRoute, Name(QUIET, "a"))
    [rule] = route.spec.rules
    rule = replace(rule, matches=(HTTPRouteMatch(path=HTTPPathMatch(value=NEW_PATH)),))
    world.put(HTTPRoute, name_of(route), replace(route, spec=replace(route.spec, rules=(rule,))))


def change_evil(world: World, mark: str) -> None:
    """Have the other tenant touch everything he has."""
    for info in KINDS:
        for name in world.names(info.type):
            if name.namespace == TENANT:
                thing = world.must(info.type, name)
                marked = replace(thing.metadata, labels={**thing.metadata.labels, "mark": mark})
                world.put(info.type, name, replace(thing, metadata=marked))


def served(translation: Translation) -> list[list[str]]:
    """Return the paths under which the quiet tenant is served, at each place."""
    tables = [
        read(ROUTES, each.body)
        for gateway in (DOOR, SHARED)
        for each in translation.gateways[gateway][ROUTES].values()
    ]
    hosts = [host for table in tables for host in table.virtual_hosts if host.domains == [HOST]]
    return [
        [route.match.path_separated_prefix or route.match.prefix for route in host.routes] for host in hosts
    ]


@pytest.mark.parametrize(("name", "query"), queries())
def test_a_mistake_about_one_tenant_does_not_delay_what_another_changes(
    name: str, query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = world_of(evil())
    translator_ = Translator(world)
    before = translator_.translate()
    good = before.gateways[Name(TENANT, "a")]
    with monkeypatch.context() as broken:
        asked = plant(query, broken)
        change_evil(world, "1")
        for names in {names for names in _asked_before(world, query) if TENANT in repr(names)}:
            world.memory.touch(query, *names)
        change_quiet(world)
        during = translator_.translate()
    assert bool(during.broken) == bool(asked), name
    assert all(isinstance(each.bug, PlantedError) for each in during.broken.values())
    expected = unbroken("1")
    assert [NEW_PATH] in served(expected)
    assert served(during) == served(expected)
    assert portrait(during) == portrait(expected)
    assert during.gateways[Name(TENANT, "a")] == good
    change_evil(world, "2")
    for names in set(asked):
        world.memory.touch(query, *names)
    after, fresh = translator_.translate(), unbroken("2")
    assert not after.broken
    assert (after.gateways, after.statuses) == (fresh.gateways, fresh.statuses)


@cache
def unbroken(mark: str) -> Translation:
    """Return what is to come of all changes up to a mark."""
    world = world_of(evil())
    change_evil(world, mark)
    change_quiet(world)
    return translate(world)


def _asked_before(world: World, query: Query) -> list[tuple[Any, ...]]:
    """Return what a query was asked about."""
    return list(world.memory._asked[query])


@pytest.mark.parametrize(("name", "query"), queries())
def test_a_mistake_that_was_there_from_the_beginning_keeps_nobody_else_from_being_served(
    name: str, query: Query, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = world_of(evil())
    good = translate(world_of(evil()))
    asked = plant(query, monkeypatch)
    translation = translate(world)
    assert bool(translation.broken) == bool(asked), name
    assert portrait(translation) == portrait(good)
    assert all(paths for paths in served(translation))
    assert len(served(translation)) == len(served(good))


def test_most_queries_are_asked_about_the_other_tenant() -> None:
    world = world_of(evil())
    translate(world)
    about = [name for name, query in queries() if TENANT in repr(_asked_before(world, query))]
    assert len(about) > 2 / 3 * len(queries())
