"""A folder whose files change all at once: readers see the old ones or the new ones, never some of both."""

import shutil
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

CURRENT = "..data"  # a link to the folder that holds the files, as in a real kubelet: programs watch it


class File(NamedTuple):
    """What stands in a file, and who may read it."""

    content: bytes
    mode: int


def write(folder: Path, files: Mapping[str, File]) -> None:
    """Make the folder hold exactly these files, by their path below it."""
    current = folder / CURRENT
    before = current.resolve() if current.is_symlink() else None
    if before and _read(before) == files:
        return
    after = folder / f"..{datetime.now(UTC):%Y_%m_%d_%H_%M_%S.%f}"
    after.mkdir(parents=True)
    for name, file in files.items():
        (after / name).parent.mkdir(parents=True, exist_ok=True)
        (after / name).write_bytes(file.content)
        (after / name).chmod(file.mode)
    _link(folder, after.name, {name.split("/")[0] for name in files})
    if before:
        shutil.rmtree(before)


def _read(folder: Path) -> dict[str, File]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {
        str(path.relative_to(folder)): File(path.read_bytes(), path.stat().st_mode & 0o777) for path in found
    }


def _link(folder: Path, after: str, names: set[str]) -> None:
    """Turn the link, which is the moment of change; then have a name for each file, and no other."""
    turned = folder / f"{CURRENT}_tmp"
    turned.symlink_to(after)
    turned.rename(folder / CURRENT)
    here = {path.name for path in folder.iterdir() if not path.name.startswith("..")}
    for name in names - here:
        (folder / name).symlink_to(f"{CURRENT}/{name}")
    for name in here - names:
        (folder / name).unlink()
