"""Checks that all serve the same, at first and after each kind of change, and counts what each one sends."""

import tempfile
from collections import Counter
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path

from msgspec import Struct

from bench.peers.changes import CHANGES, Kind
from bench.peers.measure import built
from bench.peers.portrait import Dump, Key, Portrait, portrait, read, without_server_names
from bench.peers.shop import PATHS, Size
from bench.peers.side import Peer, running

WHOLE = "everything"
LARGE = 1000  # routes; of more only the whole is looked at: each change takes others as long as that


class Sent(Struct, frozen=True):
    """What has other bytes than before, and what is there no more."""

    resources: Mapping[str, int]  # by type
    bytes: int
    removed: Mapping[str, int]  # by type


class DifferentError(Exception):
    """Two control planes do not serve the same."""


def compared(peers: Sequence[Peer], size: Size) -> dict[str, dict[str, Sent]]:
    """Have all serve one shop; say what each sends of it, and after which change."""
    sent: dict[str, dict[str, Sent]] = {peer.name: {} for peer in peers}
    before: Sequence[Dump | None] = [{} for _ in peers]
    kinds = CHANGES if size.routes <= LARGE else {}
    with tempfile.TemporaryDirectory() as folder:
        moments = zip(*(_served(peer, size, kinds, Path(folder)) for peer in peers), strict=True)
        for change, dumps in zip((WHOLE, *kinds), moments, strict=True):
            able = {peer: each for peer, each in zip(peers, dumps, strict=True) if each is not None}
            check({peer: portrait(each) for peer, each in able.items()}, size, change)
            for peer, old, new in zip(peers, before, dumps, strict=True):
                if new is not None:
                    sent[peer.name][change] = _sent(old or {}, new)
            before = dumps
    return sent


def whole(peer: Peer, size: Size) -> Dump:
    """Have a control plane serve one shop."""
    with tempfile.TemporaryDirectory() as folder, closing(_served(peer, size, {}, Path(folder))) as moments:
        dump = next(moments)
        assert dump is not None
        return dump


def _served(peer: Peer, size: Size, kinds: Mapping[str, Kind], folder: Path) -> Generator[Dump | None]:
    """Give what a control plane serves, and then after each of these changes; None for what it cannot do."""
    file = folder / peer.name
    with running(peer) as side:
        built(side, peer, size)
        side.dump(file)
        yield read(file)
        for kind in kinds.values():
            if not peer.can(kind, size):
                yield None
                continue
            side.tell(kind.make(1, size))
            side.translate()
            side.dump(file)
            yield read(file)


def check(found: Mapping[Peer, Portrait], size: Size, change: str = WHOLE) -> None:
    """Compare what all serve of one shop, or after a change of it, with what the first of them does."""
    (we, ours), *_ = found.items()
    if change == WHOLE and len(ours) != size.routes * len(PATHS):
        message = f"{we.name} serves {len(ours)} places of {size}"
        raise DifferentError(message)
    for peer, served in found.items():
        expected = ours if peer.sends_sni else without_server_names(ours)
        for place in expected.keys() | served.keys():
            if served.get(place) != expected.get(place):
                said = f"{we.name}: {expected.get(place)}\n{peer.name}: {served.get(place)}"
                message = f"{place} of {size} after {change}\n{said}"
                raise DifferentError(message)


def _sent(before: Dump, after: Dump) -> Sent:
    news = {key: body for key, body in after.items() if before.get(key) != body}
    return Sent(_types(news), sum(map(len, news.values())), _types(before.keys() - after.keys()))


def _types(keys: Iterable[Key]) -> Mapping[str, int]:
    return Counter(type_url.rpartition(".")[2] for _, type_url, _ in keys)
