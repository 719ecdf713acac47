"""The source without a cluster: a watched folder of manifests.

The kernel's notices say when to look and which files were written; what is there is always found by looking,
so that a lost notice costs a second and no more.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Collection, Mapping
from contextlib import aclosing
from functools import partial
from pathlib import Path

from msgspec import Struct, structs
from watchfiles import Change, awatch

from legation.change import Put
from legation.disk import (
    SUFFIXES,
    WHOLE,
    Stamp,
    Unreadable,
    list_manifests,
    out_of_reach,
    read_manifest,
    stamp_of,
)
from legation.folder import Folder, Reading, about_file, read
from legation.manifests import Problem
from legation.turns import aside

QUIET_MS = 15  # a writer that pauses this long has finished
GATHER_MS = 60  # while others go on writing, a finished file waits this long
LOOK_ANYWAY = 1.0  # seconds; some file systems send no notices
BELIEVE_EMPTY_AFTER = 1.0  # seconds; `helm template > file` empties it first and writes later


class Update(Struct, frozen=True):
    """What one look at the folder brought, with everything that is wrong in it now."""

    changes: tuple[Put, ...]
    problems: tuple[Problem, ...]
    held: bool = False  # changes are held back: something may be missing that forbids them
    seen: float = 0.0  # when there was reason to look


class Files:
    """A folder as it was when last looked at."""

    def __init__(self, root: Path) -> None:
        """Begin without having looked."""
        self._root = root
        self._folder = Folder()
        self._stamps: dict[str, Stamp | None] = {}
        self._emptied: dict[str, float] = {}

    def look(self, written: Collection[str] = (), now: float = 0.0) -> Update:
        """Read what is new, looks different or is named as written; say what changed."""
        if why := out_of_reach(self._root):
            return self._update({str(self._root): f"{why}; its objects are kept as they were"})
        listing = list_manifests(self._root)
        unseen = {name for folder in listing.closed for name in self._files_below(folder)}
        for name in self._folder.paths() - listing.files.keys() - unseen:
            self._forget(name)
        for name, path in listing.files.items():
            stamp = stamp_of(path)
            if str(path) in written or name in self._emptied or self._stamps.get(name, ...) != stamp:
                self._stamps[name] = stamp
                self._take(name, path, now)
        return self._update(listing.closed)

    def _update(self, closed: Mapping[str, str]) -> Update:
        refused = (about_file(path, why) for path, why in sorted(closed.items()))
        unknown = any(not self._files_below(folder) for folder in closed)
        held = unknown or self._folder.is_unsafe()
        changes = () if held else self._folder.changes()
        return Update(changes, (*refused, *self._folder.problems()), held)

    def _files_below(self, folder: str) -> list[str]:
        begin = "" if folder == WHOLE else f"{folder}/"
        return [name for name in self._folder.paths() if name.startswith(begin)]

    def _forget(self, name: str) -> None:
        self._stamps.pop(name, None)
        self._emptied.pop(name, None)
        self._folder.drop(name)

    def _take(self, name: str, path: Path, now: float) -> None:
        text = read_manifest(path, self._root)
        if isinstance(text, Unreadable):
            self._folder.take(name, Reading(problems=(about_file(name, text.why),)))
        elif text.strip() or not self._folder.has_objects(name) or self._stays_empty(name, now):
            self._emptied.pop(name, None)
            self._folder.take(name, read(text, name))

    def _stays_empty(self, name: str, now: float) -> bool:
        return now - self._emptied.setdefault(name, now) >= BELIEVE_EMPTY_AFTER


async def watch(root: Path) -> AsyncGenerator[Update]:
    """Yield the folder once it was read, then whenever something in it, or wrong with it, changes."""
    files = Files(root)
    told: Update | None = None
    async with aclosing(_notices(root)) as notices:
        async for written in notices:
            update = await aside(partial(_look, files, written))
            if told is None or update.changes or update.problems != told.problems:
                told = update
                yield update


def _look(files: Files, written: Collection[str]) -> Update:
    now = time.monotonic()
    return structs.replace(files.look(written, now), seen=now)


async def _notices(root: Path) -> AsyncGenerator[frozenset[str]]:
    """Yield the paths that were written, at least once a second; begin anew when the folder is replaced."""
    while True:
        watched = _inode(root)
        try:
            async with aclosing(_changed(root)) as changed:
                async for written in changed:
                    yield written
                    if _inode(root) != watched:
                        break
        except OSError:  # the folder is gone, or the kernel watches enough already: look by the clock
            yield frozenset()
            await asyncio.sleep(LOOK_ANYWAY)


async def _changed(root: Path) -> AsyncGenerator[frozenset[str]]:
    """Ask the kernel; the watch stands before the first look, so that no edit falls between them."""
    notices = awatch(
        root,
        watch_filter=_matters,
        debounce=GATHER_MS,
        step=QUIET_MS,
        rust_timeout=int(LOOK_ANYWAY * 1000),
        yield_on_timeout=True,
    )
    async with aclosing(notices):
        following = asyncio.ensure_future(anext(notices))
        await asyncio.sleep(0)
        try:
            yield frozenset()
            yield _paths(await following)
            async for changes in notices:
                yield _paths(changes)
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)


def _paths(changes: Collection[tuple[Change, str]]) -> frozenset[str]:
    return frozenset(path for _, path in changes)


def _matters(change: Change, path: str) -> bool:
    """Leave out what is written beside manifests, such as logs; a folder that comes or goes matters."""
    return change is not Change.modified or Path(path).suffix in SUFFIXES


def _inode(root: Path) -> int | None:
    stamp = stamp_of(root)
    return stamp.inode if stamp else None
