"""Manifest files on disk: which ones there are, and reading one without harm.

Hidden names are left alone (`.git`, an editor's swap file), as are links to folders inside: what they lead
to is found where it is, or, where that is hidden, by the link: so Kubernetes mounts a ConfigMap. A link that
leaves the folder is refused; what is no regular file is never opened.
"""

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

SUFFIXES = frozenset({".yaml", ".yml", ".json"})
LARGEST = 10 * 2**20  # bytes
WHOLE = "."  # the folder itself, by its path in it


class Unreadable(Struct, frozen=True):
    """A file that is not read, and why."""

    why: str


class Listing(NamedTuple):
    """The manifests of a folder by their path in it, and what could not be looked into."""

    files: Mapping[str, Path]
    closed: Mapping[str, str]


class Stamp(NamedTuple):
    """What differs once a file was written again."""

    inode: int
    size: int
    modified: int
    changed: int


def list_manifests(root: Path) -> Listing:
    """Find every manifest below a folder; a path that is a file is its own only one."""
    if not root.is_dir():
        return Listing({shown(root.name): root}, {})
    closed: dict[str, str] = {}
    found = {shown(path.relative_to(root)): path for path in _walk(root, root, closed)}
    return Listing(dict(sorted(found.items())), closed)


def out_of_reach(path: Path, absent: str = "is gone") -> str:
    """Say why nobody can look at a file or a folder; nothing, if somebody can."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return absent
    except OSError as error:
        return f"cannot be looked at: {error.strerror}"
    return ""


def stamp_of(path: Path) -> Stamp | None:
    """Say what a file is like from outside; None if that cannot be told."""
    try:
        seen = path.stat()
    except OSError:
        return None
    return Stamp(seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns)


def read_manifest(path: Path, root: Path) -> str | Unreadable:
    """Return a file's text."""
    try:
        real = Path(os.path.realpath(path, strict=True))  # which says of a loop of links what it is
        if not real.is_relative_to(root.resolve()):
            return Unreadable("is a link that leads outside the folder; put the file itself here")
        return _regular_text(real)
    except FileNotFoundError:
        return Unreadable("is a link that leads nowhere")
    except OSError as error:
        return Unreadable(f"cannot be read: {error.strerror}")
    except UnicodeDecodeError as error:
        return Unreadable(f"is not UTF-8 text: byte {error.start} cannot be read; save it as UTF-8")


def shown(path: Path | str) -> str:
    """Write a path so that it can be printed, whatever bytes its name has."""
    return str(path).encode(errors="backslashreplace").decode()


def _walk(root: Path, below: Path, closed: dict[str, str]) -> Iterator[Path]:
    def note(error: OSError) -> None:
        closed[shown(os.path.relpath(error.filename, root))] = f"cannot be looked into: {error.strerror}"

    for folder, folders, names in os.walk(below, onerror=note):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for link in (link for name in folders if (link := Path(folder, name)).is_symlink()):
            real, inside = link.resolve(), root.resolve()
            if not real.is_relative_to(inside):
                closed[shown(link.relative_to(root))] = "is a link that leads outside the folder"
            elif below == root and _is_hidden(real.relative_to(inside)):  # and no link that is there
                yield from _walk(root, link, closed)
        for name in names:
            if not name.startswith(".") and Path(name).suffix in SUFFIXES:
                yield Path(folder, name)


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _regular_text(path: Path) -> str | Unreadable:
    """Look before opening, and again after: opening a pipe or a device may wait or do harm."""
    if not stat.S_ISREG(path.stat().st_mode):
        return Unreadable("is no regular file")
    with open(path, "rb", opener=_carefully) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return Unreadable("is no regular file")
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        return Unreadable(f"is larger than {LARGEST // 2**20} MiB; split it")
    return content.decode()


def _carefully(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)
