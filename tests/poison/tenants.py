"""A quiet tenant beside a hostile one, and what of the quiet one's must never differ."""

from collections.abc import Iterable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import structs

from tests.golden import objects
from tests.messages import read
from tests.translator.test_statuses_any_world import lists
from translator.envoy.resource import LISTENER, ROUTES
from translator.names import Name, Ref
from translator.objects.kinds import Object, name_of
from translator.rules.status import Status
from translator.translate import INDEXES, Resources, Translation
from translator.world import World

QUIET = "quiet"
DOOR, SHARED = Name(QUIET, "door"), Name("infra", "shared")
HOST = "quiet.example"
FIRST = datetime(1990, 1, 1, tzinfo=UTC)


class Portrait(NamedTuple):
    """All that is the quiet tenant's: his own Gateway's bytes, and what his objects say about themselves."""

    resources: Resources
    statuses: dict[Ref, Status]


@cache
def bystander() -> tuple[Object, ...]:
    """Return what is there before anybody is hostile, and is older: who comes first keeps a hostname."""
    files = ("bystander.yaml", "ground.yaml")
    return tuple(_first(thing) for name in files for thing in objects(Path(__file__).with_name(name)))


def _first(thing: Object) -> Object:
    return structs.replace(thing, metadata=structs.replace(thing.metadata, creation_timestamp=FIRST))


def world_of(things: Iterable[Object] = ()) -> World:
    """Return the quiet tenant's world, with more in it."""
    world = World(INDEXES)
    for thing in (*bystander(), *things):
        world.put(type(thing), name_of(thing), thing)
    return world


def portrait(translation: Translation) -> Portrait:
    """Return what is the quiet tenant's of a translation."""
    statuses = {ref: each for ref, each in translation.statuses.items() if ref.name.namespace == QUIET}
    return Portrait(translation.gateways[DOOR], statuses)


def first_at_the_shared_door(translation: Translation) -> list[Any]:
    """Return what a request for the quiet tenant's host meets first at the Gateway that all share."""
    shared = translation.gateways[SHARED]
    tables = [read(ROUTES, each.body) for _, each in sorted(shared[ROUTES].items())]
    hosts = [host for table in tables for host in table.virtual_hosts if host.domains == [HOST]]
    listener = read(LISTENER, shared[LISTENER][f"{SHARED}:8443"].body)
    chains = [each for each in listener.filter_chains if HOST in each.filter_chain_match.server_names]
    return [*(host.routes[0] for host in hosts), *chains]


def all_told(translation: Translation) -> str:
    """Return every message of every status."""
    told = (each for status in translation.statuses.values() for some in lists(status) for each in some)
    return "\n".join(each.message for each in told)
