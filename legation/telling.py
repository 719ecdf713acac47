"""What the Envoys at one replica hold and refuse, by Gateway: every replica can judge it by its own newest.

What is told is bounded, however many Envoys there are: they are told by what they hold, and not one by one.
"""

from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import version

from msgspec import Struct

from xds_server.hub import Connected, Hub
from xds_server.snapshot import LDS, Snapshot

RELEASE = version("legation")
ARRIVES_WITHIN = 5.0  # seconds in which an Envoy takes what it is sent, or is slow
MOST_HOLDINGS = 16
MOST_REFUSALS = 20
LONGEST_WORDS = 1_000
PRINTED, AND_WHY = "goo.gle/debug", "\n: "  # as Envoy says why it refuses endpoints: first all of them


class Refused(Struct, frozen=True, order=True):
    """One version of a resource that an Envoy refused, and its words."""

    name: str
    type_url: str
    version: str
    words: str


class Holding(Struct, frozen=True, order=True):
    """What some Envoys hold of the listeners that are offered where they are connected."""

    newest: bool  # it is all of it
    arriving: bool = False  # they came a moment ago, and may take more
    listeners: tuple[tuple[str, str], ...] = ()  # name and version


class Telling(Struct, frozen=True):
    """What the Envoys of one Gateway hold and refuse at one replica."""

    release: str = RELEASE  # by which what is offered was made
    holdings: tuple[Holding, ...] = ()
    refused: tuple[Refused, ...] = ()


def tell_of(hub: Hub, group: str) -> Telling | None:
    """Say what the Envoys of a Gateway hold and refuse, if it has any here."""
    envoys = hub.connected_of(group, {LDS})
    return _of_one(hub.snapshot(group), envoys, hub.clock() - ARRIVES_WITHIN) if envoys else None


def holds(telling: Telling, holding: Holding, wanted: Mapping[str, str]) -> bool:
    """Say whether these Envoys hold these versions; those of another release cannot be compared."""
    if telling.release != RELEASE:
        return holding.newest
    held = dict(holding.listeners)
    return all(held.get(name) == each for name, each in wanted.items())


def refuses(telling: Telling, refused: Refused, snapshot: Snapshot) -> bool:
    """Say whether what was refused is what we offer now; older refusals are history."""
    if telling.release != RELEASE:
        return True
    entry = snapshot.find(refused.type_url, refused.name)
    return entry is not None and entry.version == refused.version


def versions(snapshot: Snapshot) -> dict[str, str]:
    """Say in which versions listeners are offered."""
    return {name: entry.version for name, entry in snapshot.entries[LDS].items()}


def _of_one(snapshot: Snapshot | None, envoys: Iterable[Connected], settled_since: float) -> Telling:
    holdings: set[Holding] = set()
    refused: set[Refused] = set()
    offered = None if snapshot is None else versions(snapshot)
    for envoy in envoys:
        holdings.add(_holding(envoy, offered, settled_since))
        refused.update(_refused(envoy))
    # sorted, what lags comes first: of what is left out, nothing could say that all is well
    return Telling(RELEASE, tuple(sorted(holdings)[:MOST_HOLDINGS]), tuple(sorted(refused)[:MOST_REFUSALS]))


def _holding(envoy: Connected, offered: Mapping[str, str] | None, settled_since: float) -> Holding:
    held = envoy.versions.get(LDS, {})
    if offered is not None:
        held = {name: held[name] for name in held.keys() & offered.keys()}
    newest = held == offered
    arriving = not newest and envoy.since > settled_since
    return Holding(newest, arriving, tuple(sorted(held.items())))


def _refused(envoy: Connected) -> Iterator[Refused]:
    for type_url, named in envoy.rejections.items():
        for name, rejected in named.items():
            words = _about(name, rejected.error)[:LONGEST_WORDS]
            yield Refused(name, type_url, rejected.versions[name], words)


def _about(name: str, error: str) -> str:
    """Take what an error says about one resource out of what it says about several, or after all of it."""
    if error.startswith(PRINTED):
        return error.rpartition(AND_WHY)[2].strip()
    words, _, _ = error.partition(f"{name}: ")[2].partition("\n")
    return words.strip() or error.strip()
