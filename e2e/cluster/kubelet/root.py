"""The first process of a container: makes a root file system out of mounts, enters it, becomes the program.

Run as `root.py SPECIFICATION FD` in fresh mount, PID, IPC and UTS namespaces, in the network of its pod. It
writes to FD just before it becomes the program. It sees the standard library only.
"""

import ctypes
import json
import os
import sys
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

_libc = ctypes.CDLL(None, use_errno=True)
MS_RDONLY, MS_NOSUID, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 32, 4096, 16384, 1 << 18

SYSTEM = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")  # links into /usr, or folders, as on this machine
ETC = ("ssl", "ca-certificates", "alternatives", "ld.so.cache", "protocols", "services", "mime.types")
EMPTY = (
    *("usr/local/bin", "usr/local/lib", "etc", "proc", "sys", "dev/shm", "tmp", "run", "root"),
    *("var/run", "var/lib", "var/log", "home/nonroot", "opt"),
)
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
STREAMS = MappingProxyType({"fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"})
NOT_FOUND = 127  # as a shell says it


class Mount(NamedTuple):
    """A path of this machine, and where the container sees it."""

    source: str
    target: str
    read_only: bool


class Specification(NamedTuple):
    """All that a container is made of."""

    root: str
    hostname: str
    etc: dict[str, str]  # files below /etc
    mounts: list[Mount]
    read_only: bool
    arguments: list[str]
    variables: dict[str, str]
    folder: str
    uid: int
    gid: int
    groups: list[int]

    def save(self, path: Path) -> None:
        """Write it down for the first process."""
        path.write_text(json.dumps(self._asdict()))

    @classmethod
    def load(cls, path: Path) -> "Specification":
        """Read what was written down."""
        fields = json.loads(path.read_text())
        return cls(**{**fields, "mounts": [Mount(*mount) for mount in fields["mounts"]]})


def main() -> None:
    """Become the program."""
    specification = Specification.load(Path(sys.argv[1]))
    os.umask(0o022)
    _build(specification)
    _enter(specification)
    _become(specification, int(sys.argv[2]))


def _build(specification: Specification) -> None:
    root = Path(specification.root)
    _mount("none", Path("/"), flags=MS_REC | MS_PRIVATE)
    _mount("tmpfs", root, "tmpfs", MS_NOSUID, "mode=0755")
    for name in EMPTY:
        (root / name).mkdir(parents=True)
    for shared in ("tmp", "dev/shm"):
        (root / shared).chmod(0o1777)
    _system(root)
    for name, text in specification.etc.items():
        (root / "etc" / name).write_text(text)
    _mount("proc", root / "proc", "proc")
    _mount("sysfs", root / "sys", "sysfs", MS_RDONLY)
    _devices(root / "dev")
    for mount in sorted(
        specification.mounts, key=lambda mount: mount.target
    ):  # a folder before what is in it
        _bind(Path(mount.source), root / mount.target.strip("/"), read_only=mount.read_only)
    if specification.read_only:
        _mount("tmpfs", root, flags=MS_REMOUNT | MS_RDONLY | MS_BIND)


def _system(root: Path) -> None:
    """Show the programs and libraries of this machine, but not what is its own below /usr/local and /etc."""
    for folder in Path("/usr").iterdir():
        if folder.name != "local" and folder.is_dir():
            _bind(folder, root / "usr" / folder.name)
    for folder in (Path("/", name) for name in SYSTEM):
        if folder.is_symlink():
            (root / folder.name).symlink_to(folder.readlink())
        elif folder.is_dir():
            _bind(folder, root / folder.name)
    for path in (Path("/etc", name) for name in ETC):
        if path.exists():
            _bind(path, root / "etc" / path.name)


def _devices(dev: Path) -> None:
    for name in DEVICES:
        _bind(Path("/dev", name), dev / name, read_only=False)
    for name, target in STREAMS.items():
        (dev / name).symlink_to(target)


def _enter(specification: Specification) -> None:
    name = specification.hostname.encode()
    _libc.sethostname(name, len(name))
    os.chroot(specification.root)
    os.chdir(specification.folder if Path(specification.folder).is_dir() else "/")
    os.setgroups(specification.groups)
    os.setgid(specification.gid)
    os.setuid(specification.uid)


def _become(specification: Specification, started: int) -> None:
    os.write(started, b"\n")
    os.close(started)
    try:
        os.execvpe(specification.arguments[0], specification.arguments, specification.variables)  # noqa: S606  no shell
    except OSError as error:
        sys.exit(_refuse(f"{specification.arguments[0]}: {error.strerror}"))


def _refuse(words: str) -> int:
    sys.stderr.write(f"{words}\n")
    return NOT_FOUND


def _bind(source: Path, target: Path, *, read_only: bool = True) -> None:
    """Show a file or a folder in another place, which is made if it is not there."""
    if source.is_dir():
        target.mkdir(parents=True, exist_ok=True)
    elif not os.path.lexists(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()
    _mount(str(source), target, flags=MS_BIND | MS_REC)
    if read_only:
        _mount(str(source), target, flags=MS_BIND | MS_REMOUNT | MS_RDONLY)


def _mount(source: str, target: Path, kind: str = "", flags: int = 0, options: str = "") -> None:
    arguments = (source.encode(), bytes(target), kind.encode() or None, flags, options.encode() or None)
    if _libc.mount(*arguments):
        number = ctypes.get_errno()
        raise OSError(number, f"mount {source} on {target}: {os.strerror(number)}")


if __name__ == "__main__":
    main()
