"""Objects at an API server, one state of them after the other, each written as careful users write it.

What others need is there before them, a Service has both ports until those who use it have moved, and nothing
is deleted while it may still be used.
"""

from collections.abc import Iterable, Mapping
from typing import Protocol

from tests.handshakes.manifests import Json

ROUTE = "HTTPRoute"
LEADING = (ROUTE, "Service")  # to others, in this order: these go before whatever they led to

Key = tuple[str, str, str]  # kind, namespace and name


class Shelf(Protocol):
    """Where single objects are put."""

    async def put(self, each: Json) -> None:
        """Have an object."""

    async def delete(self, each: Json) -> None:
        """Have it no more."""


class Stock:
    """What was put somewhere, and nobody else puts there."""

    def __init__(self, shelf: Shelf) -> None:
        """Begin with nothing."""
        self._shelf = shelf
        self._there: dict[Key, Json] = {}
        self._wanted: Mapping[Key, Json] = {}

    async def hold(self, objects: Iterable[Json]) -> None:
        """Have these objects, of which some need others before them; whatever else there is may be used."""
        self._wanted = {_key(each): each for each in objects}
        for key, each in self._wanted.items():
            await self._put(key, _with_ports_of(self._there.get(key), each))

    async def tidy(self) -> None:
        """Have no others; routes go before a Service has fewer ports."""
        gone = sorted((key for key in reversed(self._there) if key not in self._wanted), key=_rank)
        routes = [key for key in gone if key[0] == ROUTE]
        await self._drop(routes)
        for key, each in self._wanted.items():
            await self._put(key, each)
        await self._drop(gone[len(routes) :])

    async def _drop(self, keys: Iterable[Key]) -> None:
        for key in keys:
            await self._shelf.delete(self._there.pop(key))

    async def _put(self, key: Key, each: Json) -> None:
        if self._there.get(key) != each:
            self._there[key] = each
            await self._shelf.put(each)


def _key(each: Json) -> Key:
    metadata = each["metadata"]
    assert isinstance(metadata, dict)
    return str(each["kind"]), metadata.get("namespace", ""), metadata["name"]


def _rank(key: Key) -> int:
    """Say when an object goes; of several alike, the one that came last goes first."""
    return LEADING.index(key[0]) if key[0] in LEADING else len(LEADING)


def _with_ports_of(before: Json | None, each: Json) -> Json:
    """Have a Service keep the ports that it had, too."""
    if before is None or each["kind"] != "Service":
        return each
    old, new = (_ports(found) for found in (before, each))
    return each | {"spec": {"ports": [*new, *(port for port in old if port not in new)]}}


def _ports(service: Json) -> list[object]:
    spec = service["spec"]
    assert isinstance(spec, dict)
    return list(spec["ports"])
