"""Checks that all serve the same, at first and after each kind of change, and counts what each one sends."""

import tempfile
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from bench.peers.measure import built
from bench.peers.portrait import Dump, Portrait, portrait, read, without_server_names
from bench.peers.shop import CHANGES, PATHS, Size
from bench.peers.side import Peer, running

WHOLE = "everything"
LARGE = 1000  # routes; of more only the whole is looked at, and not again after each change


class Sent(NamedTuple):
    """What has other bytes than before."""

    resources: Mapping[str, int]  # by type
    bytes: int


class DifferentError(Exception):
    """Two control planes do not serve the same."""


def compared(peers: Sequence[Peer], size: Size) -> dict[str, dict[str, Sent]]:
    """Have all serve one shop; say what each sends of it, and after which change."""
    sent: dict[str, dict[str, Sent]] = {peer.name: {} for peer in peers}
    before: Sequence[Dump] = [{} for _ in peers]
    with tempfile.TemporaryDirectory() as folder:
        moments = zip(*(_served(peer, size, Path(folder)) for peer in peers), strict=True)
        for change, dumps in zip((WHOLE, *CHANGES), moments, strict=True):
            if change == WHOLE or size.routes <= LARGE:
                check([portrait(each) for each in dumps], peers, size)
            for peer, old, new in zip(peers, before, dumps, strict=True):
                sent[peer.name][change] = _sent(old, new)
            before = dumps
    return sent


def whole(peer: Peer, size: Size) -> Dump:
    """Have a control plane serve one shop."""
    with tempfile.TemporaryDirectory() as folder, closing(_served(peer, size, Path(folder))) as moments:
        return next(moments)


def _served(peer: Peer, size: Size, folder: Path) -> Generator[Dump]:
    """Give what a control plane serves, and then after each kind of change."""
    file = folder / peer.name
    with running(peer) as side:
        built(side, peer, size)
        side.dump(file)
        yield read(file)
        for change in CHANGES.values():
            side.put([change(1, size)])
            side.translate()
            side.dump(file)
            yield read(file)


def check(found: Sequence[Portrait], peers: Sequence[Peer], size: Size) -> None:
    """Compare what all serve of one shop with what the first of them does."""
    if len(found[0]) != size.routes * len(PATHS):
        message = f"{peers[0].name} serves {len(found[0])} places of {size}"
        raise DifferentError(message)
    for peer, served in zip(peers, found, strict=True):
        expected = found[0] if peer.sends_sni else without_server_names(found[0])
        for place in expected.keys() | served.keys():
            ours, theirs = expected.get(place), served.get(place)
            if theirs != ours:
                message = f"{place} of {size}\n{peers[0].name}: {ours}\n{peer.name}: {theirs}"
                raise DifferentError(message)


def _sent(before: Dump, after: Dump) -> Sent:
    news = {key: body for key, body in after.items() if before.get(key) != body}
    types = Counter(type_url.rpartition(".")[2] for _, type_url, _ in news)
    return Sent(types, sum(map(len, news.values())))
