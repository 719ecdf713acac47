"""The programs of this machine that a cluster needs; nft, which many lack, is unpacked into the cache."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

NEEDED = ("go", "ip", "mount", "nsenter", "setpriv", "sysctl", "unshare")
NFT = "nftables"


class UnreadyError(Exception):
    """The machine cannot run a cluster as it is."""


def check() -> None:
    """Say what is missing, if anything is."""
    if os.geteuid():
        message = "network namespaces need root: run it with sudo, or name a cluster by KUBECONFIG"
        raise UnreadyError(message)
    if missing := [tool for tool in NEEDED if not shutil.which(tool)]:
        message = (
            f"not found on this machine: {', '.join(missing)} (Debian: golang, iproute2, util-linux, procps)"
        )
        raise UnreadyError(message)


def with_nft(cache: Path) -> Mapping[str, str]:
    """Give the environment in which kube-proxy finds nft; nothing is installed for that."""
    if shutil.which("nft"):
        return dict(os.environ)
    kept = cache / NFT
    if not kept.exists():
        _unpack(kept)
    libraries = ":".join(str(path.parent) for path in kept.rglob("libnftables.so.*"))
    path = f"{kept / 'usr' / 'sbin'}:{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "LD_LIBRARY_PATH": libraries}


def _unpack(kept: Path) -> None:
    """Fetch Debian's package and those it needs that are not installed, and unpack them."""
    kept.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=kept.parent) as temporary:
        archives, whole = Path(temporary, "archives"), Path(temporary, "whole")
        try:
            _download(archives, ())
        except UnreadyError:  # a machine may never have looked what there is
            lists = Path(temporary, "lists")
            Path(lists, "partial").mkdir(parents=True)
            known = ("-o", f"Dir::State::Lists={lists}")
            _run("apt-get", "update", *known)
            _download(archives, known)
        for package in archives.glob("*.deb"):
            _run("dpkg-deb", "--extract", str(package), str(whole))
        whole.rename(kept)


def _download(archives: Path, options: tuple[str, ...]) -> None:
    Path(archives, "partial").mkdir(parents=True, exist_ok=True)
    what = ("--yes", "--download-only", "--no-install-recommends", NFT)
    _run("apt-get", "install", *options, "-o", f"Dir::Cache::archives={archives}", *what)


def _run(*command: str) -> None:
    try:
        done = subprocess.run(command, text=True, capture_output=True, check=False)  # noqa: S603  as written above
    except FileNotFoundError:
        message = f"nft is missing, and {command[0]} to fetch it: install {NFT}"
        raise UnreadyError(message) from None
    if done.returncode:
        message = f"nft is missing, and could not be fetched:\n{done.stderr}"
        raise UnreadyError(message)
