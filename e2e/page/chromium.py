"""Debian's package of Chromium: installed where root asks for it, and named where it is missing."""

import os
import shutil
import subprocess
import sys

PACKAGES = ("chromium", "fonts-dejavu-core")


class UnreadyError(Exception):
    """There is no Chromium, and none can be had."""


def ensure() -> None:
    """Have Chromium on this machine."""
    if shutil.which("chromium"):
        return
    if os.geteuid() or not shutil.which("apt-get"):
        message = f"chromium is not on PATH: on Debian, as root, apt-get install {' '.join(PACKAGES)}"
        raise UnreadyError(message)
    _apt("update")
    _apt("install", "--yes", "--no-install-recommends", *PACKAGES)


def _apt(*what: str) -> None:
    command = ("apt-get", "--quiet", *what)
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(command, text=True, capture_output=True, check=False, env=quiet)  # noqa: S603  as written above
    if done.returncode:
        message = f"{' '.join(command)} failed:\n{done.stdout[-2000:]}{done.stderr}"
        raise UnreadyError(message)


if __name__ == "__main__":
    try:
        ensure()
    except UnreadyError as error:
        sys.exit(f"the page is tested in a real Chromium: {error}")
