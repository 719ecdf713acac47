"""Maps for the page: each answers one question about the world, within bounds, and is ready to be written.

A Gateway with few names is answered whole; of one with thousands, what becomes of a name's requests is asked
for when somebody looks at that name.
"""

from itertools import islice

from msgspec import Struct

from legation.atlas.destinations import destination
from legation.atlas.landscape import Host, Landscape, Leads
from legation.atlas.survey import counted, entries, hosts, survey, tables
from translator.names import Name
from translator.rules.gateways import ours
from translator.rules.needs import needs
from translator.rules.tables import hostnames
from translator.world import World

MOST_HOSTS = 10_000  # of one Gateway; more are counted, and found by searching
MOST_AT_ONCE = 300  # entries that are sent along without being asked for
MOST_ENTRIES = 2_000  # of one name


class Summary(Struct, frozen=True, rename="camel"):
    """A Gateway among all others."""

    name: str
    backends: int
    grades: dict[str, int]  # of the ways to its backends


class Named(Struct, frozen=True, rename="camel"):
    """A name of a route table; None for entries that are to be asked for."""

    host: Host
    leads: tuple[Leads, ...] | None = None


class Charted(Struct, frozen=True, rename="camel"):
    """A route table."""

    table: str
    hosts: tuple[Named, ...]


class Chart(Struct, frozen=True, rename="camel"):
    """A Gateway with the names of its route tables."""

    landscape: Landscape
    tables: tuple[Charted, ...]
    left_out: int = 0


def summaries(world: World) -> tuple[Summary, ...]:
    """Sum up every Gateway of ours."""
    return tuple(_summary(world, name) for name in sorted(ours(world)))


def chart(world: World, gateway: Name) -> Chart | None:
    """Draw the map of a Gateway, if it is one of ours."""
    if gateway not in ours(world):
        return None
    found = {table: tuple(hosts(world, table)) for table in tables(world, gateway).values()}
    is_small = sum(host.entries for each in found.values() for host in each) <= MOST_AT_ONCE
    room, charted = MOST_HOSTS, []
    for table, its in found.items():
        named = tuple(
            Named(host, tuple(entries(world, table, host.hostname)) if is_small else None)
            for host in islice(its, room)
        )
        room -= len(named)
        charted.append(Charted(str(table), named))
    left_out = sum(map(len, found.values())) - (MOST_HOSTS - room)
    return Chart(survey(world, gateway), tuple(charted), left_out)


def leads(world: World, gateway: Name, table: str, hostname: str) -> tuple[Leads, ...] | None:
    """Say what becomes of requests for a name, if there is such a table and it has that name."""
    found = tables(world, gateway).get(table) if gateway in ours(world) else None
    if found is None or hostname not in hostnames(world, found):
        return None
    return tuple(islice(entries(world, found, hostname), MOST_ENTRIES))


def _summary(world: World, name: Name) -> Summary:
    reached = [destination(world, name, each.backend) for each in needs(world, name).hops]
    return Summary(str(name), len(reached), counted(each.proving.grade for each in reached))
