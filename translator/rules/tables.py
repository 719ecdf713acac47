"""Route tables: the virtual hosts that are reached through one HTTP port or one HTTPS listener."""

from typing import NamedTuple

from msgspec import Struct

from translator.memo import query
from translator.names import Name
from translator.rules.http_routes import HttpRule
from translator.rules.matches import HttpMatch
from translator.world import World


class Table(NamedTuple):
    """A route table's identity: the cleartext port of a Gateway, or one of its HTTPS listeners."""

    gateway: Name
    port: int
    listener: str = ""

    def __str__(self) -> str:
        """Name it for Envoy: `infra/edge:8080`, `infra/edge:8443/secure`."""
        return f"{self.gateway}:{self.port}{'/' + self.listener if self.listener else ''}"


class Entry(Struct, frozen=True):
    """One match of one rule, in its place among all others of a virtual host."""

    match: HttpMatch
    rule: HttpRule
    name: str  # who wrote it: `HTTPRoute shop/store rule 2`


@query
def hostnames(world: World, table: Table) -> tuple[str, ...]:
    """Return the virtual hosts of a table: exact names, `*.` suffixes, or `*`; each at most once."""
    raise NotImplementedError


@query
def virtual_host(world: World, table: Table, hostname: str) -> tuple[Entry, ...]:
    """Return what a virtual host answers, the first match first; an empty one answers 404."""
    raise NotImplementedError
