"""Objects that are written again and again, a bounded number of times, and whether that was told right."""

import asyncio
import json
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

from k8s_watch.change import Change, Gone, Put
from k8s_watch.kind import Kind, Place
from k8s_watch.writer import Missing, Outcome, Writer, Written
from tests.k8s_watch.listener import Widget

NAMES = 12
LIVES = 5  # the last of so many changes to an object is its deletion
PATIENCE = 120.0  # seconds until a server that went away should be back
PAUSE = 0.05
WHOLE = 300.0  # seconds for any number of changes that a test makes


class Churn:
    """Writes widgets into one namespace, each change until it took place, and remembers them in order."""

    def __init__(self, writer: Writer, kind: Kind[Widget], namespace: str) -> None:
        """Begin with none there."""
        self.made: dict[str, list[int | None]] = defaultdict(list)  # sizes by name; None is a deletion
        self.done = 0
        self._writer = writer
        self._place = Place(kind.api_versions()[0], kind.plural, namespace)

    @property
    def there(self) -> dict[str, int]:
        """What there is if every change took place."""
        return {name: sizes[-1] for name, sizes in self.made.items() if sizes[-1] is not None}

    async def write(self, changes: int) -> None:
        """Make so many changes, whatever the server does meanwhile."""
        async with asyncio.timeout(WHOLE):
            for number in range(self.done, self.done + changes):
                deletes = number // NAMES % LIVES == LIVES - 1
                await self.change(f"widget-{number % NAMES}", None if deletes else number)
                self.done += 1

    async def change(self, name: str, size: int | None) -> None:
        """Give an object this size, or delete it."""
        place = Place(self._place.api_version, self._place.plural, self._place.namespace, name)
        self.made[name].append(size)
        async with asyncio.timeout(PATIENCE):
            while not _took_place(await self._try(place, size), size):  # noqa: ASYNC110  # see below
                await asyncio.sleep(PAUSE)  # for a server that is away, which tells nobody when it is back

    def forget(self) -> None:
        """Everything was deleted by somebody else."""
        for name in self.there:
            self.made[name].append(None)

    async def _try(self, place: Place, size: int | None) -> Outcome:
        if size is None:
            return await self._writer.delete(place)
        metadata = {"name": place.name, "namespace": place.namespace}
        widget = {"apiVersion": place.api_version, "kind": "Widget", "metadata": metadata, "size": size}
        return await self._writer.apply(place, json.dumps(widget).encode())


def _took_place(outcome: Outcome, size: int | None) -> bool:
    """What is missing is deleted, perhaps by a request that was not answered; it cannot have been changed."""
    return isinstance(outcome, Written) or (size is None and isinstance(outcome, Missing))


def told_in_order(told: Sequence[int | None], made: Sequence[int | None]) -> bool:
    """Say whether all that was told of an object happened, in this order, and nothing was told twice.

    Whoever asked for an object by name may first be told that it is not there.
    """
    steps = iter([None, *made])
    return all(each in steps for each in told) and all(one != other for one, other in pairwise(told))


def sizes(changes: Sequence[Change[Widget]], name: str) -> list[int | None]:
    """Return what was told of an object; None is its deletion."""
    found: list[int | None] = []
    for change in changes:
        match change:
            case Put() if change.name.name == name:
                found.append(change.thing.size)
            case Gone() if change.name.name == name:
                found.append(None)
    return found
